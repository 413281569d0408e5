"""What every online classifier shares: labels in, labels out, passes, progress, files."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.conventions import check_is_fitted, check_random_state
from labeltree.estimators.locking import changing, reading
from labeltree.estimators.mergeable import MergeableClassifier
from labeltree.estimators.prediction import FORMS, NO_LABEL
from labeltree.estimators.survey import Batch, BatchSurvey, Survey
from labeltree.labels import Kind, Label, Targets, Vocabulary
from labeltree.parameters import Interval, StrOptions
from labeltree.progress import Meter, Progress
from labeltree.validation import (
    as_matrix,
    as_row_numbers,
    as_rows,
    as_threads,
    as_weights,
    number_of_rows,
)


class OnlineClassifier(MergeableClassifier):
    """Base of the classifiers: `fit` is a reset, then passes of what `partial_fit` does.

    A subclass makes its core learner from fixed parameters and settled attributes
    (``_make_learner``) and ranks labels (``_topk``). A core
    learner has ``resize``, ``learn``, ``examples``, ``learned_labels``, ``state``, ``restore``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": [StrOptions({"auto", "max", "none", "unit", "idf"})],
        "layout": [StrOptions({"auto", "dense", "hashed"})],
        "bits": [Interval(Integral, 10, 34, closed="both"), None],
        "min_gradient": [Interval(Real, 0, None, closed="left")],
        "passes": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    # Parameters that may change between calls; all others are fixed when learning starts.
    _changeable: ClassVar[tuple[str, ...]] = ("passes", "shuffle", "random_state", "n_jobs")
    # Whether the core learner tells the probability of a label before it learns it.
    _estimates_probabilities: ClassVar[bool] = False
    # Whether rows may have sets of labels.
    _takes_sets: ClassVar[bool] = False

    passes: int | None = 1  # of those that have no such parameter
    shuffle: bool
    random_state: Any
    n_jobs: int | None

    _expects_more: bool = False  # whether the rows of the first call will come again

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, verbose: int = 0) -> Self:
        """Forget everything and learn the rows in `passes` passes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like, list of lists, or indicator matrix
            One label a row, an int or a str; or a set of labels a row.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; rows of weight 0 are left out.
        verbose : int
            Above 0, a line on standard error shows how far learning is.

        Returns
        -------
        self
            The fitted estimator. After Ctrl-C what was learned so far remains. Until then, other
            threads use what it was before.
        """
        self._validate_params()
        new = self._unfitted()
        batch = new._check(X, y, sample_weight, reset=True)
        new._require_room(batch.targets, [], streaming=False)
        new.check_labels(batch.targets.distinct)
        if batch.weight is not None and not batch.weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
        new._expects_more = new.passes != 1
        new._start(batch, streaming=False)
        new._add_labels(batch.targets.distinct)
        try:
            new._learn_all(batch, verbose)
        except KeyboardInterrupt:
            self._become(new)
            raise
        self._become(new)
        return self

    def _learn_all(self, batch: Batch, verbose: int) -> None:
        """Learn the rows of `fit`."""
        random = check_random_state(self.random_state)
        order = np.arange(batch.matrix.rows)
        passes = self._passes()
        meter = Meter(passes, batch.matrix.rows, verbose)
        try:
            for number in range(passes):
                rows, more = batch.matrix.rows, number + 1 < passes
                self._learner.begin_pass(again=number > 0, rows=rows, more=more)
                if number == 0:
                    self._look_ahead(batch)
                if self.shuffle:
                    order = random.permutation(batch.matrix.rows)
                for part in meter.parts(order):
                    self._learn(batch, part, record=number == 0)
                    meter.advance(len(part), self._progress)
        finally:
            if not self._lock.condemned:
                self._learner.begin_pass(again=False)

    def _passes(self) -> int:
        """Return how often `fit` goes through the rows."""
        assert self.passes is not None
        return self.passes

    def _look_ahead(self, batch: Batch) -> None:
        """Learn from all rows of `fit` at once, before they come one by one."""
        self._learner.look_ahead(batch.matrix, batch.weight)

    @changing
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        row_numbers: Any = None,
    ) -> Self:
        """Learn the rows once, in their order, on top of what is known.

        Any number of threads may call it, and predict meanwhile: they take turns.

        The first call settles what was left to the data: ``scale="auto"`` is decided by its first
        1,000 rows, so pass as many, or set `scale`. From then on the model depends on the rows and
        their order, not on how they are cut into batches.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like, list of lists, or indicator matrix
            As for `fit`. It may have labels that were never seen before, at any time.
        classes : list or array of int or str, optional
            Labels that get the next ids. Never needed: a label is predicted once it was seen.
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts.
        row_numbers : array of int, optional
            Where `begin_pass` has told that rows come several times: which rows these are,
            counted from 0. It is needed if passes bring them in different orders; without it they
            must come in the same order every time. Only `LabelTreeClassifier` remembers rows.

        Returns
        -------
        self
            The estimator.
        """
        self._validate_changes()
        self._require_learning()
        new = self if hasattr(self, "_learner") else self._unfitted()
        batch = new._check(X, y, sample_weight, reset=new is not self)
        if row_numbers is not None:
            batch = batch.numbered(as_row_numbers(row_numbers, batch.matrix.rows))
        declared = [] if classes is None else Targets.parse(classes).distinct
        if declared and batch.targets.kind.endswith("indicator"):
            raise ValueError("classes are given, but y is an indicator: its columns are the labels")
        new._require_room(batch.targets, declared, streaming=True)
        new.check_labels([*declared, *batch.targets.distinct])
        if new is not self:
            new._start(batch, streaming=True)
            self._become(new)
        self._learn_stream(batch, declared)
        return self

    def _require_room(
        self, targets: Targets, declared: Sequence[Label], *, streaming: bool
    ) -> None:
        """Raise if there are more labels than there may be."""

    def _learn_stream(self, batch: Batch, declared: Sequence[Label]) -> None:
        """Learn rows in their order, with labels that may be new; some are declared before."""
        self._add_labels([*declared, *batch.targets.by_appearance()])
        self._learn(batch, np.arange(batch.matrix.rows), record=True)

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one row, as `partial_fit` does, without the checks of a whole matrix.

        Parameters
        ----------
        x : dict, pair of arrays, array of shape (n_features,), or sparse row
            As for `predict_one`. The first row of all tells how many features there are, so it
            must be an array or a sparse row.
        y : int, str, or list of them
            The label of the row, or the list of its labels.
        sample_weight : float
            How much the row counts.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from labeltree import RecallTreeClassifier
        >>> clf = RecallTreeClassifier(random_state=0)
        >>> clf.learn_one([1.0, 0.0], "a").learn_one({1: 1.0}, "b").predict_one({1: 1.0})
        'b'
        """
        if not hasattr(self, "_learner"):
            if isinstance(x, dict | tuple):
                raise ValueError(
                    "the first row tells how many features there are: give it as an array of all "
                    "values or a sparse row, or begin with partial_fit"
                )
            return self.partial_fit(x if sp.issparse(x) else [x], [y], sample_weight=sample_weight)
        return self._learn_one(x, Targets.parse([y]), as_weights(sample_weight, 1))

    @changing
    def _learn_one(self, x: Any, targets: Targets, weight: NDArray[np.float32] | None) -> Self:
        self._validate_changes()
        self._require_learning()
        self._require_form(targets)
        batch = Batch(None, self._row(x), targets, weight)
        self._require_room(targets, [], streaming=True)
        self.check_labels(targets.distinct)
        self._learn_stream(batch, [])
        return self

    def begin_pass(self, *, again: bool, more: bool = False) -> None:
        """Tell `partial_fit`, before every pass, that the same rows come several times.

        Parameters
        ----------
        again : bool
            Whether the rows to come were learned before: what is counted of rows is then not
            counted again.
        more : bool
            Whether they will come once more. Called before the first rows, it lets
            `LabelTreeClassifier` choose the dual update for label sets.

        Examples
        --------
        >>> from labeltree import LabelTreeClassifier
        >>> clf = LabelTreeClassifier(random_state=0)
        >>> for number in range(3):
        ...     clf.begin_pass(again=number > 0, more=number < 2)
        ...     clf = clf.partial_fit([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b", "c"]])
        >>> clf.begin_pass(again=False)  # what comes now is new
        >>> clf.predict_one([1.0, 0.0])
        ['a']
        """
        if hasattr(self, "_learner"):
            self._learner.begin_pass(again=again, more=more)
        elif again:
            check_is_fitted(self)
        self._expects_more = more

    @property
    def examples_(self) -> int:
        """How many rows were learned or skipped, in all passes."""
        return int(self._learner.examples) if hasattr(self, "_learner") else 0

    @property
    @reading
    def nbytes_(self) -> int:
        """How many bytes of memory hold what was learned."""
        check_is_fitted(self)
        state = self._learner.state()
        used = sum(array.nbytes for array in state.values())
        if getattr(self, "layout_", "") == "hashed" and not self.compiled_:
            used += 8 * 2**self.bits_ - state["weights"].nbytes  # of it only used rows are state
        return int(used)

    @reading
    def label_ids(self, labels: Iterable[Label]) -> NDArray[np.int64]:
        """Return the positions of labels in `classes_`, -1 for those that were never seen.

        Parameters
        ----------
        labels : iterable of int or str
            The labels.

        Returns
        -------
        ndarray of int64
            One number a label.
        """
        check_is_fitted(self)
        return self._vocabulary.ids(labels)

    def check_params(self) -> None:
        """Raise if a parameter is not what it should be, as learning would."""
        self._validate_params()

    def _validate_changes(self) -> None:
        """Check the parameters, unless they are those that were checked last."""
        values = [getattr(self, name) for name in self._get_param_names()]
        last = self.__dict__.get("_validated")
        if last is None or not all(map(operator.is_, values, last)):
            self._validate_params()
            self._validated = values

    def _require_learning(self) -> None:
        if getattr(self, "compiled_", False):
            raise ValueError(
                "this model was compiled for prediction; go on learning with the one it was made "
                "from"
            )

    def _check(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Batch:
        """Check everything about a batch."""
        targets = Targets.parse(y)
        rows = number_of_rows(X)
        if len(targets) != rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {rows} rows, "
                f"y has {len(targets)}"
            )
        if targets.multilabel and not self._takes_sets:
            raise ValueError(
                f"y gives labels as {FORMS[targets.kind]}, expected one a row; for sets of labels "
                "use LabelTreeClassifier, ProbabilityTreeClassifier, LdSMClassifier or "
                "OneAgainstAllClassifier"
            )
        if not reset:
            self._require_form(targets)
        as_threads(self.n_jobs)  # refused here, before anything is changed
        self._learning_threads()
        weight = as_weights(sample_weight, rows)
        checked = as_rows(self, X, reset=reset)
        return Batch(checked, as_matrix(checked), targets, weight)

    def _start(self, batch: Batch, *, streaming: bool) -> None:
        """Begin with no knowledge, for data like `batch`."""
        survey = BatchSurvey(batch, streaming=streaming)
        self._start_with(survey, batch.targets.kind, streaming=streaming)
        if streaming and self._expects_more:
            self._learner.begin_pass(again=False, more=True)

    def _start_with(self, survey: Survey, kind: Kind, *, streaming: bool) -> None:
        """Settle what data decide, and make a learner that knows nothing."""
        self._fixed = {
            name: value for name, value in self.get_params().items() if name not in self._changeable
        }
        self._kind = kind
        self._settle(survey, streaming=streaming)
        self._vocabulary = Vocabulary()
        self.compiled_ = False
        self._take(self._make_learner())
        self._progress = Progress()

    def _add_labels(self, labels: Sequence[Label]) -> None:
        """Make room for the labels that are not there yet; all of them, or none if that fails."""
        self._vocabulary.add(labels, self._learner.add_labels)

    def _learning_threads(self) -> int:
        """Return how many threads may learn."""
        return as_threads(self.n_jobs)

    def _learn(
        self,
        batch: Batch,
        order: NDArray[np.int64],
        *,
        record: bool,
    ) -> None:
        """Learn rows in the given order; count progressive errors if `record`."""
        targets = batch.targets
        threads = self._learning_threads()
        ids = targets.ids(self._vocabulary)
        predicted = np.full(len(order), NO_LABEL) if record else None
        probability = None
        if record and self._estimates_probabilities and not self.multilabel_:
            probability = np.zeros(len(order), dtype=np.float32)
        examples, progress = self._learner.examples, self._progress

        def count() -> None:
            learned = slice(self._learner.examples - examples)
            if predicted is not None and self._progress is progress:
                self._count(batch, ids, order[learned], predicted[learned], probability)

        try:
            self._learner.learn(
                batch.matrix,
                _core.LabelSets(targets.offset, ids),
                batch.weight,
                order,
                threads,
                predicted,
                probability,
            )
            count()
        except MemoryError:
            self._lock.condemn(
                "memory ran out while this model learned a row, and it may have learned half of "
                "it; load the file that was saved last, or fit it anew"
            )
            raise
        except BaseException:  # as of Ctrl-C, between two examples, or while they were counted
            count()
            raise

    def _count(
        self,
        batch: Batch,
        ids: NDArray[np.uint32],
        rows: NDArray[np.int64],
        predicted: NDArray[np.uint32],
        probability: NDArray[np.float32] | None,
    ) -> None:
        """Count how rows were predicted before they were learned, or passed over: all or none."""
        old = self._progress
        progress = replace(old, checkpoints=[*old.checkpoints])
        probability = None if probability is None else probability[: len(rows)]
        if batch.weight is not None:
            counted = batch.weight[rows] > 0
            progress.pass_over(batch.targets.wrong(ids, rows[~counted], predicted[~counted]))
            rows, predicted = rows[counted], predicted[counted]
            probability = None if probability is None else probability[counted]
        progress.add(batch.targets.wrong(ids, rows, predicted), probability)
        self._progress = progress

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = self._takes_sets
        return tags
