"""
The compiled core of labeltree. Private: use the classes and functions of labeltree.
"""

from collections.abc import Callable, Sequence
import enum
from typing import Annotated, Any, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


@overload
def check_compressed(indptr: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, cols: int) -> bool:
    """
    Whether the indices of each row rise; raises ValueError if arrays do not fit together.
    """

@overload
def check_compressed(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: int, cols: int) -> bool: ...

class Matrix:
    """Checked rows of features, borrowed from numpy arrays."""

    @staticmethod
    def sparse(indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: int) -> Matrix: ...

    @overload
    @staticmethod
    def row(indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: int) -> Matrix: ...

    @overload
    @staticmethod
    def row(indices: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], cols: int) -> Matrix: ...

    @staticmethod
    def dense(values: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Matrix: ...

    def number(self, numbers: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Tell which rows of the data these are."""

    @property
    def rows(self) -> int: ...

    @property
    def cols(self) -> int: ...

class LabelSets:
    """Checked label ids of each row."""

    def __init__(self, offset: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], id: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def rows(self) -> int: ...

def has_unit_rows(X: Matrix) -> bool:
    """Whether all rows that are not empty have length one, to one percent."""

def count_features(X: Matrix) -> int:
    """How many features sparse rows have between them."""

def count_pairs(X: Matrix, y: LabelSets, labels: int) -> int:
    """How many pairs of a feature and a label meet in a row; of sparse rows."""

class Loss(enum.Enum):
    logistic = 0

    squared = 1

    hinge = 2

class Update(enum.Enum):
    adaptive = 0

    sgd = 1

    dual = 2

class Scale(enum.Enum):
    max = 0

    none = 1

    unit = 2

    idf = 3

class Layout(enum.Enum):
    dense = 0

    lines = 1

    hashed = 2

class Rule:
    """How a linear model learns."""

    def __init__(self, *, loss: Loss, update: Update, step: float, power: float, min_gradient: float, C: float = 1.0) -> None: ...

class BankParams:
    """Settings of a bank of linear models."""

    def __init__(self, *, scale: Scale, layout: Layout, bits: int, features: int, frozen: bool = False, gradient_sums: bool = True) -> None: ...

class Bank:
    """A bank of linear models on the same features."""

    def __init__(self, params: BankParams) -> None: ...

    def resize(self, models: int) -> None: ...

    def learn(self, model: int, X: Matrix, y: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], rule: Rule) -> NDArray[numpy.float32]:
        """
        Learn the rows in order; return the prediction made just before each update.
        """

    def predict(self, model: int, X: Matrix) -> NDArray[numpy.float32]: ...

    def zero(self, model: int) -> None: ...

    def copy(self, source: int, target: int) -> None: ...

    def state(self, keep: float | None = None) -> dict[str, Any]: ...

    def restore(self, state: dict[str, Any], borrow: bool = False) -> None: ...

class Learner:
    """What all learners share."""

    @overload
    def add_labels(self, table: LabelTable, labels: list[Any]) -> None:
        """
        Give labels the next ids in a table and make room for them: all or none of it.
        """

    @overload
    def add_labels(self, ids: dict[Any, int], labels: list[Any]) -> None:
        """
        Give labels the next ids in a dict and make room for them: all or none of it.
        """

    def changed_weights(self, base: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], lane: int, has_sums: bool, write: Callable[[Any, Any], None]) -> None:
        """
        Give write the numbers and values of the rows of weights that are not those of the table it went on from, in rising order and several times: also where none changed, so that what was read of the table may leave memory.
        """

    def put_weights(self, rows: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], lane: int, has_sums: bool) -> None:
        """Put rows, numbers and values, into the table of weights."""

    def exchange_weights(self, other: Learner) -> None:
        """
        Take the weights of a learner with the same parameters, and give it one's own.
        """

    def resize(self, labels: int) -> None: ...

    def share_lock(self, lock: Lock) -> None:
        """Take another lock from now on; nobody may hold the one it has."""

    def begin_pass(self, again: bool, rows: int = 0, more: bool = False) -> None: ...

    def look_ahead(self, X: Matrix, weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None:
        """
        Note the features of rows that will be learned, where rows are weighed by them.
        """

    @property
    def labels(self) -> int: ...

    @property
    def learned_labels(self) -> int: ...

    @property
    def examples(self) -> int: ...

    def learn(self, X: Matrix, y: LabelSets, weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int, predicted: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu')] | None, probability: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')] | None = None) -> None: ...

    def state(self, keep: float | None = None, weights: bool = True) -> dict[str, Any]:
        """
        The whole state, or one with an empty table of weights; with `keep`, what a frozen learner restores, for prediction only, with the weights that make up this share of what all of them matter.
        """

    def restore(self, state: dict[str, Any], borrow: bool = False) -> None:
        """
        With `borrow`, a frozen learner uses the memory of large arrays without a copy.
        """

class LabelTable:
    """Labels, all integers or all texts, and their ids."""

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, labels: list[Any]) -> None: ...

    def __len__(self) -> int: ...

    def takes(self, labels: list[Any]) -> bool:
        """Whether labels are of the table's kind."""

    def ids(self, labels: list[Any]) -> NDArray[numpy.int64]:
        """The ids of labels, -1 for those that are not there."""

    def pick(self, ids: Sequence[int]) -> list[Any]:
        """The labels with these ids."""

    def tolist(self) -> list[Any]:
        """All labels, in the order of their ids."""

    def without(self, ids: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> LabelTable:
        """A table without some of the labels."""

    def copy(self) -> LabelTable: ...

    def arrays(self) -> dict[str, Any]:
        """The labels as a model file has them; nothing, if there are none."""

    @property
    def nbytes(self) -> int: ...

class LdsmUpdate(enum.Enum):
    plain = 0

    nag = 1

class LdsmPriority(enum.Enum):
    rows = 0

    labels = 1

class LeafShares(enum.Enum):
    rows = 0

    labels = 1

class LdsmForest(Learner):
    """LdSM: trees over label sets."""

    def __init__(self, params: BankParams, *, arity: int, lambda1: float, lambda2: float, trees: int, max_nodes: int, epochs: int, min_leaf: int, min_feature_rows: int, max_share: float, step: float, idf: float, top_labels: int, split_rows: int, recent_rows: int, seed: int, first_tree: int = 0, update: LdsmUpdate = LdsmUpdate.plain, reorder: bool = True, priority: LdsmPriority = LdsmPriority.rows, empty_children: bool = True, leaf_shares: LeafShares = LeafShares.rows) -> None: ...

    def fit(self, X: Matrix, y: LabelSets, weight: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> None: ...

    def predict_topk(self, X: Matrix, k: int, threads: int) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float32]]: ...

    def predict_row(self, X: Matrix, k: int) -> tuple[list[int], list[float]]: ...

    def predict_above(self, X: Matrix, threshold: float, threads: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint32]]: ...

    def view(self) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.float64], NDArray[numpy.uint32]]:
        """The parent, label, weight and number of labels of each node."""

    def path(self, X: Matrix, row: int) -> list[int]: ...

