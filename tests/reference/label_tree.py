"""The label tree, slow and obvious: choice trees and an index propose, scorers decide."""

import math

from tests.reference.confidence import Confidence
from tests.reference.linear import CONSTANT, LinearBank
from tests.reference.probability_tree import mix64
from tests.reference.reservoir import Reservoir

WIDTH = 8
SMALLEST = 1e-6
SUREST = 16.0
GAP = 1.0
NOISE = 0.05
USUAL = 5
REPLAYS = 2


def sigmoid(p):
    return 1 / (1 + math.exp(-p))


def log_odds(log_probability):
    rest = -math.expm1(log_probability)
    if not rest > 0:
        return SUREST
    return min(max(log_probability - math.log(rest), -SUREST), SUREST)


class Node:
    def __init__(self, number, parent, slot, label):
        self.number, self.parent, self.slot, self.label = number, parent, slot, label
        self.children = {}  # slot: node
        self.regressors = None  # one for each slot, once there are children
        self.leaves = 1  # at or below
        self.worn = set()  # slots whose regressors another child has taught


class ChoiceTree:
    """Rows are dicts of feature: value; labels are numbers."""

    def __init__(self, rule, bank, *, alpha, exclusive, slope, seed):
        self.rule, self.bank, self.alpha, self.exclusive = rule, bank, alpha, exclusive
        self.slope = slope
        self.random = seed
        self.nodes = []
        self.leaf = {}

    def add_node(self, parent, slot, label):
        node = Node(len(self.nodes), parent, slot, label)
        self.nodes.append(node)
        if parent:
            above = parent if parent.children else None  # a first child is the leaf it was
            while above:
                above.leaves += 1
                above = above.parent
            parent.children[slot] = node
            if parent.regressors is None:
                parent.regressors = [self.bank.new(self.rule) for _ in range(WIDTH)]
        if label is not None:
            self.leaf[label] = node
        return node

    def child_probabilities(self, node, x):
        p = {
            c: max(sigmoid(self.slope * node.regressors[c].predict(x)), SMALLEST)
            for c in sorted(node.children)
        }
        if not self.exclusive:
            return p
        return {c: value / sum(p.values()) for c, value in p.items()}

    def choose_child(self, node, x):
        p = self.child_probabilities(node, x)
        value = {}
        for c in range(WIDTH):
            if c in node.worn:
                continue
            if c not in node.children:
                return c
            self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
            luck = NOISE * (mix64(self.random) >> 40) / 2**24
            balance = self.alpha * math.log2(node.children[c].leaves)
            value[c] = (1 - self.alpha) * p[c] - balance + luck
        return max(value, key=value.get)

    def insert(self, label, x):
        if not self.nodes:
            self.add_node(None, 0, label)
            return
        node, slot = self.nodes[0], None
        while node and node.label is None:
            slot = self.choose_child(node, x)
            parent, node = node, node.children.get(slot)
        if node:
            old, node.label = node.label, None
            self.add_node(node, 0, old)
            parent, slot = node, 1
        self.add_node(parent, slot, label)

    def forget(self, gone, *, exact):
        """Remove leaves, nodes without any below, and those with one child, which takes its place.

        A slot that loses its child gets a new regressor, or, in a hashed table, no other child.
        Returns the regressors that are given up.
        """
        given_up = []
        for node in reversed(self.nodes):  # children come after their parents
            below = len(node.children)
            empty = node.label in gone if node.label is not None else below == 0
            if empty and node.parent:
                parent, slot = node.parent, node.slot
                given_up.append(parent.regressors[slot])
                del parent.children[slot]
                if exact:
                    parent.regressors[slot] = self.bank.new(self.rule)
                else:
                    parent.worn.add(slot)
            if node.label is None and below < 2:
                given_up += node.regressors
            if below == 1:
                (child,) = node.children.values()
                child.parent, child.slot = node.parent, node.slot
                if node.parent:
                    node.parent.children[node.slot] = child
            node.empty = empty or below == 1
        self.nodes = [node for node in self.nodes if not node.empty]
        for number, node in enumerate(self.nodes):
            node.number, node.leaves = number, int(node.label is not None)
        for node in reversed(self.nodes):
            if node.parent:
                node.parent.leaves += node.leaves
        self.leaf = {node.label: node for node in self.nodes if node.label is not None}
        return given_up

    def renumber(self, new):
        for node in self.leaf.values():
            node.label = new[node.label]
        self.leaf = {node.label: node for node in self.leaf.values()}

    def path(self, label):
        """List the steps to a label, from its leaf up: (node, child taken)."""
        node = self.leaf[label]
        while node.parent:
            yield node.parent, node.slot
            node = node.parent

    def questions(self, labels, x):
        """Yield the regressors above labels, and the answer that each should give."""
        for label in labels:
            if label not in self.leaf:
                self.insert(label, x)
        taken = {}
        for label in labels:
            for node, child in self.path(label):
                taken.setdefault(node, set()).add(child)
        for node, children in taken.items():
            for c in node.children:
                yield node.regressors[c], 1.0 if c in children else -1.0

    def learn(self, labels, x, h):
        for regressor, y in self.questions(labels, x):
            regressor.learn_observed(x, y, h)

    def log_probability(self, label, x):
        return sum(math.log(self.child_probabilities(n, x)[c]) for n, c in self.path(label))

    def search(self, x, n, beam, counts, improbable=0.0, wanted=0):
        """Level by level; of equals, which rounding may tell apart, the oldest node.

        Nodes far less probable than the best are left out if there are leaves enough without.
        """

        def order(reached):
            node, log_probability = reached
            return -round(log_probability, 9), node.number

        level, leaves = [(node, 0.0) for node in self.nodes[:1]], []
        while level:
            leaves += [(node, q) for node, q in level if node.label is not None]
            inner = sorted([one for one in level if one[0].label is None], key=order)[:beam]
            bound = improbable * math.exp(max(q for _, q in leaves + inner))
            expanded = []
            for node, q in inner:
                enough = len(leaves) + sum(better.leaves for better, _ in expanded) >= wanted
                if math.exp(q) >= bound or not enough:
                    expanded.append((node, q))
            level = [
                (child, q + math.log(p[c]))
                for node, q in expanded
                for p in [self.child_probabilities(node, x)]
                for c, child in node.children.items()
            ]
        learned = [(leaf, q) for leaf, q in leaves if counts.get(leaf.label, 0) > 0]
        return [(leaf.label, q) for leaf, q in sorted(learned, key=order)[:n]]


