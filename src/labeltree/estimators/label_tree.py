"""labeltree's own learner."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.estimators.forgetting import ForgettingClassifier
from labeltree.estimators.locking import reading
from labeltree.estimators.prediction import NO_LABEL
from labeltree.estimators.probabilities import BEST, full_table
from labeltree.estimators.sharding import ShardedClassifier, identity
from labeltree.estimators.survey import Batch, Survey
from labeltree.merging import learners
from labeltree.merging.shards import Shards
from labeltree.merging.weighttable import State
from labeltree.parameters import Interval, StrOptions
from labeltree.validation import as_threads

_SLOPE, _SHIFT = 3.5, 0.9  # from margins of the dual update to log-odds; on hold-outs of three sets
_DENIED = 4.0  # log-odds against labels that a tree never saw, but got from another model
_MANY = 10  # labels of a row, on average, from which probabilities rank better than margins


def _bits_in_use(survey: Survey, trees: int, most: int) -> int:
    """Return how large a hashed table must be for the weights that the rows will use, up to `most`.

    A feature that occurs with a label has weights at the nodes above its leaves and in its scorer.
    """
    pairs = survey.pairs
    if pairs is None:  # too many to count
        return most
    lines = max(1, pairs) * (1 + trees * np.log2(survey.n_labels + 1) / 3)
    return int(np.clip(np.ceil(np.log2(8 * 1.5 * lines)), 16, most))


class LabelTreeClassifier(ShardedClassifier, ForgettingClassifier):
    """Trees and an index propose a few labels, one scorer a label decides among them.

    The most probable labels of `n_trees` probability trees, and the labels whose rows share most
    words with the example, are its candidates. A candidate's score is the trees' log-odds, its
    similarity, and the prediction of its own linear model, which learns what these leave
    unexplained. Only the models of candidates learn, so that an example costs a few paths and a
    few dozen models whatever the number of labels. Rows may have one label or a set of labels; a
    row without labels is skipped. Probabilities are calibrated: each row is predicted before it is
    learned, and how often such predictions were right corrects later ones.

    `partial_fit` grows the trees label by label, and from time to time anew. `fit` knows all rows
    beforehand and first puts labels beside those they resemble, by balanced clustering; the
    progressive validation of its first pass is made with such trees. In later passes trees beside
    an index learn no more.

    Parameters
    ----------
    n_trees : int, default=None
        Trees whose candidates are united; None takes 3, or 1 beside an index, for label sets of
        sparse rows with the dual update, and for sets of more than ten labels on average.
    candidates : int, default=None
        Labels that each tree proposes. None takes 10, or with the dual update four for each label
        that rows have on average, at least 16; for larger sets without an index one for each,
        at least 16.
    beam : int, default=None
        Nodes that the search for them expands on each level of a tree, at most; as many as the
        labels asked for, if these are more. None takes as many as `candidates`. Those a
        thirtieth as probable as the best are left out if there are labels enough without them.
    alpha : float, default=0.8
        How much balance counts when a new label is placed, as for `ProbabilityTreeClassifier`.
    index_length : int, default=None
        How many labels the index keeps for each feature: those it is most typical of. 0 stands
        for no index; None takes 256 for sparse rows of unit length (tf-idf), and 0 for others, and
        for label sets with the dual update.
    index_candidates : int, default=15
        Labels that the index proposes: those whose rows are most similar.
    scorers : bool, default=True
        Whether labels have scorers. Without them, trees and index decide.
    organize : bool, default=True
        Whether labels are put beside those they resemble: by `fit` before it learns, and in a
        stream without an index, from the rows that `replay` keeps, whenever labels have doubled,
        or rows are four times as many. Needs `replay` there, and the adaptive update.
    update : {"auto", "adaptive", "dual"}, default="auto"
        How trees and scorers learn. "adaptive": by the gradient of a probability that all of them
        make up together, good from the first example on. "dual": each model by exact steps of its
        own problem, as a batch solver's; it takes three passes or more. "auto" is "dual" for label
        sets whose rows come in several passes and have ten labels on average at most, else
        "adaptive".
    C : float, default=0.3
        With the dual update, how much the loss counts beside the size of the weights, for rows of
        unit length.
    step : float, default=None
        Size of the steps of the trees; None takes 1.5 for sparse rows of one label each, and 0.4
        for others.
    scorer_step : float, default=None
        Size of the steps of the scorers; None takes 0.5 for rows of one label each, 0.3 for sets
        on sparse rows of unit length, whose steps are plain, and 0.1 for other sets.
    threshold : float, default=0.5
        Labels of a set are predicted from this probability on.
    replay : int, default=64
        Megabytes for rows of a stream that are learned again: after each new row two that came
        before, any of them, which takes about twice the time and gains precision. They are saved
        with the model, so that it can go on; `compile` leaves them out. 0 keeps no rows. `fit`,
        and several passes that were announced, learn all rows again anyway, and keep none.
    max_labels : int, default=None
        How many labels `partial_fit` holds at most: before a row that would bring more, an eighth
        of them is forgotten, those longest unseen. `fit` refuses more. None sets no bound.
    max_memory : float, default=None
        Megabytes, counted by an estimate, for what grows with labels and rows: labels, trees,
        index, the rows of `replay`, and weights, unless they are in a hashed table, whose size is
        `bits`. Whenever 256 rows were learned by `partial_fit`, labels longest unseen are
        forgotten, an eighth at a time, until there is room. Must be more than `replay`. `fit`
        keeps all labels. None sets no bound.
    scale
        As for `OneAgainstAllClassifier`.
    layout, bits
        As for `OneAgainstAllClassifier`, but for `fit` tables have eight times as many weights, at
        most 2 ** 26, and of sparse rows no more than they are likely to use; twice as many, of
        half the size, with the dual update. The weights of trees and scorers must fit into one, of
        sparse rows into two, to be kept without hashing.
    min_gradient : float, default=0.03
        Neither tree nor scorer learns from examples on which its loss has a smaller slope. 0
        learns from every example.
    passes : int, default=None
        How often `fit` goes through the rows. None takes 3, or 5 with the dual update, whose later
        passes cost little.
    shuffle, random_state
        As for `OneAgainstAllClassifier`.
    n_jobs : int, default=None
        Number of threads that predict, -1 for all processors. The answers do not depend on it.
    learn_jobs : int, default=1
        Threads that learn, each an example of its own; -1 takes all processors. Weights are then
        written without locks: it is faster, and no two runs give quite the same model.

    Attributes
    ----------
    classes_, n_labels_, progress_
        As for `OneAgainstAllClassifier`.
    tree_ : Tree
        The trees as they are now, one after the other.
    recall_ : float
        The share of labels that were among the candidates before their example was learned.

    Examples
    --------
    >>> from labeltree import LabelTreeClassifier
    >>> from labeltree.datasets import make_multiclass
    >>> X, y = make_multiclass(3000, 100)
    >>> clf = LabelTreeClassifier(random_state=0).fit(X[:2500], y[:2500])
    >>> clf.score(X[2500:], y[2500:]) > 0.9
    True
    >>> labels, probabilities = clf.predict_topk(X[2500:], k=3)
    >>> labels.shape
    (500, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ForgettingClassifier._parameter_constraints,
        "n_trees": [Interval(Integral, 1, 1000, closed="both"), None],
        "candidates": [Interval(Integral, 1, 2**20, closed="both"), None],
        "beam": [Interval(Integral, 1, 2**20, closed="both"), None],
        "alpha": [Interval(Real, 0, 1, closed="both")],
        "index_length": [Interval(Integral, 0, 2**20, closed="both"), None],
        "index_candidates": [Interval(Integral, 1, 2**20, closed="both")],
        "scorers": ["boolean"],
        "organize": ["boolean"],
        "passes": [Interval(Integral, 1, None, closed="left"), None],
        "update": [StrOptions({"auto", "adaptive", "dual"})],
        "C": [Interval(Real, 0, None, closed="neither")],
        "scorer_step": [Interval(Real, 0, None, closed="neither"), None],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "replay": [Interval(Integral, 0, 2**20, closed="both")],
        "learn_jobs": [Integral],
    }
    _settled: ClassVar[tuple[str, ...]] = (
        *ForgettingClassifier._settled,
        "index_length_",
        "candidates_",
        "n_trees_",
        "scorer_step_",
        "scorer_update_",
        "calibrated_",
    )
    _absent_before: ClassVar[dict[str, Any]] = {
        "update": "adaptive",
        "C": 0.3,
        "candidates_": 10,
        "calibrated_": False,
        "replay": 0,
        "max_labels": None,
        "max_memory": None,
    }
    _changeable: ClassVar[tuple[str, ...]] = (
        *ForgettingClassifier._changeable,
        "threshold",
        "learn_jobs",
    )
    _takes_sets: ClassVar[bool] = True
    _united: ClassVar[tuple[str, ...]] = ("n_trees_", "candidates_")
    _steps: ClassVar[dict[str, float]] = {"sparse": 1.5, "sparse sets": 0.4, "dense": 0.4}

    index_length_: int
    candidates_: int
    n_trees_: int
    scorer_step_: float
    scorer_update_: str
    calibrated_: bool

    def __init__(
        self,
        *,
        n_trees: int | None = None,
        candidates: int | None = None,
        beam: int | None = None,
        alpha: float = 0.8,
        index_length: int | None = None,
        index_candidates: int = 15,
        scorers: bool = True,
        organize: bool = True,
        update: Literal["auto", "adaptive", "dual"] = "auto",
        C: float = 0.3,
        step: float | None = None,
        scorer_step: float | None = None,
        threshold: float = 0.5,
        replay: int = 64,
        max_labels: int | None = None,
        max_memory: float | None = None,
        scale: Literal["auto", "max", "none", "unit", "idf"] = "auto",
        layout: Literal["auto", "dense", "hashed"] = "auto",
        bits: int | None = None,
        min_gradient: float = 0.03,
        passes: int | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        learn_jobs: int = 1,
    ) -> None:
        self.n_trees = n_trees
        self.candidates = candidates
        self.beam = beam
        self.alpha = alpha
        self.index_length = index_length
        self.index_candidates = index_candidates
        self.scorers = scorers
        self.organize = organize
        self.update = update
        self.C = C
        self.step = step
        self.scorer_step = scorer_step
        self.threshold = threshold
        self.replay = replay
        self.max_labels = max_labels
        self.max_memory = max_memory
        self.scale = scale
        self.layout = layout
        self.bits = bits
        self.min_gradient = min_gradient
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.learn_jobs = learn_jobs

    def _settle(self, survey: Survey, *, streaming: bool) -> None:
        super()._settle(survey, streaming=streaming)
        sparse, sets = survey.is_sparse, survey.multilabel
        each = survey.labels_of_a_row
        several = self.update == "auto" and sets and self._expects_more
        many = sets and each > _MANY
        dual = self.update == "dual" or (several and not many)
        if dual:
            self._settle_rows(survey)
        words = sparse and self.scale_ != "max"
        if self.bits is None and streaming and dual:
            self.bits_ += 1  # of half the size without sums
        if self.bits is None and not streaming:  # trees have several models a label
            self.bits_ = min(26 + dual, self.bits_ + 3 + dual)
        alone = dual and sets and words  # one tree proposes as well as with an index, in less time
        default_length = 256 if words and not alone else 0
        self.index_length_ = default_length if self.index_length is None else self.index_length
        self.n_trees_ = self.n_trees or (1 if self.index_length_ or alone or many else 3)
        n_labels = survey.n_labels
        models = n_labels + 8 * self.n_trees_ * _core.LabelTree.inner_nodes(n_labels)
        room = 0 if streaming else 2**self.bits_
        if self.bits is None and not streaming and sparse:
            self.bits_ = min(self.bits_, _bits_in_use(survey, self.n_trees_, 26 + dual))
            room = min(room, 2 * 2**self.bits_)  # to touch much memory takes more than to hash
        self._settle_lines(survey, models, room)
        self.scorer_update_ = "dual" if dual else "sgd" if words and sets else "adaptive"
        self.candidates_ = self.candidates or 10
        if self.candidates is None and (dual or (many and not self.index_length_)):
            self.candidates_ = int(np.clip(np.ceil((4 if dual else 1) * each), 16, 1000))
        self.calibrated_ = True
        self.scorer_step_ = self.scorer_step or (0.5 if not sets else 0.3 if words else 0.1)

    def _make_learner(self) -> _core.LabelTree:
        fixed = self._fixed
        return _core.LabelTree(
            self._bank_params(),
            self._rule(self.step_),
            self._rule(self.scorer_step_, update=self.scorer_update_),
            trees=self.n_trees_,
            tree_candidates=self.candidates_,
            beam=fixed["beam"] or self.candidates_,
            improbable=1 / 30,
            alpha=fixed["alpha"],
            tree_weight=self._tree_weight(),
            index_length=self.index_length_,
            index_candidates=fixed["index_candidates"],
            index_weight=self._index_weight(),
            slope=_SLOPE if self.scorer_update_ == "dual" else 1.0,
            shift=_SHIFT if self.scorer_update_ == "dual" else 0.0,
            hopeless=np.inf if self.multilabel_ else 8.0,
            scorers=fixed["scorers"],
            exclusive=not self.multilabel_,
            calibrated=self.calibrated_,
            replay=fixed["replay"] * 2**20,
            regrow=fixed["organize"],
            stamps=self._bounded and not self.compiled_,
            seed=self.seed_,
        )

    def _merge_states(self, shards: Shards) -> State:
        sure = _DENIED / (_SLOPE if self.scorer_update_ == "dual" else 1.0)
        return learners.label_tree(shards, self.index_length_, sure)

    def _unite(self, models: Sequence[Self], state: State) -> None:
        self.n_trees_ = len(learners.choice_trees(state))
        self.candidates_ = max(model.candidates_ for model in models)

    def _tree_weight(self) -> float:
        """Return how far the trees' log-odds are trusted; nothing else decides if it is alone."""
        if not self._fixed["scorers"] and not self.index_length_:
            return 1.0
        if self.scorer_update_ == "dual":
            return 0.1
        return 0.7 if self.multilabel_ else 0.5

    def _index_weight(self) -> float:
        if self.scorer_update_ == "dual":
            return 0.0  # the index proposes, and decides nothing
        return 4.0 if self.multilabel_ else 10.0

    def _keeps_gradient_sums(self) -> bool:
        return self.scorer_update_ != "dual"

    def _learning_threads(self) -> int:
        return as_threads(self.learn_jobs, "learn_jobs")

    def _passes(self) -> int:
        return self.passes or (5 if self.scorer_update_ == "dual" else 3)

    def _look_ahead(self, batch: Batch) -> None:
        super()._look_ahead(batch)
        if self._fixed["organize"]:
            ids, offset = batch.targets.ids(self._vocabulary), batch.targets.offset
            if batch.weight is not None:  # rows of weight 0 are left out
                sizes, counted = np.diff(offset), batch.weight > 0
                ids = ids[np.repeat(counted, sizes)]
                offset = np.concatenate([[0], np.cumsum(sizes * counted)])
            self._learner.organize(batch.matrix, _core.LabelSets(offset, ids))

    def _organize_sums(self, sums: _core.Matrix, labels: int) -> None:
        if self._fixed["organize"]:
            self._learner.look_ahead(sums, None)
            self._learner.organize(sums, identity(labels))

    def _seed(self) -> int:
        return self.seed_

    @property
    @reading
    def recall_(self) -> float:
        """The share of labels that were candidates before their example was learned."""
        return float(self._learner.recall)

    @reading
    def predict_proba(self, X: Any, *, sparse: bool = False) -> NDArray[np.float32] | sp.csr_matrix:
        """Return the probability of every label.

        The 100 best labels of a row have the probabilities that `predict_topk` gives them. For
        single labels all others share what these leave, alike; for label sets they have none.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        sparse : bool
            Whether to return a CSR matrix of the 100 best labels of each row, as `predict_topk`
            finds them, instead of a table of all.

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_classes)
            Columns in the order of `classes_`; 0 for labels never learned. For single labels
            each row of the table sums to 1; for label sets each label has a probability of its
            own.
        """
        matrix = self._matrix(X)
        return self._best_probabilities(matrix) if sparse else self._all_probabilities(matrix)

    def _all_probabilities(self, matrix: _core.Matrix) -> NDArray[np.float32]:
        ids, scores = self._topk(matrix, min(BEST, self.n_labels_))
        if self.multilabel_:
            return full_table(ids, scores, 0.0, len(self._vocabulary))
        found = ids != NO_LABEL
        left = np.maximum(0.0, 1.0 - np.where(found, scores, 0.0).sum(axis=1, dtype=np.float64))
        others = np.maximum(1, self.n_labels_ - found.sum(axis=1))
        p = full_table(ids, scores, (left / others).astype(np.float32), len(self._vocabulary))
        if self.n_labels_ < len(self._vocabulary):
            p[:, ~self._learned()] = 0.0
        return p

    def _learned(self) -> NDArray[np.bool_]:
        """Tell which labels were learned."""
        _, label, weight, _ = self._learner.view()
        learned = np.zeros(len(self._vocabulary), dtype=bool)
        learned[label[(label != NO_LABEL) & (weight > 0)]] = True
        return learned
