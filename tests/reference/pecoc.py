"""PECOC, slow and obvious: Algorithm 2 of the probability tree's paper, and formula (4).

There is no tree here: every regressor learns from every example.
"""

from tests.reference.linear import LinearBank
from tests.reference.probability_tree import child_estimates, hadamard, regress


class PECOC:
    """Rows are dicts of feature: value; labels get the columns of the code as they come."""

    def __init__(self, rule, scale, k, estimates="shares"):
        self.rule, self.estimates = rule, estimates
        self.bank = LinearBank(scale)
        self.code = hadamard(k)
        self.regressors = {row: self.bank.new(rule) for row in range(1, k)}
        self.column = {}

    def probabilities(self, x):
        """P(y | x) of every label learned."""
        r = [1.0, *(regress(regressor, x) for regressor in self.regressors.values())]
        q = child_estimates(r, self.column.values(), self.estimates)
        return {y: q[column] for y, column in self.column.items()}

    def learn(self, x, y, h=1.0):
        self.bank.observe(x, h)
        column = self.column.setdefault(y, len(self.column))
        negative = 0.0 if self.rule["loss"] == "squared" else -1.0
        for row, regressor in self.regressors.items():
            regressor.learn_observed(x, 1.0 if self.code[row][column] else negative, h)
