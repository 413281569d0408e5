"""One-against-all, slow and obvious: one model per label, from the label's first example on."""

from tests.reference.linear import LinearModel


class OneAgainstAll:
    """Rows are dicts of feature: value; label sets are sets of any labels."""

    def __init__(self, **settings):
        self.settings = settings
        self.observer = LinearModel(**settings)  # sees every example, for the norms it counts
        self.models = {}

    def predict(self, x):
        scores = {label: model.predict(x) for label, model in self.models.items()}
        # Equal scores, which rounding may tell apart: the lowest label.
        return min(scores, key=lambda label: (-round(scores[label], 5), label), default=None)

    def learn(self, x, labels):
        for model in self.models.values():
            model.note_ranges(x)
        predicted = self.predict(x)
        for label in labels:
            if label not in self.models:
                self.models[label] = LinearModel(**self.settings)
                model, seen = self.models[label], self.observer
                model.N, model.S, model.T = dict(seen.N), seen.S, seen.T
        negative = 0.0 if self.settings["loss"] == "squared" else -1.0
        for label, model in self.models.items():
            model.learn(x, 1.0 if label in labels else negative)
        self.observer.learn(x, negative)
        return predicted
