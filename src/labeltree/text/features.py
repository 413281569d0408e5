"""Texts to rows: words and n-grams, weighed by how rare they are among the texts seen so far."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labeltree import _core
from labeltree.conventions import Estimator, check_is_fitted
from labeltree.data.rows import build_csr
from labeltree.data.texts import Texts
from labeltree.parameters import Interval
from labeltree.scikit_learn import scikit_learn

MOST_NAMES = 1_000_000  # of features, that are kept
_COUNT_BITS = 22  # of features' numbers, by which they are counted (core/document_counts.hpp)
_MOST = 16  # words or characters in a sequence: each order adds as many features as a text has

Arrays = dict[str, NDArray[Any]]


class TextFeatures(Estimator):
    """Turns texts into sparse rows of hashed words and n-grams, weighed by tf-idf, online.

    Words are runs of letters, digits and marks, as Unicode has them, without their case;
    ``camelCase`` and ``snake_case`` are two words each. Han, kana, Thai and other scripts without
    spaces give pairs of characters in place of words.

    A feature that is n times in a text, and was in df of the N texts counted so far, weighs
    ``(1 + ln n) (ln((1 + N) / (1 + df)) + 1)``; rows are then scaled to unit length. Sequences of
    words that no two texts had are left out. `transform` never counts. Counts take 16 MB at most,
    however many features there are.

    Parameters
    ----------
    word_ngrams : int, default=2
        Sequences of 1 to so many words are features, those of several with half the weight of
        single words; 0 for none.
    char_ngrams : pair of int, default=None
        Sequences of so many characters inside words, with a space before and behind, such as
        ``(3, 5)``.
    lowercase : bool, default=True
        Whether the case of letters is taken off, as Unicode folds it.
    hash_bits : int, default=24
        There are 2 ** `hash_bits` features.
    idf : bool, default=True
        Whether rare features weigh more. Without it, weights are counts.
    keep_names : bool, default=False
        Whether to keep the names of the first million features met.

    Attributes
    ----------
    documents_ : int
        The number of texts counted; without `idf` none are.
    names_ : dict of int to str
        With `keep_names`: the names of features, by their columns.

    Examples
    --------
    >>> from labeltree import TextFeatures
    >>> features = TextFeatures().fit(["it purrs", "it barks", "it sings"])
    >>> row, names = features.named_row("It purrs!")
    >>> sorted((names[i], round(float(w), 2)) for i, w in zip(row.indices, row.data))
    [('it', 0.51), ('purrs', 0.86)]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "word_ngrams": [Interval(Integral, 0, _MOST, closed="both")],
        "char_ngrams": [tuple, list, None],
        "lowercase": ["boolean"],
        "hash_bits": [Interval(Integral, 1, 31, closed="both")],
        "idf": ["boolean"],
        "keep_names": ["boolean"],
    }

    def __init__(
        self,
        *,
        word_ngrams: int = 2,
        char_ngrams: tuple[int, int] | None = None,
        lowercase: bool = True,
        hash_bits: int = 24,
        idf: bool = True,
        keep_names: bool = False,
    ) -> None:
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.lowercase = lowercase
        self.hash_bits = hash_bits
        self.idf = idf
        self.keep_names = keep_names

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Forget everything and count the texts.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : object
            Not used.

        Returns
        -------
        self
            The transformer.
        """
        texts = Texts.of(X)
        self._start()
        self._rows(texts, np.ones(len(texts), np.uint8), self._names)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Count more texts.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : object
            Not used.

        Returns
        -------
        self
            The transformer.
        """
        texts = Texts.of(X)
        if not hasattr(self, "_core"):
            self._start()
        self._rows(texts, np.ones(len(texts), np.uint8), self._names)
        return self

    def transform(self, X: Any) -> sp.csr_matrix:
        """Return the rows of texts, weighed with what was counted; nothing is changed.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.

        Returns
        -------
        csr_matrix of shape (n_texts, 2 ** hash_bits), of float32
            The rows.
        """
        check_is_fitted(self)
        self._require_sparse_output()
        return self._rows(Texts.of(X), None)

    def fit_transform(self, X: Any, y: Any = None) -> sp.csr_matrix:
        """Forget everything, count the texts, and return their rows.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        y : object
            Not used.

        Returns
        -------
        csr_matrix of shape (n_texts, 2 ** hash_bits), of float32
            The rows.
        """
        return self.fit(X, y).transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set what `transform` returns, as pipelines do for all of their steps.

        Parameters
        ----------
        transform : str, optional
            "default"; `transform` refuses to make anything else of sparse rows.

        Returns
        -------
        self
            The transformer.
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # which `clone` copies
        return self

    def _require_sparse_output(self) -> None:
        """Raise if rows are wanted in a form in which they would fill all memory."""
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform")
        if wanted is None and "sklearn" in sys.modules:  # else nobody has set it there
            wanted = scikit_learn("").get_config()["transform_output"]
        if wanted not in (None, "default"):
            raise ValueError(
                f"the output of TextFeatures is to be {wanted!r}, expected 'default': it is a "
                f"scipy sparse matrix of {2**self.hash_bits:,} columns; call "
                "set_output(transform='default')"
            )

    def named_row(self, text: str) -> tuple[sp.csr_matrix, dict[int, str]]:
        """Return the row of one text, and what its features are called.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        row : csr_matrix
            As of `transform`.
        names : dict of int to str
            By column.
        """
        check_is_fitted(self)
        names = _core.FeatureNames()
        return self._rows(Texts.of([text]), None, names), names.to_dict()

    def learn(self, X: Any, counted: Any = None) -> sp.csr_matrix:
        """Return the rows of a stream's next texts, and count them.

        Each text is weighed with the counts of those before it, and then counted: rows do not
        depend on how a stream is cut into batches.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        counted : array of bool, optional
            Which of them to count; all by default.

        Returns
        -------
        csr_matrix of shape (n_texts, 2 ** hash_bits), of float32
            The rows.
        """
        texts = Texts.of(X)
        if not hasattr(self, "_core"):
            self._start()
        marks = np.ones(len(texts), bool) if counted is None else np.asarray(counted, bool)
        rows, names = self.learn_unnamed(texts, marks)
        self.add_names(names)
        return rows

    def learn_unnamed(
        self, X: Any, counted: NDArray[np.bool_]
    ) -> tuple[sp.csr_matrix, _core.FeatureNames | None]:
        """Do as `learn`, but leave it to `add_names` to keep the names that the texts brought.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        counted : array of bool
            Which of them to count.

        Returns
        -------
        rows : csr_matrix
            As of `learn`.
        names : FeatureNames or None
            For `add_names`.
        """
        names = _core.FeatureNames(MOST_NAMES) if self._names is not None else None
        return self._rows(Texts.of(X), counted.astype(np.uint8), names), names

    def add_names(self, names: _core.FeatureNames | None) -> None:
        """Keep names of features.

        Parameters
        ----------
        names : FeatureNames or None
            What `learn_unnamed` returned.
        """
        if names is not None and self._names is not None:
            with self._lock.changing:
                self._names.extend(*names.arrays())

    def forget(self, X: Any) -> None:
        """Take texts that were counted out of the counts again.

        Parameters
        ----------
        X : sequence of str, array, or column of pandas or Arrow
            The texts.
        """
        check_is_fitted(self)
        texts = Texts.of(X)
        with self._lock.changing:
            self._core.forget(texts.data, texts.offsets)

    def merge(self, other: TextFeatures) -> Self:
        """Add what another transformer, with the same parameters, has counted.

        Parameters
        ----------
        other : TextFeatures
            It stays as it is.

        Returns
        -------
        self
            The transformer.
        """
        mine, others = self.get_params(), other.get_params()
        if mine != others:
            name = next(name for name in mine if mine[name] != others[name])
            raise ValueError(
                f"{name} is {others[name]!r} in the other, {mine[name]!r} here: only counts of "
                "features that are made alike can be added"
            )
        check_is_fitted(other)
        if not hasattr(self, "_core"):
            self._start()
        arrays = other._arrays()
        with self._lock.changing:
            self._add(other.documents_, arrays)
        return self

    @classmethod
    def added(cls, every: Sequence[TextFeatures], base: TextFeatures | None = None) -> Self:
        """Return a transformer that has counted what several have.

        Parameters
        ----------
        every : sequence of TextFeatures
            With the same parameters. They stay as they are.
        base : TextFeatures, optional
            What all of them went on from, which counts once.

        Returns
        -------
        TextFeatures
            A new one.

        Examples
        --------
        >>> from labeltree import TextFeatures
        >>> one, two = TextFeatures().fit(["it purrs"]), TextFeatures().fit(["it barks"])
        >>> TextFeatures.added([one, two]).documents_
        2
        """
        total = cls(**every[0].get_params())
        for other in every:
            total.merge(other)
        if base is None or not base.documents_:
            return total
        arrays, known = total._arrays(), base._arrays()
        often = len(every) - 1
        place = np.searchsorted(arrays["places"], known["places"])
        arrays["counts"] = arrays["counts"].copy()
        arrays["counts"][place] -= (often * known["counts"]).astype(np.uint32)
        counted = cls(**every[0].get_params())
        counted._start()
        counted._add(total.documents_ - often * base.documents_, arrays)
        return counted

    @property
    def documents_(self) -> int:
        """The number of texts counted; without `idf` none are."""
        check_is_fitted(self)
        return int(self._core.documents)

    @property
    def features_seen_(self) -> int | None:
        """How many features the counted texts had, 4,194,304 at most; None without `idf`."""
        check_is_fitted(self)
        counts = self._arrays().get("counts")
        return int(np.count_nonzero(counts)) if self.idf and counts is not None else None

    def document_counts(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return in how many texts features were.

        Parameters
        ----------
        columns : array of int
            The features, in the order in which they were met. Of those that share a count, as there
            are more of them than counts, the first has it and the others zero.

        Returns
        -------
        array of int
            One count a feature; zeros without `idf`.

        Examples
        --------
        >>> from labeltree import TextFeatures
        >>> features = TextFeatures(keep_names=True).fit(["it purrs", "it barks"])
        >>> features.document_counts(list(features.names_)).tolist()
        [2, 1, 1]
        """
        check_is_fitted(self)
        found = np.zeros(len(columns), dtype=np.int64)
        arrays = self._arrays()
        if not len(arrays.get("places", ())):
            return found
        place = np.asarray(columns, dtype=np.int64) % 2 ** min(self.hash_bits, _COUNT_BITS)
        at = np.minimum(np.searchsorted(arrays["places"], place), len(arrays["places"]) - 1)
        _, first = np.unique(place, return_index=True)
        first = first[arrays["places"][at[first]] == place[first]]
        found[first] = arrays["counts"][at[first]]
        return found

    @property
    def names_(self) -> dict[int, str]:
        """The names of features met, by their columns."""
        check_is_fitted(self)
        if self._names is None:
            raise AttributeError("names_ is known with keep_names=True")
        return self._names.to_dict()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Return the names of all columns; those never met, or not kept, have empty ones.

        Parameters
        ----------
        input_features : object
            Not used.

        Returns
        -------
        ndarray of str objects
            One name a column.
        """
        check_is_fitted(self)
        if self._names is None:
            raise ValueError("names of features are kept with keep_names=True only; fit with it")
        names = np.full(2**self.hash_bits, "", dtype=object)
        for column, name in self._names.to_dict().items():
            names[column] = name
        return names

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether anything was counted."""
        return hasattr(self, "_core")

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this transformer takes."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags = scikit_learn("utils").TransformerTags()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values, fit for JSON.

        Returns
        -------
        dict
            By name.
        """
        return {
            "word_ngrams": int(self.word_ngrams),
            "char_ngrams": None if self.char_ngrams is None else [int(n) for n in self.char_ngrams],
            "lowercase": bool(self.lowercase),
            "hash_bits": int(self.hash_bits),
            "idf": bool(self.idf),
            "keep_names": bool(self.keep_names),
        }

    def _start(self) -> None:
        """Begin with no counts."""
        self._validate_params()
        options = _core.NgramOptions(
            int(self.word_ngrams), self._characters(), bool(self.lowercase), int(self.hash_bits)
        )
        self._lock = _core.Lock()
        self._names = _core.FeatureNames(MOST_NAMES) if self.keep_names else None
        self._core = _core.TextFeatures(options, bool(self.idf))

    def _characters(self) -> tuple[int, int]:
        if self.char_ngrams is None:
            if self.word_ngrams == 0:
                raise ValueError(
                    "word_ngrams is 0 and char_ngrams None, which leaves no features; give one of "
                    "them"
                )
            return 0, 0
        numbers = tuple(self.char_ngrams)
        if (
            len(numbers) != 2
            or not all(isinstance(n, Integral) for n in numbers)
            or not 1 <= numbers[0] <= numbers[1] <= _MOST
        ):
            raise ValueError(
                f"char_ngrams is {self.char_ngrams!r}, expected None or two numbers from 1 to "
                f"{_MOST}, the smaller first"
            )
        return int(numbers[0]), int(numbers[1])

    def _rows(
        self,
        texts: Texts,
        counted: NDArray[np.uint8] | None,
        names: _core.FeatureNames | None = None,
    ) -> sp.csr_matrix:
        with self._lock.reading if counted is None else self._lock.changing:
            rows = self._core.rows(texts.data, texts.offsets, counted, names)
        return build_csr(*rows, 2**self.hash_bits)

    def _add(self, documents: int, arrays: Arrays) -> None:
        if self.idf:
            self._core.add_counts(documents, arrays["places"], arrays["counts"])
        if self._names is not None:
            self._names.extend(arrays["name_features"], arrays["names"])

    def _restore(self, documents: int, arrays: Arrays) -> None:
        """Take over what a file holds; ValueError says what is wrong with it."""
        types = {"names": np.uint8}
        expected = {
            *(("places", "counts") if self.idf else ()),
            *(("name_features", "names") if self.keep_names else ()),
        }
        if arrays.keys() != expected:
            raise ValueError("the arrays of the text features are not those of their parameters")
        for name, array in arrays.items():
            if array.dtype != types.get(name, np.uint32) or array.ndim != 1:
                raise ValueError(f"the array of {name} of the text features is of another type")
        if not documents and len(arrays.get("counts", ())):
            raise ValueError("there are document counts, but of no documents")
        if (arrays.get("name_features", np.zeros(0, np.uint32)) >= 2**self.hash_bits).any():
            raise ValueError("a name is of no feature")
        self._add(documents, arrays)

    def _arrays(self) -> Arrays:
        """Return the counts, and the names, as plain arrays."""
        with self._lock.reading:
            arrays: Arrays = {}
            if self.idf:
                arrays["places"], arrays["counts"] = self._core.counts()
            if self._names is not None:
                arrays["name_features"], arrays["names"] = self._names.arrays()
        return arrays

    def _copy(self) -> TextFeatures:
        """Return a transformer that has counted the same."""
        other = TextFeatures(**self.get_params())
        other._start()
        with self._lock.reading:
            other._add(self.documents_, self._arrays())
        return other

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_core" in state:
            for name in ("_core", "_lock", "_names"):
                del state[name]
            with self._lock.reading:
                state["_counted"] = self.documents_, self._arrays()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        counted = state.pop("_counted", None)
        super().__setstate__(state)
        if counted is not None:
            self._start()
            self._add(*counted)