class LockUse:
    """Holds a lock in a with statement."""

    def __enter__(self) -> None: ...

    def __exit__(self, arg0: object | None, arg1: object | None, arg2: object | None, /) -> None: ...

class Lock:
    """Many threads read a model, or one changes it, in turn."""

    def __init__(self) -> None: ...

    @property
    def reading(self) -> LockUse: ...

    @property
    def changing(self) -> LockUse: ...

    def condemn(self, why: str) -> None:
        """Let nobody have it from now on."""

    @property
    def condemned(self) -> bool: ...

class OneAgainstAll(Learner):
    """One linear model per label."""

    def __init__(self, params: BankParams, rule: Rule) -> None: ...

    def predict_topk(self, X: Matrix, k: int, threads: int, with_total: bool) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float32], NDArray[numpy.float64]]: ...

    def predict_margins(self, X: Matrix, threads: int) -> NDArray[numpy.float32]: ...

    def predict_above(self, X: Matrix, threshold: float, threads: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.uint32]]: ...

def changed_rows(table: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], base: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], lane: int, has_sums: bool) -> tuple[NDArray[numpy.uint64], NDArray[numpy.float32]]:
    """
    The rows of a table of weights that are not those of the one it went on from.
    """

def with_rows(base: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], changed: Sequence[tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], lane: int, has_sums: bool) -> tuple[NDArray[numpy.uint64], NDArray[numpy.float32]]:
    """A table with the rows of others put into it."""

def merged_moves(changed: Sequence[tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], base: tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]], lane: int, has_sums: bool) -> tuple[NDArray[numpy.uint64], NDArray[numpy.float32]]:
    """
    The rows that changed in any of several tables that went on from one, merged.
    """

