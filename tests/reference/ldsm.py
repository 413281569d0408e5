"""LdSM, slow and obvious, with the paper's names: Algorithms 3 to 5, and what partial_fit does.

update="nag" has the steps that the paper names for its regressors, the second algorithm of Ross,
Mineiro & Langford (2013).

Examples are (x, y, h): a dict of feature: value with the constant feature among them, a list of
labels, and a weight.
"""

import math
from collections import Counter, defaultdict
from itertools import combinations

from tests.reference.probability_tree import mix64

CONSTANT = "constant"


def objective(P, shares, lambda1, lambda2):
    """J of a node: P[m] is P_m; shares lists (pi_k, [P_1^k, ..., P_M^k]) for labels k."""
    pairs = list(combinations(range(len(P)), 2))
    balance = sum(abs(P[j] - P[m]) for j, m in pairs)
    integrity = sum(pi * abs(Pk[j] - Pk[m]) for pi, Pk in shares for j, m in pairs)
    return balance - lambda1 * integrity + lambda2 * abs(sum(P) - 1)


def optimize_objective(M, lambda1, lambda2, C, P, label_count, label_P, y, h):
    """Algorithm 3; C and label_count include the example, P and label_P do not."""
    best, best_J = None, math.inf
    for s in range(1, 2**M):
        y_hat = [s >> m & 1 for m in range(M)]
        mass = h * len(y)
        new_P = [((C - mass) * P[m] + mass * y_hat[m]) / C for m in range(M)]
        shares = []
        for k in y:
            count = label_count[k]
            new = [((count - h) * label_P[k][m] + h * y_hat[m]) / count for m in range(M)]
            shares.append((count / C, new))
        J = objective(new_P, shares, lambda1, lambda2)
        # Directions whose J is equal but for rounding: the first.
        if best_J - 1e-9 > J:
            best, best_J = s, J
    return best


def shuffle(values, random):
    """Put a list into a random order; return the state of the random numbers."""
    for i in range(len(values), 1, -1):
        random = (random + 0x9E3779B97F4A7C15) % 2**64
        j = mix64(random) % i
        values[i - 1], values[j] = values[j], values[i - 1]
    return random


class Regressors:
    """M linear models that learn with plain, importance-aware steps of squared loss."""

    def __init__(self, M):
        self.w = [defaultdict(float) for _ in range(M)]

    def scores(self, x):
        return [sum(w[i] * v for i, v in x.items() if i in w) for w in self.w]

    def train(self, x, s, step):
        norm = sum(v * v for v in x.values())
        for m, (w, p) in enumerate(zip(self.w, self.scores(x), strict=True)):
            u = ((s >> m & 1) - p) * (1 - math.exp(-2 * step * norm)) / norm
            for i, v in x.items():
                w[i] += u * v


class NormalizedRegressors(Regressors):
    """M linear models that learn with normalized adaptive gradient steps of logistic loss."""

    def __init__(self, M):
        super().__init__(M)
        self.s = defaultdict(float)
        self.G = [defaultdict(float) for _ in range(M)]
        self.t = self.N = 0.0

    def train(self, x, s, step, h):
        for i, v in x.items():
            if abs(v) > self.s[i]:
                for w in self.w:
                    w[i] *= self.s[i] / abs(v)
                self.s[i] = abs(v)
        self.t += h
        self.N += h * sum((v / self.s[i]) ** 2 for i, v in x.items())
        for m, (w, G, p) in enumerate(zip(self.w, self.G, self.scores(x), strict=True)):
            slope = 1 / (1 + math.exp(-p)) - (s >> m & 1)
            for i, v in x.items():
                g = slope * v
                G[i] += h * g * g
                if G[i] > 0:
                    w[i] -= h * step * math.sqrt(self.t / self.N / G[i]) * g / self.s[i]


def route(p, allowed=None):
    """Children with a score above one half, or else the best one."""
    allowed = range(len(p)) if allowed is None else allowed
    return [m for m in allowed if p[m] > 0.5] or [max(allowed, key=lambda m: p[m])]


class Node:
    def __init__(self):
        self.weight = self.mass = 0.0
        self.histogram = defaultdict(float)
        self.children = []
        self.regressors = None
        self.I = []  # examples, or numbers of recent ones

    @property
    def undecided(self):
        """The labels that reached it, but for the most frequent one."""
        return self.mass - max(self.histogram.values(), default=0.0)

    @property
    def is_leaf(self):
        return not self.children

    def count(self, example):
        _, y, h = example
        self.weight += h
        self.mass += h * len(y)
        for k in y:
            self.histogram[k] += h