class LabelIndex:
    """Each feature keeps some labels, with the sum of their rows' values of it."""

    def __init__(self, length):
        self.length = length
        self.postings = {}  # feature: {label: sum}, in the order of their places
        self.squared_norm = {}

    def unit(self, x):
        """The positive values of a row, made of length 1."""
        length = math.sqrt(sum(v * v for v in x.values() if v > 0))
        return {i: v / length for i, v in x.items() if v > 0}

    def damped(self, squared_norm):
        return squared_norm**-0.375  # 1 / |c|^0.75

    def typical(self, label, feature):
        return self.postings[feature][label] * self.damped(self.squared_norm[label])

    def add(self, label, x, h):
        unit = self.unit(x)
        if not unit:  # no direction: nothing of length 1 to add
            return
        squared_norm = self.squared_norm.get(label, 0.0)
        added = h * h
        for i, v in unit.items():
            kept = self.postings.setdefault(i, {})
            if label in kept:
                added += 2 * h * kept[label] * v
                kept[label] += h * v
            elif len(kept) < self.length:
                kept[label] = h * v
            else:
                least = min(kept, key=lambda y: round(self.typical(y, i), 6))
                mine = h * v * self.damped(squared_norm + h * h)
                if round(mine, 6) >= round(self.typical(least, i), 6):
                    place = list(kept).index(least)
                    entries = list(kept.items())
                    entries[place] = (label, h * v)
                    self.postings[i] = dict(entries)
        self.squared_norm[label] = squared_norm + added

    def forget(self, gone):
        for label in gone:
            self.squared_norm.pop(label, None)
        kept = {
            i: {label: total for label, total in one.items() if label not in gone}
            for i, one in self.postings.items()
        }
        self.postings = {i: one for i, one in kept.items() if one}

    def renumber(self, new):
        self.squared_norm = {new[label]: norm for label, norm in self.squared_norm.items()}
        self.postings = {
            i: {new[label]: total for label, total in one.items()}
            for i, one in self.postings.items()
        }

    def similarities(self, x, without=(), h=0.0):
        """c . x / |c|^0.75 of every label whose centroid has some of x, most similar first."""
        dots = {}
        looked_up = {i: v for i, v in self.unit(x).items() if v >= 0.05}
        for i, v in looked_up.items():
            for label, total in self.postings.get(i, {}).items():
                dots[label] = dots.get(label, 0.0) + total * v
        similar = {}
        for label, dot in dots.items():
            squared_norm = self.squared_norm[label]
            if label in without:
                squared_norm += h * h - 2 * h * dot
                dot -= h * sum(v * v for v in looked_up.values())
            if dot > 1e-6 and squared_norm > 1e-12:
                similar[label] = dot * self.damped(squared_norm)
        return dict(sorted(similar.items(), key=lambda s: (-round(s[1], 5), s[0])))


