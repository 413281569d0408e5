"""Probabilities from scores, slow and obvious."""

import math

import numpy as np
from scipy.optimize import minimize

SUREST = 16.0
LOWEST, WIDTH, BINS = -16.0, 0.25, 128
PRIOR = 10.0


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def factors(z):
    """Return log q, -log(1 - q) and 1 for a stated probability q of log-odds z."""
    return np.array([-np.logaddexp(0, -z), np.logaddexp(0, z), 1.0])


class Calibration:
    """Keeps all that was stated, and what it counts for by now."""

    def __init__(self):
        self.stated = []  # [the middle of the log-odds' bin, whether right, weight]
        self.examples, self.next_fit = 0, 1
        self.curve = np.array([1.0, 1.0, 0.0])

    def note(self, z, right, weight):
        bin_ = int(min(max((z - LOWEST) / WIDTH, 0), BINS - 1))
        self.stated.append([LOWEST + WIDTH * (bin_ + 0.5), right, weight])

    def end_example(self):
        self.examples += 1
        if self.examples >= 256 and self.examples & (self.examples - 1) == 0:
            for one in self.stated:
                one[2] /= 8
        if self.examples >= self.next_fit:
            self.next_fit = self.examples + 1 + self.examples // 32
            self.fit()

    def fit(self):
        if not self.stated:
            return
        x = np.array([factors(z) for z, _, _ in self.stated])
        right = np.array([right for _, right, _ in self.stated], float)
        weight = np.array([weight for _, _, weight in self.stated])

        def misfit(curve):
            z = x @ curve
            prior = PRIOR * ((curve - [1, 1, 0]) ** 2).sum() / 2
            return (weight * (np.logaddexp(0, z) - right * z)).sum() + prior

        def slope(curve):
            p = 1 / (1 + np.exp(-x @ curve))
            return x.T @ (weight * (p - right)) + PRIOR * (curve - [1, 1, 0])

        bounds = [(0, None), (0, None), (None, None)]
        self.curve = minimize(misfit, self.curve, jac=slope, bounds=bounds, tol=1e-12).x

    def probability(self, z):
        return sigmoid(factors(z) @ self.curve)


class Confidence:
    def __init__(self, *, exclusive, slope, shift):
        self.exclusive, self.slope, self.shift = exclusive, slope, shift
        self.best, self.others = Calibration(), Calibration()

    def shares(self, scores):
        """The log-odds of the shares of a softmax."""
        total = sum(math.exp(s) for s in scores)
        odds = [math.exp(s) / max(total - math.exp(s), 1e-300) for s in scores]
        return [min(max(math.log(o), -SUREST), SUREST) for o in odds]

    def note(self, scores, labels, weight):
        """Take label -> score of an example's candidates, before they learned."""
        if not scores:
            return
        if not self.exclusive:
            for label, score in scores.items():
                self.others.note(self.slope * score + self.shift, label in labels, weight)
            self.others.end_example()
            return
        best = min(scores, key=lambda label: (-scores[label], label))
        for label, z in zip(scores, self.shares(scores.values()), strict=True):
            (self.best if label == best else self.others).note(z, label in labels, weight)
        self.best.end_example()
        self.others.end_example()

    def weigh(self, scores, more, labels):
        """Return the probabilities of candidates, best first, and of labels found beside them."""
        if not self.exclusive:
            p = [self.others.probability(self.slope * s + self.shift) for s in [*scores, *more]]
            for i in range(max(1, len(scores)), len(p)):
                p[i] = min(p[i], p[i - 1])
            return p
        z = self.shares(scores)
        first = max(self.best.probability(z[0]), min(1, 1.001 / labels))
        others = [min(0.999 * first, self.others.probability(one)) for one in z[1:]]
        if sum(others) > 1 - first:
            others = [one * (1 - first) / sum(others) for one in others]
        p = [first, *others]
        for i in range(len(p)):  # from the first on that has less, all labels share what is left
            least = (1 - sum(p[:i])) / (labels - i)
            if p[i] <= least:
                return p[:i] + [least] * (len(p) - i + len(more))
        least = (1 - sum(p)) / max(1, labels - len(p))
        return p + [least] * len(more)