class Tree:
    def __init__(
        self, *, arity, lambda1, lambda2, max_nodes, epochs, min_leaf, max_share, step, seed,
        min_feature_rows=1, empty_children=True, priority="rows", update="plain", reorder=True,
        split_rows=100, recent_rows=10_000,
    ):  # fmt: skip
        self.empty_children, self.priority = empty_children, priority
        self.update, self.reorder = update, reorder
        self.M, self.lambda1, self.lambda2 = arity, lambda1, lambda2
        self.max_nodes, self.epochs, self.min_leaf = max_nodes, epochs, min_leaf
        self.max_share, self.step, self.seed = max_share, step, seed
        self.min_feature_rows = min_feature_rows
        self.split_rows, self.recent_rows = split_rows, recent_rows
        self.nodes = [Node()]

    def train_regressors(self, examples, rate, random):
        """Algorithm 4, with objective and training for every example of every epoch."""
        nag = self.update == "nag"
        regressors = (NormalizedRegressors if nag else Regressors)(self.M)
        rows = Counter(i for x, _, _ in examples for i in x)
        C, t = 0.0, 0.0
        label_count = defaultdict(float)
        P = [0.0] * self.M
        label_P = defaultdict(lambda: [0.0] * self.M)
        examples = list(examples)
        for epoch in range(self.epochs):
            if epoch > 0 and self.reorder:
                random = shuffle(examples, random)
            for x, y, h in examples:
                if not y:
                    continue
                x = {i: v for i, v in x.items() if rows[i] >= self.min_feature_rows}
                mass = h * len(y)
                C += mass
                for k in y:
                    label_count[k] += h
                s = optimize_objective(
                    self.M, self.lambda1, self.lambda2, C, P, label_count, label_P, y, h
                )
                t += h
                if nag:
                    regressors.train(x, s, self.step, h)
                else:
                    regressors.train(x, s, self.step * rate**2 * h / math.sqrt(t))
                for m, p in enumerate(regressors.scores(x)):
                    pred = min(max(p, 0.0), 1.0)
                    P[m] = ((C - mass) * P[m] + mass * pred) / C
                    for k in y:
                        count = label_count[k]
                        label_P[k][m] = ((count - h) * label_P[k][m] + h * pred) / count
        return regressors

    def split(self, node, examples, rate, scale):
        """Algorithm 5; returns where each example goes, or None if the node stays a leaf."""
        random = mix64((self.seed + self.nodes.index(node) + 1) % 2**64)
        regressors = self.train_regressors(examples, rate, random)
        sent = [route(regressors.scores(x)) for x, _, _ in examples]
        for m in range(self.M):
            share = sum(m in s for s in sent) / len(sent)
            if share == 1 or share > self.max_share:
                return None
            if share == 0 and not self.empty_children:
                return None
        for w in regressors.w:
            for i in w:
                w[i] *= scale.get(i, 1.0)
        node.regressors = regressors
        node.children = [Node() for _ in range(self.M)]
        self.nodes += node.children
        return sent

    def has_room(self):
        return len(self.nodes) + self.M <= self.max_nodes

    def fit(self, examples, rate, scale):
        order = list(range(len(examples)))
        shuffle(order, self.seed)
        root = self.nodes[0]
        root.I = [examples[i] for i in order]
        for example in root.I:
            root.count(example)
        waiting = [root]
        while waiting and self.has_room():
            first = "weight" if self.priority == "rows" else "undecided"
            node = max(waiting, key=lambda n: getattr(n, first))  # of equals, the first
            waiting.remove(node)
            sent = self.split(node, node.I, rate, scale)
            if sent is None:
                continue
            for example, children in zip(node.I, sent, strict=True):
                for m in children:
                    node.children[m].count(example)
                    node.children[m].I.append(example)
            waiting += [c for c in node.children if len(c.I) >= max(2, self.min_leaf)]

    def learn(self, recent, number, rate):
        """Take example `number` of `recent`, a dict of the recent ones, down the tree."""
        x, y, h = recent[number]
        open_ = [self.nodes[0]]
        while open_:
            node = open_.pop()
            node.count((x, y, h))
            if node.is_leaf:
                if self.has_room():
                    node.I.append(number)
                    if len(node.I) >= self.split_rows:
                        node.I = [i for i in node.I if i in recent]
                    if len(node.I) >= self.split_rows:
                        self.split_online(node, recent, rate)
                continue
            if y:
                s = optimize_objective(
                    self.M,
                    self.lambda1,
                    self.lambda2,
                    node.mass,
                    [c.mass / (node.mass - h * len(y)) for c in node.children],
                    node.histogram,
                    {
                        k: [
                            c.histogram[k] / (node.histogram[k] - h)
                            if node.histogram[k] > h
                            else 0.0
                            for c in node.children
                        ]
                        for k in y
                    },
                    y,
                    h,
                )
                step = self.step * rate**2 * h / math.sqrt(1 + node.weight)
                node.regressors.train(x, s, step)
            open_ += [node.children[m] for m in route(node.regressors.scores(x))]

    def split_online(self, node, recent, rate):
        numbers = sorted(node.I, key=lambda i: mix64((self.seed + i) % 2**64))
        node.I = []
        examples = [recent[i] for i in numbers]
        sent = self.split(node, examples, rate, {})
        if sent is None:
            return
        gathered = Node()
        for number, example, children in zip(numbers, examples, sent, strict=True):
            gathered.count(example)
            for m in children:
                node.children[m].count(example)
                node.children[m].I.append(number)
        for child in node.children:
            if child.weight == 0:
                continue
            share = child.weight / gathered.weight
            for k in sorted(node.histogram):
                older = node.histogram[k] - gathered.histogram[k]
                if older > 0:
                    known = gathered.histogram[k]
                    part = child.histogram[k] / known if known else share
                    if part:
                        child.histogram[k] += older * part
            child.weight += share * max(0.0, node.weight - gathered.weight)
            child.mass += share * max(0.0, node.mass - gathered.mass)

    def leaves(self, x):
        """The leaves that x reaches."""
        open_, leaves = [self.nodes[0]], []
        while open_:
            node = open_.pop()
            if node.is_leaf:
                leaves.append(node)
                continue
            allowed = [m for m in range(self.M) if node.children[m].weight > 0]
            open_ += [node.children[m] for m in route(node.regressors.scores(x), allowed)]
        return leaves