class LabelTree:
    """Rows are dicts of feature: value; the labels of a row are a list of numbers."""

    def __init__(
        self,
        tree,
        scorer,
        scale,
        *,
        trees=1,
        tree_candidates=10,
        beam=10,
        improbable=0.0,
        alpha=0.8,
        tree_weight=0.5,
        index_length=0,
        index_candidates=15,
        index_weight=10.0,
        hopeless=math.inf,
        scorers=True,
        exclusive=True,
        slope=1.0,
        shift=0.0,
        calibrated=False,
        replay=0,
        regrow=None,
        dense_size=0,
        seed=0,
    ):
        # From rows that are kept, [(x, labels)], to the nodes of each tree by clusters of labels.
        self.regrow = regrow
        self.regrown_labels = self.regrown_rows = 0
        self.young = None  # trees that grow
        self.regrown = self.next = 0
        self.reservoir = Reservoir(replay, seed, dense_size)
        self.calibrated, self.dual = calibrated, scorer["update"] == "dual"
        self.confidence = Confidence(exclusive=exclusive, slope=slope, shift=shift)
        self.pairs = {}  # dual: row -> model -> (answer, dual variable)
        self.unsettled = set()  # rows whose models may not be all that they need
        self.scorer, self.use_scorers, self.exclusive = scorer, scorers, exclusive
        self.tree_candidates, self.beam, self.improbable = tree_candidates, beam, improbable
        self.index_candidates, self.hopeless = index_candidates, hopeless
        self.tree_weight, self.index_weight = tree_weight, index_weight
        self.bank = LinearBank(scale)
        self.make_trees = lambda: [
            ChoiceTree(
                scorer if self.dual else tree,
                self.bank,
                alpha=alpha,
                exclusive=exclusive,
                slope=slope if self.dual else 1.0,
                seed=seed + i,
            )
            for i in range(trees)
        ]
        self.trees = self.make_trees()
        self.index = LabelIndex(index_length) if index_length else None
        self.scorers = {}
        self.counts = {}
        self.sought = self.found = 0.0
        self.again = 0  # how often the examples were learned before
        self.more = False  # whether they will come once more

    @property
    def recall(self):
        return (self.found + 1) / (self.sought + 2)

    def features(self, x):
        scaled = self.bank.seen.scaled(x)
        return {i: v for i, v in scaled.items() if i != CONSTANT}

    def gather(self, x, k, without=(), h=0.0):
        """The candidates: label -> what trees and index say. And what a label has without them."""
        wanted = max(k, self.tree_candidates)
        odds, unfound = [], []
        for tree in self.trees:
            breadth = wanted, max(k, self.beam)
            found = tree.search(x, *breadth, self.counts, self.improbable, max(k, USUAL))
            odds.append({label: log_odds(p) for label, p in found})
            unfound.append(log_odds(found[-1][1] - GAP) if found else -SUREST)
        similar = {}
        if self.index:
            similar = self.index.similarities(self.features(x), without, h)
        nearest = list(similar)[: max(k, self.index_candidates)]
        candidates = [label for one in odds for label in one]
        candidates += [label for label in nearest if self.counts.get(label, 0) > 0]

        def evidence(label):
            given = [one.get(label, default) for one, default in zip(odds, unfound, strict=True)]
            mean = sum(given) / len(given) if given else 0.0
            return self.tree_weight * mean + self.index_weight * similar.get(label, 0.0)

        return list(dict.fromkeys(candidates)), evidence

    def scores(self, x, candidates, evidence):
        return {
            label: evidence(label)
            + (self.scorers[label].predict(x) if label in self.scorers else 0.0)
            for label in candidates
        }

    def topk(self, x, k):
        """The k best labels and their probabilities."""
        decides_alone = len(self.trees) == 1 and not self.index and not self.use_scorers
        alone = decides_alone and not self.exclusive
        candidates, evidence = self.gather(x, k if alone else 0)
        best = sorted((evidence(label) for label in candidates), reverse=True)
        few = len(best) <= USUAL or len(best) == len(self.counts)
        bound = -math.inf if few else min(best[USUAL - 1], best[0] - self.hopeless)
        hopeful = [label for label in candidates if evidence(label) >= bound]
        scores = self.scores(x, hopeful, evidence)
        more, others = {}, {}  # labels beside these, where more are asked for
        enough = min(k, len(self.counts))
        if len(hopeful) < enough:
            rest = [label for label in candidates if label not in hopeful]
            more = self.scores(x, rest, evidence)
        if len(candidates) < enough:
            wide, evidence = self.gather(x, k)
            rest = [label for label in wide if label not in candidates]
            others = self.scores(x, rest, evidence)
        if not scores and not others:
            scores = {min(self.counts): 0.0}

        def ranked(scores):  # of equals, which rounding may tell apart, the lowest label
            return sorted(scores, key=lambda label: (-round(scores[label], 5), label))

        p = self.confidence.weigh(
            [scores[label] for label in ranked(scores)],
            [*(more[label] for label in ranked(more)), *(others[one] for one in ranked(others))],
            len(self.counts),
        )
        return list(zip(ranked(scores) + ranked(more) + ranked(others), p, strict=True))[:k]

    def learn(self, x, labels, h=1.0, row=None):
        """Return what was predicted before; `row` tells examples apart that come again."""
        if h > 0:
            self.bank.observe(x, h)
        predicted = next((label for label, _ in self.topk(x, 1)), None) if self.counts else None
        several = self.again or self.more
        spared = several and row >= 256 and mix64(row) % 16 == 0
        late = self.dual and self.calibrated and spared
        if h == 0 or not labels or (late and self.again < 2 and self.more):
            return predicted
        new = not self.again or (late and self.again <= 2)
        candidates, evidence = self.gather(x, 0, () if new else labels, h)
        if self.calibrated and new and (not self.dual or self.again or not self.more):
            self.confidence.note(self.scores(x, candidates, evidence), labels, h)
        for label in labels:
            if new:
                self.sought += h
                self.found += h if label in candidates else 0.0
            if label not in candidates and (self.exclusive or self.dual) and label in self.counts:
                candidates.append(label)
        if self.dual:
            pairs = self.pairs.setdefault(row, {})
            settled = self.again > 1 and not new and row not in self.unsettled
            self.unsettled.discard(row)
            self.learn_pairs(x, labels, h, candidates, pairs, settled=settled)
        elif self.use_scorers:
            self.train_scorers(x, labels, h, candidates, evidence)
        if not self.dual and (not self.index or not self.again):
            for tree in self.trees:
                tree.learn(labels, x, h)
        for tree in self.trees:  # labels that came, in a later pass, after they were forgotten
            for label in labels:
                if label not in tree.leaf:
                    tree.insert(label, x)
        for label in labels:
            if self.index and (new or label not in self.counts):
                self.index.add(label, self.features(x), h)
            self.counts[label] = self.counts.get(label, 0.0) + h
        if self.reservoir.limit and not several:
            self.reservoir.add(x, labels, h, self.pairs.get(row, {}))
            for _ in range(REPLAYS):
                if self.reservoir.rows:
                    drawn = self.reservoir.draw()
                    self.last = drawn[1]
                    self.learn_again(*drawn[1:])
                    self.reservoir.make_room(0)
            if self.regrow:
                self.regrow_a_little()
        return predicted

    def forget(self, gone, *, exact, labels=None):
        """Forget labels; where it is told how many there are, number the others anew."""
        gone = set(gone)
        given_up = [self.scorers.pop(label) for label in gone if label in self.scorers]
        for tree in [*self.trees, *(self.young or [])]:
            given_up += tree.forget(gone, exact=exact)
        if self.index:
            self.index.forget(gone)
        self.counts = {label: n for label, n in self.counts.items() if label not in gone}
        before = self.reservoir.rows[: self.next]
        self.reservoir.forget(gone, set(given_up))
        self.next = sum(any(row[0] == old[0] for old in before) for row in self.reservoir.rows)
        for pairs in self.pairs.values():
            for model in [model for model in pairs if model in set(given_up)]:
                del pairs[model]
        self.unsettled = set(self.pairs)
        if labels is not None:
            left = [label for label in range(labels) if label not in gone]
            self.renumber({label: i for i, label in enumerate(left)})

    def renumber(self, new):
        for part in [*self.trees, *(self.young or []), *([self.index] if self.index else [])]:
            part.renumber(new)
        self.scorers = {new[label]: model for label, model in self.scorers.items()}
        self.counts = {new[label]: n for label, n in self.counts.items()}
        self.reservoir.renumber(new)

    def regrow_a_little(self):
        """One row to shape new trees, one to make their models, then eight kept rows at a time.

        So it is where clusters and nodes are few. The rows that are kept may change meanwhile.
        """
        rows, labels, seen = self.reservoir.rows, len(self.counts), self.reservoir.seen
        if self.young is None:
            more = labels >= 2 * self.regrown_labels or seen >= 4 * self.regrown_rows
            if seen < 256 or labels <= WIDTH or not more or 2 * len(rows) < seen:
                return
            self.young = self.make_trees()
            shapes = self.regrow([row[1:3] for row in rows])
            for tree, nodes in zip(self.young, shapes, strict=True):
                for parent, slot, label in nodes:
                    tree.add_node(None if parent is None else tree.nodes[parent], slot, label)
            self.regrown_labels, self.regrown_rows = labels, seen
            self.wait, self.next, self.learned = 2, 0, False
        elif self.wait:
            self.wait -= 1
        elif self.learned:  # where labels are few, all that have no leaf get one
            self.trees, self.young = self.young, None
            self.regrown += 1
            for tree in self.trees:
                for label in sorted(self.counts):
                    if label not in tree.leaf:
                        tree.insert(label, self.last)
        else:
            for _, x, labels, h, _ in rows[self.next : self.next + 8]:
                for tree in self.young:
                    tree.learn(labels, x, h)
            self.next += 8
            self.learned = self.next >= len(rows)

    def learn_again(self, x, labels, h, pairs):
        """Learn a row of the past as in a later pass."""
        candidates, evidence = self.gather(x, 0, labels, h)
        if self.exclusive or self.dual:
            candidates += [label for label in labels if label not in candidates]
        if self.dual:
            self.learn_pairs(x, labels, h, candidates, pairs, settled=False)
            return
        if self.use_scorers:
            self.train_scorers(x, labels, h, candidates, evidence)
        if not self.index:
            for tree in self.trees:
                tree.learn(labels, x, h)

    def learn_pairs(self, x, labels, h, candidates, pairs, *, settled):
        """Take exact steps for all models that the row is shown to, settled after two passes."""
        if not settled:
            asked = [one for tree in self.trees for one in tree.questions(labels, x)]
            for label in candidates:
                if label not in self.scorers:
                    self.scorers[label] = self.bank.new(self.scorer)
                asked.append((self.scorers[label], 1.0 if label in labels else -1.0))
            for model, y in asked:
                pairs.setdefault(model, (y, 0.0))
        for model, (y, alpha) in pairs.items():
            pairs[model] = y, model.dual_step(x, y, h, alpha)

    def train_scorers(self, x, labels, h, candidates, evidence):
        for label in candidates:
            if label not in self.scorers:
                self.scorers[label] = self.bank.new(self.scorer)
        scores = self.scores(x, candidates, evidence)
        if self.exclusive and scores:
            log_total = math.log(sum(math.exp(s) for s in scores.values()))
            scores = {label: log_odds(s - log_total) for label, s in scores.items()}
        for label, p in scores.items():
            y = 1.0 if label in labels else -1.0
            self.scorers[label].learn_observed(x, y, h, p)