def averaged_rows(tables: Sequence[tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]]], share: Sequence[float], lane: int, has_sums: bool) -> tuple[NDArray[numpy.uint64], NDArray[numpy.float32]]:
    """The average of tables that were trained apart."""

def pack_ascending(numbers: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.uint8]:
    """Rising numbers as bytes."""

def unpack_ascending(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.uint64]:
    """The numbers that pack_ascending was given."""

def pack_nonzero(numbers: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.uint8], NDArray[numpy.float32]]:
    """Which numbers are not zero, a bit each, and these numbers."""

def unpack_nonzero(bits: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], size: int) -> NDArray[numpy.float32]:
    """The numbers that pack_nonzero was given, which were so many."""

class ReaderLimits:
    def __init__(self, batch_rows: int, max_line: int, skip_bad_lines: bool) -> None: ...

class NgramOptions:
    def __init__(self, word_ngrams: int, char_ngrams: tuple[int, int], lowercase: bool, hash_bits: int) -> None: ...

class FeatureNames:
    """The first name of each of the first `limit` hashed features met."""

    def __init__(self, limit: int = 1000000) -> None: ...

    @property
    def limit(self) -> int: ...

    def __len__(self) -> int: ...

    def extend(self, indices: numpy.typing.NDArray[numpy.uint32], names: numpy.typing.NDArray[numpy.uint8]) -> None:
        """Add what `arrays` returned."""

    def arrays(self) -> tuple[numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.uint8]]:
        """
        The features as they were met, and their names in UTF-8, each ended by a newline.
        """

    def to_dict(self) -> dict[int, str]:
        """The names by the features' indices."""

class TextReader:
    @staticmethod
    def svmlight(limits: ReaderLimits, n_features: int | None) -> TextReader: ...

    @staticmethod
    def xmc(limits: ReaderLimits, n_features: int | None) -> TextReader: ...

    @staticmethod
    def vw(limits: ReaderLimits, hash_bits: int, names: FeatureNames | None) -> TextReader: ...

    @staticmethod
    def tsv(limits: ReaderLimits, label_separator: str | None) -> TextReader: ...

    @staticmethod
    def fasttext(limits: ReaderLimits, label_prefix: str) -> TextReader: ...

    @staticmethod
    def annif(limits: ReaderLimits) -> TextReader: ...

    @staticmethod
    def plain(limits: ReaderLimits) -> TextReader: ...

    def start_file(self) -> None: ...

    def feed(self, data: bytes | bytearray | memoryview, start: int = 0) -> int:
        """
        Parse from `start`; returns where parsing stopped: at the end, or earlier if the batch is full or a line is bad.
        """

    def finish_file(self, cut: bool = False) -> None:
        """
        Parse the last line, and check what only the end of a file tells; one that may be cut can have fewer rows than it announces.
        """

    @property
    def missing(self) -> int:
        """How many more rows the file has announced than it has had."""

    def take(self) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float32], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float32]]:
        """
        The finished rows: row offsets, indices, values, label offsets, label ids, weights.
        """

    def take_texts(self) -> tuple[numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float32]]:
        """
        The finished rows of a format of text: text, its offsets, label offsets, label ids, weights.
        """

    def new_labels(self, start: int) -> list[int | str]:
        """The labels with ids from `start` up."""

    def forget_labels(self) -> None:
        """Let ids begin anew with the next row; all rows must have been taken."""

    def take_bad_lines(self) -> list[tuple[int, str]]: ...

    @property
    def error(self) -> tuple[int, str] | None:
        """
        The line, 0 for the whole file, and the message, once reading had to stop.
        """

    @property
    def rows(self) -> int: ...

    @property
    def full(self) -> bool: ...

    @property
    def lines(self) -> int: ...

    @property
    def bad_count(self) -> int: ...

    @property
    def n_features(self) -> int: ...

