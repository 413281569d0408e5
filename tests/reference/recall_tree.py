"""The Recall Tree, slow and obvious: Algorithms 1 to 4, with labeltree's additions.

What the paper prints is importance="average", recount=True, stop="bernstein", one tree, no fill,
no always_train and path_features="path".
"""

import math

from tests.reference.linear import LinearBank
from tests.reference.probability_tree import mix64


def c_log_c(c):
    return c * math.log2(c) if c > 0 else 0.0


class Node:
    def __init__(self, number, depth):
        self.number, self.depth = number, depth
        self.left = self.right = self.router = None
        self.counts = {}
        self.touched = {}  # the time of each label's last example
        self.total = 0.0
        # Kept as a running sum: a difference of entropies that should be zero is rounding noise,
        # and its sign decides where a router's first example goes.
        self.sum_c_log_c = 0.0

    @property
    def is_leaf(self):
        return self.left is None

    def add(self, y, h, now):
        c = self.counts.get(y, 0.0)
        self.sum_c_log_c += c_log_c(c + h) - c_log_c(c)
        self.counts[y] = c + h
        self.touched[y] = now
        self.total += h

    def top_labels(self):
        """List labels by count; of equals, the one that came to its count first."""
        return sorted(self.counts, key=lambda y: (-self.counts[y], self.touched[y]))

    def entropy(self):
        if self.total == 0:
            return 0.0
        return math.log2(self.total) - self.sum_c_log_c / self.total

    def entropy_with(self, y, h):
        c = self.counts.get(y, 0.0)
        total = self.total + h
        return math.log2(total) - (self.sum_c_log_c - c_log_c(c) + c_log_c(c + h)) / total

    def recall(self, F):
        """The share of the examples whose label is among the F most frequent."""
        return min(1.0, sum(self.counts[y] for y in self.top_labels()[:F]) / self.total)


def recall_bound(recall, m, bound):
    """Equation (1)."""
    return recall - math.sqrt(bound * recall * (1 - recall) / m) - bound / m