class Forest:
    """Rows are dicts of feature: value, of unit scale; labels are numbers."""

    def __init__(self, *, trees, seed, idf=0.0, leaf_shares="rows", **params):
        self.idf, self.leaf_shares = idf, leaf_shares
        self.trees = [
            Tree(seed=mix64((seed * 0x9E3779B97F4A7C15 + t + 1) % 2**64), **params)
            for t in range(trees)
        ]
        self.T = self.S = 0.0
        self.recent, self.end = {}, 0

    def observe(self, x, h):
        self.T += h
        self.S += h * (1 + sum(v * v for v in x.values()))
        return math.sqrt(self.T / self.S)

    def fit(self, rows, sets, weights):
        examples = []
        for x, y, h in zip(rows, sets, weights, strict=True):
            if h > 0:
                rate = self.observe(x, h)
                examples.append(({**x, CONSTANT: 1.0}, y, h))
        scale = self.inverse_frequencies(rows)
        if scale:
            examples = [
                ({i: v * scale.get(i, 1.0) for i, v in x.items()}, y, h) for x, y, h in examples
            ]
            norms = sum(h * sum(v * v for v in x.values()) for x, _, h in examples)
            rate = math.sqrt(sum(h for _, _, h in examples) / norms)
        for tree in self.trees:
            tree.fit(examples, rate, scale)

    def inverse_frequencies(self, rows):
        """Factor of each feature, relative to the mean; none for the constant one."""
        if self.idf == 0:
            return {}
        n = Counter(i for x in rows for i in x)
        scale = {i: (math.log(len(rows) / n[i]) + 0.1) ** self.idf for i in n}
        mean = sum(scale.values()) / len(scale)
        return {i: s / mean for i, s in scale.items()}

    def learn(self, x, y, h):
        rate = self.observe(x, h)
        self.recent[self.end] = ({**x, CONSTANT: 1.0}, y, h)
        self.recent.pop(self.end - self.trees[0].recent_rows, None)
        for tree in self.trees:
            tree.learn(self.recent, self.end, rate)
        self.end += 1

    def probabilities(self, x):
        """The mean over leaves and trees of the share of a leaf's examples that have each label.

        Or, by labels, of the share that each has of them.
        """
        total = defaultdict(float)
        for tree in self.trees:
            leaves = tree.leaves({**x, CONSTANT: 1.0})
            for leaf in leaves:
                of = leaf.weight if self.leaf_shares == "rows" else leaf.mass
                for k, count in leaf.histogram.items():
                    if count > 0:
                        total[k] += count / of / len(leaves) / len(self.trees)
        return dict(total)
