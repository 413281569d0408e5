"""One linear model, slow and obvious: the update rule as docs/learner.md states it."""

import math
from collections import defaultdict

from scipy.special import wrightomega

CONSTANT = "constant"


def gradient(loss, p, y):
    if loss == "logistic":
        return -y / (1 + math.exp(y * p))
    if loss == "squared":
        return 2 * (p - y)
    return -y if y * p < 1 else 0.0


def importance_aware_step(loss, p, y, kappa, step):
    if loss == "logistic":
        margin = y * p
        if margin > 30:  # exp(margin) would drown everything else; the slope stays the same
            return y * step * math.exp(-margin)
        # z + exp(z) = q is solved by q - omega(q), omega being Wright's function.
        q = margin + math.exp(margin) + step * kappa
        z = q - float(wrightomega(q).real)
        return y * (z - margin) / kappa
    if loss == "squared":
        return (y - p) * (1 - math.exp(-2 * step * kappa)) / kappa
    return y * min(step, (1 - y * p) / kappa) if y * p < 1 else 0.0


class LinearModel:
    """Examples are dicts of feature: value."""

    def __init__(self, loss, update, scale, step, power=0.0, min_gradient=0.0, C=1.0):
        self.loss, self.update, self.scale = loss, update, scale
        self.step, self.power, self.min_gradient, self.C = step, power, min_gradient, C
        self.w = defaultdict(float)
        self.G = defaultdict(float)
        self.N = {CONSTANT: 1.0}
        self.last = {}  # the example scaled last, as many models of a bank are asked about it
        self.S = self.T = self.t = 0.0

    def scaled(self, x):
        if self.last.get("example") is not x:
            known = {i: v for i, v in {**x, CONSTANT: 1.0}.items() if i in self.N}
            if self.scale == "max":
                known = {i: v / self.N[i] for i, v in known.items()}
            if self.scale == "unit":
                length = math.sqrt(sum(v * v for i, v in known.items() if i != CONSTANT))
                known = {i: 1.0 if i == CONSTANT else v / length for i, v in known.items()}
            self.last.update(example=x, scaled=known)
        return self.last["scaled"]

    def predict(self, x):
        return sum(self.w[i] * v for i, v in self.scaled(x).items())

    def note_ranges(self, x):
        self.last.clear()
        for i, v in x.items():
            if v != 0:
                self.N[i] = max(self.N.get(i, 0.0), abs(v))

    def observe(self, x, h=1.0):
        self.note_ranges(x)
        self.S += h * sum(v * v for v in self.scaled(x).values())
        self.T += h

    def learn(self, x, y, h=1.0):
        self.observe(x, h)
        return self.learn_observed(x, y, h)

    def learn_observed(self, x, y, h=1.0, p=None):
        """Learn as if p was predicted, if it is given."""
        p = self.predict(x) if p is None else p
        x = self.scaled(x)
        norm = sum(v * v for v in x.values())
        m = math.sqrt(self.T / self.S)
        self.t += h
        g = gradient(self.loss, p, y)
        if abs(g) <= self.min_gradient or h == 0:
            return p
        if self.update == "sgd":
            step = self.step * h / self.t**self.power
            u = importance_aware_step(self.loss, p, y, norm, step)
            for i, v in x.items():
                self.w[i] += u * v
            return p
        for i, v in x.items():
            self.G[i] += h * g * g * v * v
        s = {i: 1 / math.sqrt(self.G[i]) if self.G[i] > 0 else 0.0 for i in x}
        kappa = m * sum(v * v * s[i] for i, v in x.items())
        u = importance_aware_step(self.loss, p, y, kappa, self.step * h)
        for i, v in x.items():
            self.w[i] += u * m * s[i] * v
        return p

    def dual_step(self, x, y, h, alpha):
        """Take an exact step for one observed example; return its new dual variable.

        C is for rows of unit length on average, the constant not counted.
        """
        p, x = self.predict(x), self.scaled(x)
        D = max(self.S / self.T - 1, 1e-6) / (2 * self.C * h)
        G = y * p - 1 + D * alpha
        new = max(0.0, alpha - G / (sum(v * v for v in x.values()) + D))
        for i, v in x.items():
            self.w[i] += (new - alpha) * y * v
        return new


class LinearBank:
    """Models with rules of their own that share what was observed: ranges N, totals S and T."""

    def __init__(self, scale):
        self.seen = LinearModel(loss=None, update=None, scale=scale, step=None)
        self.models = []

    def new(self, rule):
        model = LinearModel(scale=self.seen.scale, **rule)
        model.N, model.S, model.T = self.seen.N, self.seen.S, self.seen.T
        model.last = self.seen.last
        self.models.append(model)
        return model

    def observe(self, x, h=1.0):
        self.seen.observe(x, h)
        for model in self.models:
            model.S, model.T = self.seen.S, self.seen.T
