"""Trees as distributions of labels: what the theorems on splitting the heaviest leaf speak of."""

import math


def entropy(counts):
    """Shannon entropy of counts, in nats."""
    total = sum(counts)
    return -sum(c / total * math.log(c / total) for c in counts if c)


class Split:
    """A node of a tree with the counts of the labels that reached leaves below it."""

    def __init__(self, counts, children=()):
        self.counts, self.children = counts, children
        self.weight = sum(counts.values())

    @property
    def entropy(self):
        return entropy(self.counts.values())

    @property
    def gain(self):
        """By how much the entropy is lower in the children, on average."""
        below = sum(child.weight * child.entropy for child in self.children)
        return self.entropy - below / self.weight

    @property
    def wrong(self):
        """The weight of the examples that do not have the most frequent label."""
        return self.weight - max(self.counts.values())


def tree_of(histograms, children, node):
    """Make the tree below a node of a learner, of the examples that its leaves have."""
    below = [tree_of(histograms, children, child) for child in children(node)]
    below = [child for child in below if child.weight > 0]
    if not below:
        return Split(histograms[node])
    counts = {}
    for child in below:
        for label, count in child.counts.items():
            counts[label] = counts.get(label, 0) + count
    return Split(counts, below)


def heaviest_first(root):
    """Yield the leaves, and the nodes split so far, as the heaviest leaf is split next."""
    leaves, inner = [root], []
    while True:
        yield leaves, inner
        heaviest = max(leaves, key=lambda leaf: leaf.weight)
        if not heaviest.children:
            return
        leaves = [leaf for leaf in leaves if leaf is not heaviest] + list(heaviest.children)
        inner = [*inner, heaviest]
