// Losses of a linear model and their importance-aware steps (Karampatziakis & Langford 2011).
#pragma once

namespace labeltree {

// logistic: log(1 + exp(-y p)) and hinge: max(0, 1 - y p), with y = -1 or +1; squared: (p - y)^2.
enum class Loss { logistic, squared, hinge };

// The probability of a positive label that a prediction stands for; hinge loss defines none.
double probability(Loss loss, float p);

// The derivative of the loss by the prediction p.
float gradient(Loss loss, float p, float y);

// The factor u of an update w += u d, where the direction d moves the prediction by kappa per unit:
// what infinitely many infinitesimal gradient steps of total length `step` add up to. The
// prediction never overshoots the target, however large the step.
float importance_aware_step(Loss loss, float p, float y, float kappa, float step);

}  // namespace labeltree
