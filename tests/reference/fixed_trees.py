"""The random tree and the filter tree, slow and obvious.

Both are binary trees in which a new label goes where fewer labels are, and which a row descends
from the root to the child that each node prefers.
"""

from tests.reference.probability_tree import ProbabilityTree


class RandomTree(ProbabilityTree):
    def __init__(self, rule, scale):
        super().__init__(rule, scale, shape="balanced")

    def preferred(self, node, x):
        p = self.child_probabilities(node, x)
        return int(p[1] > p[0])

    def topk(self, x, k):
        """Follow the nodes' preferences to one label."""
        assert k == 1
        node, probability = self.nodes[0], 1.0
        while not node.is_leaf:
            slot = self.preferred(node, x)
            probability *= self.child_probabilities(node, x)[slot]
            node = node.children[slot]
        return [(node.label, probability)]


class FilterTree(RandomTree):
    """Beygelzimer, Langford & Ravikumar 2009: a node learns who wins of those who came up to it."""

    def __init__(self, rule, scale):
        super().__init__(rule, scale)
        self.learning = True

    def train(self, node, child, x, h):
        if self.learning:
            super().train(node, child, x, h)

    def learn(self, x, y, h=1.0):
        """Return what was predicted before."""
        self.bank.observe(x, h)
        predicted = self.topk(x, 1)[0][0] if self.nodes else None
        if y not in self.leaf:
            self.learning = False
            self.insert(x, y, h)
            self.learning = True
        self.train(self.leaf[y], 0, x, h)
        for node, child in self.path(y):
            self.train(node, child, x, h)
            if self.preferred(node, x) != child:
                break
        return predicted