class TextFeatures:
    """Text to weighted rows."""

    def __init__(self, options: NgramOptions, idf: bool) -> None: ...

    def rows(self, data: bytes | bytearray | memoryview | numpy.typing.NDArray[Any], offsets: numpy.typing.NDArray[numpy.int64], counted: numpy.typing.NDArray[numpy.uint8] | None = None, names: FeatureNames | None = None) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.float32]]:
        """
        The CSR rows of texts that lie one after the other; those marked are counted.
        """

    def forget(self, data: bytes | bytearray | memoryview | numpy.typing.NDArray[Any], offsets: numpy.typing.NDArray[numpy.int64]) -> None:
        """Take texts that were counted out of the counts again."""

    @property
    def documents(self) -> int: ...

    def counts(self) -> tuple[numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.uint32]]:
        """
        The places of features that were counted, and in how many documents they were.
        """

    def add_counts(self, documents: int, places: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """Add what `counts` returned."""

class TreeLearner(Learner):
    """What all tree learners share."""

    def predict_topk(self, X: Matrix, k: int, threads: int) -> tuple[NDArray[numpy.uint32], NDArray[numpy.float32]]: ...

    def predict_row(self, X: Matrix, k: int) -> tuple[list[int], list[float]]: ...

    def predict_all(self, X: Matrix, threads: int) -> NDArray[numpy.float32]:
        """The probability of every label, of trees that know it."""

    def view(self) -> tuple[NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.float64], NDArray[numpy.uint32]]:
        """The parent, label, weight and number of labels of each node."""

    def path(self, X: Matrix, row: int) -> list[int]: ...

class TreeShape(enum.Enum):
    online = 0

    random = 1

    balanced = 2

class Estimates(enum.Enum):
    shares = 0

    clipped = 1

    formula = 2

class ProbabilityTree(TreeLearner):
    """Conditional probability tree."""

    def __init__(self, params: BankParams, rule: Rule, *, shape: TreeShape, alpha: float, arity: int, search_budget: int, copy_leaves: bool, seed: int, greedy: bool = False, filter: bool = False, estimates: Estimates = Estimates.shares) -> None: ...

    def label_probability(self, X: Matrix, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]: ...

class LabelTree(TreeLearner):
    """Trees, an index and scorers."""

    def __init__(self, params: BankParams, tree: Rule, scorer: Rule, *, trees: int, tree_candidates: int, beam: int, improbable: float, alpha: float, tree_weight: float, index_length: int, index_candidates: int, index_weight: float, hopeless: float, scorers: bool, exclusive: bool, seed: int, slope: float = 1.0, shift: float = 0.0, calibrated: bool = False, replay: int = 0, regrow: bool = False, stamps: bool = False) -> None: ...

    @staticmethod
    def inner_nodes(labels: int) -> int: ...

    def organize(self, X: Matrix, y: LabelSets) -> None: ...

    def forget(self, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], keep_ids: bool, then: Callable[[], object]) -> None:
        """
        Forget labels, and call `then`, a native function, before anything else can happen. The ids of others move up, unless they are kept.
        """

    @property
    def grown_bytes(self) -> int: ...

    def longest_unseen(self, n: int, without: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.uint32]:
        """The n labels longest unseen, without some."""

    def set_shards(self, shards: int) -> None:
        """By the dual update, learn rows as one of so many shards."""

    def rows_state(self) -> dict[str, Any]:
        """What is known of the rows that come again."""

    def restore_rows(self, state: dict[str, Any]) -> None:
        """Go on with what was known of the rows, after `restore`."""

    def label_probability(self, X: Matrix, labels: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> NDArray[numpy.float32]: ...

    @property
    def recall(self) -> float: ...

class LomTree(TreeLearner):
    """The LOMtree."""

    def __init__(self, params: BankParams, rule: Rule, *, max_nodes: int, swap_resistance: float) -> None: ...

    @property
    def nodes(self) -> int: ...

    def splits(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...

    @property
    def most_recycled(self) -> int: ...

class StopRule(enum.Enum):
    bernstein = 0

    fit = 1

class PathFeatures(enum.Enum):
    path = 0

    node = 1

    none = 2

class Importance(enum.Enum):
    total = 0

    average = 1

    equal = 2

class RecallTree(TreeLearner):
    """The Recall Tree."""

    def __init__(self, params: BankParams, router: Rule, scorer: Rule, *, candidates: int, max_depth: int, max_nodes: int, trees: int, bound: float, stop: StopRule, fill: bool, always_train: bool, randomized: bool, seed: int, path_features: PathFeatures, importance: Importance = Importance.total, recount: bool = False) -> None: ...

    @property
    def nodes(self) -> int: ...

    @property
    def candidate_count(self) -> int: ...

    def recall_bounds(self) -> NDArray[numpy.float64]:
        """The lower bound on each node's recall."""