class RecallTree:
    """Rows are dicts of feature: value; labels are numbers."""

    def __init__(
        self,
        router,
        scorer,
        scale,
        *,
        candidates=0,
        max_depth=0,
        max_nodes=0,
        trees=1,
        bound=1.0,
        stop="fit",
        fill=True,
        always_train=True,
        randomized=False,
        seed=0,
        path_features="none",
        importance="total",
        recount=False,
    ):
        self.router, self.scorer = router, scorer
        self.fixed_candidates, self.bound = candidates, bound
        self.fixed_depth, self.fixed_nodes = max_depth, max_nodes
        self.passes = 1  # over the same examples
        self.stop, self.fill, self.always_train = stop, fill, always_train
        self.randomized, self.random = randomized, seed
        self.path_features = path_features
        self.importance, self.recount = importance, recount
        self.bank = LinearBank(scale)
        self.nodes = []
        self.roots = [self.add_node(0) for _ in range(trees)]
        self.labels = set()
        self.scorers = {}
        self.now = 0

    def add_node(self, depth):
        self.nodes.append(Node(len(self.nodes), depth))
        return self.nodes[-1]

    @property
    def F(self):  # noqa: N802
        if self.fixed_candidates:
            return self.fixed_candidates
        shared = 4 * math.ceil(math.log2(max(1, len(self.labels))))
        return max(4, math.ceil(shared / len(self.roots)))

    def may_split(self, leaf):
        labels = len(self.labels)
        max_depth = self.fixed_depth or 2 * math.ceil(math.log2(max(1, labels)))
        inner = sum(not node.is_leaf for node in self.nodes)
        room = len(self.roots) * (self.fixed_nodes or 4 * labels)
        return len(leaf.counts) > self.F and leaf.depth < max_depth and inner < room

    @property
    def kept(self):
        """How many labels of a node are at hand: as many as F can ever be."""
        return self.fixed_candidates or max(4, math.ceil(128 / len(self.roots)))

    def stops(self, node, child):
        if self.stop == "fit":
            return False
        again = 1 if self.recount else self.passes
        bounds = [
            recall_bound(n.recall(self.F), n.total / again, self.bound) if n.total else -math.inf
            for n in (node, child)
        ]
        return bounds[0] > bounds[1]

    def update_router(self, x, y, h, node, root):
        left, right = node.left, node.right
        more = 0 if self.importance == "average" else h  # as printed, shares from before
        if_left = (left.total + more) * left.entropy_with(y, h) + right.total * right.entropy()
        if_right = left.total * left.entropy() + (right.total + more) * right.entropy_with(y, h)
        bits = (if_right - if_left) / h
        if abs(bits) < 1e-6:
            return
        go_left = bits > 0
        if root.number > 0 and y not in left.counts and y not in right.counts:
            go_left = mix64(node.number << 32 | y) >> 63
        importance = {"total": abs(bits), "average": abs(bits) / node.total, "equal": 1.0}
        node.router.learn_observed(x, 1.0 if go_left else -1.0, h * importance[self.importance])

    def update_regressors(self, x, y, h, candidates):
        if y not in candidates:
            if not self.always_train:
                return
            candidates = [*candidates, y]
        for label in candidates:
            if label not in self.scorers:
                self.scorers[label] = self.bank.new(self.scorer)
            self.scorers[label].learn_observed(x, 1.0 if label == y else -1.0, h)

    def step(self, x, node):
        return node.left if node.router.predict(x) > 0 else node.right

    def random_step(self, x, node):
        self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
        u = (mix64(self.random) >> 11) / 2**53
        return node.left if u < 1 / (1 + math.exp(-node.router.predict(x))) else node.right

    def collect(self, candidates, path, wanted):
        others = len(candidates)
        for node in reversed(path):
            for label in node.top_labels()[: self.kept]:
                if label not in candidates and len(candidates) < wanted:
                    candidates.append(label)
            if not self.fill and len(candidates) > others:  # a fresh leaf has none of its own
                return

    def with_path(self, x, paths):
        """x + {(n.id: 1)} for the nodes below the root of each tree, or the last of them."""
        nodes = []
        if self.path_features != "none":
            for path in paths:
                nodes += path[1:] if self.path_features == "path" else path[1:][-1:]
        extra = {("node", node.number): 1.0 for node in nodes}
        self.bank.seen.N.update(extra)
        return {**x, **extra}

    def learn(self, x, y, h=1.0):
        """Return what was predicted before."""
        self.now += 1
        self.bank.observe(x, h)
        predicted = next((label for label, _ in self.topk(x, 1)), None) if self.labels else None
        self.labels.add(y)
        candidates, paths = [], []
        for i, root in enumerate(self.roots):
            node, path = root, [root]
            paths.append(path)
            node.add(y, h, self.now)
            while not node.is_leaf:
                self.update_router(x, y, h, node, root)
                child = (self.random_step if self.randomized else self.step)(x, node)
                child.add(y, h, self.now)
                if self.stops(node, child):
                    break
                node = child
                path.append(node)
            self.collect(candidates, path, (i + 1) * self.F)
            if node.is_leaf and self.may_split(node):
                node.left = self.add_node(node.depth + 1)
                node.right = self.add_node(node.depth + 1)
                node.router = self.bank.new(self.router)
        self.update_regressors(self.with_path(x, paths), y, h, candidates)
        return predicted

    def candidates(self, x):
        """Return the candidates, and x with the features of the way to them."""
        candidates, paths = [], []
        for i, root in enumerate(self.roots):
            node, path = root, [root]
            paths.append(path)
            while not node.is_leaf:
                child = self.step(x, node)
                if self.stops(node, child):
                    break
                node = child
                path.append(node)
            self.collect(candidates, path, (i + 1) * self.F)
        return candidates, self.with_path(x, paths)

    def topk(self, x, k):
        candidates, x = self.candidates(x)
        scores = {
            label: self.scorers[label].predict(x) if label in self.scorers else 0.0
            for label in candidates
        }
        # Equal scores, which rounding may tell apart: the lowest label.
        ranked = sorted(scores, key=lambda label: (-round(scores[label], 5), label))
        return [(label, scores[label]) for label in ranked[:k]]
