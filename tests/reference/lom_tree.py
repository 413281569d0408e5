"""The LOMtree, slow and obvious: Algorithm 1 of Choromanska & Langford 2015, with its symbols.

Also the objective J, the purity and the balance of a split, as Section 2.2 defines them.
"""

import math

from tests.reference.linear import LinearModel


class Node:
    """A leaf that knows nothing, as SetNode leaves it."""

    def __init__(self, regressor):
        self.regressor = regressor
        self.parent = self.left = self.right = None
        self.m, self.n, self.l = {}, {}, {}
        self.C = 0
        self.guess = []  # the labels to predict, best first

    def is_leaf(self):
        return self.left is None

    def e(self, y):
        return self.m[y] / self.n[y] if y in self.n else 0.0

    def E(self):  # noqa: N802
        return sum(self.m.values()) / sum(self.n.values()) if self.n else 0.0

    def count(self, y, weight):
        # Last in the dict: of equally frequent labels the one that was so first comes first.
        self.l[y] = self.l.pop(y, 0) + weight
        self.guess = sorted(self.l, key=lambda label: -self.l[label])


class LomTree:
    """Rows are dicts of feature: value. Nodes keep their number when they are recycled.

    max_nodes = 0 stands for 16 for each label learned so far.
    """

    def __init__(self, max_nodes, swap_resistance, **settings):
        self.T, self.R_S, self.settings = max_nodes, swap_resistance, settings
        self.observer = LinearModel(**settings)  # ranges and norms, the same for all regressors
        self.labels = set()
        self.nodes = []
        self.recycled = []
        self.r = self.add_node()
        self.t = 0
        self.root_swaps = 0
        self.closest = math.inf  # by how little a score has decided anything

    def set_node(self, v):
        regressor = LinearModel(**self.settings)
        regressor.N, regressor.last = self.observer.N, self.observer.last
        self.nodes[v] = Node(regressor)

    def add_node(self):
        self.nodes.append(None)
        self.recycled.append(0)
        self.set_node(len(self.nodes) - 1)
        return len(self.nodes) - 1

    def adopt(self, parent, left, right):
        nodes = self.nodes
        nodes[parent].left, nodes[parent].right = left, right
        for child in (left, right):
            nodes[child].parent = parent
            nodes[child].guess = nodes[parent].guess

    def update_C(self, v):  # noqa: N802
        nodes = self.nodes
        while v != self.r and nodes[nodes[v].parent].C != nodes[v].C:
            v = nodes[v].parent
            nodes[v].C = min(nodes[nodes[v].left].C, nodes[nodes[v].right].C)

    def leaves(self, v):
        node = self.nodes[v]
        return [v] if node.is_leaf() else self.leaves(node.left) + self.leaves(node.right)

    def swap(self, v):
        nodes = self.nodes
        s = next(leaf for leaf in self.leaves(self.r) if nodes[leaf].C == nodes[self.r].C)
        pa = nodes[s].parent
        gpa = nodes[pa].parent
        sib = nodes[pa].right if nodes[pa].left == s else nodes[pa].left
        nodes[sib].parent = gpa
        if gpa is None:
            self.r = sib
            self.root_swaps += 1
        elif nodes[gpa].left == pa:
            nodes[gpa].left = sib
        else:
            nodes[gpa].right = sib
        self.update_C(sib)
        for node in (s, pa):
            self.set_node(node)
            self.recycled[node] += 1
        self.adopt(v, s, pa)

    def score(self, j, x):
        h = self.nodes[j].regressor.predict(x)
        self.closest = min(self.closest, abs(h))
        return h

    def train(self, j, x, c, weight):
        regressor = self.nodes[j].regressor
        regressor.S, regressor.T = self.observer.S, self.observer.T
        regressor.learn_observed(x, c, weight)

    def learn(self, x, y, weight=1.0):
        """Return the label predicted before learning, None for the first example."""
        self.observer.observe(x, weight)
        predicted = self.predict(x)
        self.labels.add(y)
        nodes = self.nodes
        j = self.r
        while True:
            node = nodes[j]
            node.count(y, weight)
            if node.is_leaf() and len(node.l) >= 2:
                spare = self.t < (self.T or 16 * len(self.labels))
                if spare or node.C - max(node.l.values()) > self.R_S * (nodes[self.r].C + 1):
                    if spare:
                        self.adopt(j, self.add_node(), self.add_node())
                        self.t += 1
                    else:
                        self.swap(j)
                    nodes[node.left].C = math.floor(node.C / 2)
                    nodes[node.right].C = node.C - nodes[node.left].C
                    self.update_C(node.left)
            if node.is_leaf():
                node.C += weight
                self.update_C(j)
                return predicted
            gap = node.E() - node.e(y)
            if gap != 0:  # it is exactly zero if y was the only label so far
                self.closest = min(self.closest, abs(gap))
            self.train(j, x, -1.0 if gap > 0 else 1.0, weight)
            h = self.score(j, x)
            node.n[y] = node.n.get(y, 0) + weight
            node.m[y] = node.m.get(y, 0.0) + weight * h
            j = node.right if h > 0 else node.left

    def ranking(self, x):
        j = self.r
        while not self.nodes[j].is_leaf():
            j = self.nodes[j].right if self.score(j, x) > 0 else self.nodes[j].left
        return self.nodes[j].guess

    def predict(self, x):
        return next(iter(self.ranking(x)), None)


# What follows is of one split: share[i] is the part of label i among the examples, right[i] the
# part of its examples for which h(x) > 0.


def balance(share, right):
    return sum(pi * p for pi, p in zip(share, right, strict=True))


def purity(share, right):
    return sum(pi * min(p, 1 - p) for pi, p in zip(share, right, strict=True))


def J(share, right):  # noqa: N802
    beta = balance(share, right)
    return 2 * sum(pi * abs(beta - p) for pi, p in zip(share, right, strict=True))
