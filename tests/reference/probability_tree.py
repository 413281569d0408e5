"""The conditional probability tree, slow and obvious, with the paper's names.

Algorithm 1 is the training of the nodes above a leaf, Algorithm 2 that of the regressors of one
node, Algorithm 3 what happens to a label that is new.
"""

import heapq
import math

from tests.reference.linear import LinearBank

SMALLEST = 1e-6


def mix64(z):
    """The core's hash of 64 bits."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def hadamard(k):
    """C of section 3.2.1: a row for each regression problem, a column for each child."""
    if k == 1:
        return [[1]]
    C = hadamard(k // 2)
    return [row + row for row in C] + [row + [1 - c for c in row] for row in C]


def pecoc(r, y):
    """Formula (4): the estimate of P(y | x) from estimates r of all halves, of which r[0] is 1."""
    C = hadamard(len(r))
    terms = [C[i][y] * r[i] + (1 - C[i][y]) * (1 - r[i]) for i in range(len(r))]
    return 2 * sum(terms) / len(terms) - 1


def child_estimates(r, slots, estimates):
    """P(child | x) of the children there are, from estimates r of all halves."""
    q = {slot: pecoc(r, slot) for slot in slots}
    if estimates == "formula":
        return q
    q = {slot: min(max(value, SMALLEST), 1.0) for slot, value in q.items()}
    if estimates == "clipped":
        return q
    return {slot: value / sum(q.values()) for slot, value in q.items()}


def regress(regressor, x):
    """A regressor's estimate of the probability of its half."""
    p = regressor.predict(x)
    if regressor.loss == "squared":
        return min(max(p, 0.0), 1.0)
    return 1 / (1 + math.exp(-p))


def objective(p, left, right, alpha):
    """Place a label on the right if this is positive; p is the probability of the right."""
    return (1 - alpha) * 2 * (p - 0.5) + alpha * math.log2(left / right)


class Node:
    def __init__(self, number, parent, slot, label, regressors):
        self.number, self.parent, self.slot, self.label = number, parent, slot, label
        self.regressors = regressors  # by row of the code; row 0 has none
        self.children = {}  # slot: node

    @property
    def is_leaf(self):
        return not self.children

    @property
    def leaves(self):
        return sum(child.leaves for child in self.children.values()) or 1


class ProbabilityTree:
    """Rows are dicts of feature: value; labels can be anything."""

    def __init__(
        self, rule, scale, *, shape="online", alpha=0.6, arity=2, copy_leaves=False, seed=0,
        estimates="shares",
    ):  # fmt: skip
        self.estimates = estimates
        self.rule, self.shape, self.alpha, self.arity = rule, shape, alpha, arity
        self.copy_leaves, self.random = copy_leaves, seed
        self.bank = LinearBank(scale)
        self.code = hadamard(arity)
        self.nodes = []
        self.leaf = {}

    def add_node(self, parent, slot, label):
        # In wide trees a leaf has none, unless it is the root.
        learns = self.arity == 2 or parent is None
        regressors = self.new_regressors() if learns else {}
        node = Node(len(self.nodes), parent, slot, label, regressors)
        if parent:
            parent.children[slot] = node
        self.nodes.append(node)
        self.leaf[label] = node
        return node

    def new_regressors(self):
        return {row: self.bank.new(self.rule) for row in range(1, self.arity)}

    def train(self, node, child, x, h):
        negative = 0.0 if self.rule["loss"] == "squared" else -1.0
        for row, regressor in node.regressors.items():
            regressor.learn_observed(x, 1.0 if self.code[row][child] else negative, h)

    def child_probabilities(self, node, x):
        r = [1.0] + [regress(node.regressors[row], x) for row in range(1, self.arity)]
        return child_estimates(r, node.children, self.estimates)

    def path(self, label):
        """List the steps to a label, from its leaf up: (node, child taken)."""
        node = self.leaf[label]
        while node.parent:
            yield node.parent, node.slot
            node = node.parent

    def choose_child(self, node, x):
        if self.shape == "random":
            self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
            return mix64(self.random) % self.arity
        for slot in range(self.arity):
            if slot not in node.children:
                return slot
        alpha = 1.0 if self.shape == "balanced" else self.alpha
        p = self.child_probabilities(node, x)
        leaves = {slot: child.leaves for slot, child in node.children.items()}
        # Equal values, which rounding may tell apart, go to the first.
        if self.arity == 2:
            return int(round(objective(p[1], leaves[0], leaves[1], alpha), 5) > 0)
        value = {c: round((1 - alpha) * p[c] - alpha * math.log2(leaves[c]), 5) for c in p}
        return min(value, key=lambda c: (-value[c], c))

    def insert(self, x, y, h):
        if not self.nodes:
            self.train(self.add_node(None, 0, y), 0, x, h)
            return
        node, slot = self.nodes[0], None
        while node and not node.is_leaf:
            slot = self.choose_child(node, x)
            self.train(node, slot, x, h)
            parent, node = node, node.children.get(slot)
        if node:
            left = self.add_node(node, 0, node.label)
            if self.copy_leaves and self.arity == 2:
                regressor, copy = node.regressors[1], left.regressors[1]
                copy.w, copy.G, copy.t = regressor.w.copy(), regressor.G.copy(), regressor.t
            node.regressors = node.regressors or self.new_regressors()
            node.label = None
            parent, slot = node, 1
            self.train(node, 1, x, h)
        self.train(self.add_node(parent, slot, y), 0, x, h)

    def learn(self, x, y, h=1.0):
        """Return what was predicted before."""
        self.bank.observe(x, h)
        predicted = self.topk(x, 1)[0][0] if self.nodes else None
        if y in self.leaf:
            self.train(self.leaf[y], 0, x, h)
            for node, child in self.path(y):
                self.train(node, child, x, h)
        else:
            self.insert(x, y, h)
        return predicted

    def label_probability(self, x, y):
        if y not in self.leaf:
            return 0.0
        return math.prod(self.child_probabilities(node, x)[child] for node, child in self.path(y))

    def topk(self, x, k):
        """Search best first; of equals, which rounding may tell apart, the oldest node first.

        By formula (4) alone a child may be impossible, or more: it is then looked for last.
        """
        found = []
        open_nodes = [(0.0, 0, 1.0)] if self.nodes else []
        while open_nodes and len(found) < k:
            _, number, probability = heapq.heappop(open_nodes)
            node = self.nodes[number]
            if node.is_leaf:
                found.append((node.label, probability))
                continue
            for slot, p in self.child_probabilities(node, x).items():
                q = probability * max(p, SMALLEST)
                entry = (-round(math.log(q), 5), node.children[slot].number, q)
                heapq.heappush(open_nodes, entry)
        if self.estimates == "formula":
            found = [(label, self.label_probability(x, label)) for label, _ in found]
            found.sort(key=lambda one: (-round(one[1], 6), one[0]))
        return found
