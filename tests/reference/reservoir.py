"""Rows of a stream that are learned again, slow and obvious."""

from tests.reference.probability_tree import mix64

EACH = 224  # bytes of a row beside its features, values, labels and dual variables


class Reservoir:
    """Rows are (number, x, labels, weight, pairs); `pairs` is the row's own dict, if any."""

    def __init__(self, limit, seed, dense_size):
        self.limit, self.random, self.dense_size = limit, seed, dense_size
        self.rows, self.seen = [], 0

    def next(self, n):
        self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
        return mix64(self.random) % n

    def size(self, row):
        _, x, labels, _, pairs = row
        values = 4 * self.dense_size if self.dense_size else 8 * len(x)
        return EACH + values + 4 * len(labels) + 8 * len(pairs)

    def make_room(self, size):
        while self.rows and sum(map(self.size, self.rows)) + size > self.limit:
            gone = self.next(len(self.rows))
            self.rows[gone] = self.rows[-1]
            self.rows.pop()

    def add(self, x, labels, weight, pairs):
        number, self.seen = self.seen, self.seen + 1
        full = sum(map(self.size, self.rows)) + self.limit // 16 > self.limit
        if full and self.next(self.seen) >= len(self.rows):
            return
        row = (number, x, labels, weight, pairs)
        if self.size(row) <= self.limit // 64:
            self.make_room(self.size(row))
            self.rows.append(row)

    def draw(self):
        return self.rows[self.next(len(self.rows))]

    def forget(self, gone, models):
        """Take labels out of rows, and rows that have no other; and models out of their pairs."""
        rows = []
        for number, x, labels, weight, pairs in self.rows:
            for model in [model for model in pairs if model in models]:
                del pairs[model]
            left = [label for label in labels if label not in gone]
            if left:
                rows.append((number, x, left, weight, pairs))
        self.rows = rows

    def renumber(self, new):
        self.rows = [
            (number, x, [new[label] for label in labels], weight, pairs)
            for number, x, labels, weight, pairs in self.rows
        ]
