"""Estimators on disk, in pickles, and back."""

from __future__ import annotations

import copy
import os
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labeltree import modelfile, modelheader
from labeltree.conventions import Estimator, check_is_fitted
from labeltree.estimators.locking import PASSING, Locked, reading
from labeltree.labels import Kind, Vocabulary
from labeltree.packedlabels import PackedLabels
from labeltree.progress import Progress


def require_share(keep: Any) -> None:
    """Raise unless `keep` says how much `compile` is to keep."""
    if isinstance(keep, bool) or not isinstance(keep, Real) or not 0 < float(keep) <= 1:
        raise ValueError(f"keep is {keep!r}, expected a number above 0, at most 1")


class Persistent(Locked, Estimator):
    """The part of an estimator that saves and restores all of it."""

    _changeable: ClassVar[tuple[str, ...]]
    _settled: ClassVar[tuple[str, ...]]
    # What files lack that were written before there were such settings, and what it was then.
    _absent_before: ClassVar[dict[str, Any]] = {}
    _fixed: dict[str, Any]
    _kind: Kind
    _vocabulary: Vocabulary
    _learner: Any
    compiled_: bool  # for prediction only
    feature_names_in_: NDArray[Any]  # of data frames
    _progress: Progress

    @abstractmethod
    def _make_learner(self) -> Any:
        """Make an empty core learner."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        notes: dict[str, Any] | None = None,
        attached: modelfile.Arrays | None = None,
        exact: bool = True,
    ) -> None:
        """Write the model to one file; `labeltree.load` reads it back.

        The file holds every parameter, the labels and the whole state of learning: training on
        after loading gives, bit for bit, the model that uninterrupted training gives.

        Parameters
        ----------
        path : str or path-like
            Where to write. An existing file is replaced only once the new one is complete.
        notes : dict, optional
            Anything that JSON can hold, to be kept in the header.
        attached : dict of str to ndarray, optional
            Arrays to be kept in the file for others than the estimator;
            `labeltree.modelfile.read_attached` returns them.
        exact : bool
            Whether weights are written as they are. If not, they are rounded to 16 bits (bfloat16),
            and so is what their steps depend on: they take half the size (rows of `replay` do
            not), and training on goes as well, but not bit for bit. Compiled models are written as
            they are.
        """
        self.contents(notes=notes, attached=attached).write(path, exact=exact)

    @reading
    def contents(
        self, *, notes: dict[str, Any] | None = None, attached: modelfile.Arrays | None = None
    ) -> modelfile.Contents:
        """Return what `save` would write now, to be written while the model learns on.

        Parameters
        ----------
        notes, attached
            As for `save`.

        Returns
        -------
        labeltree.modelfile.Contents
            A copy; ``contents().write(path)`` is ``save(path)``.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        header: dict[str, Any] = {
            "estimator": type(self).__name__,
            "params": {name: _plain(name, value) for name, value in self.get_params().items()},
            "fixed": {name: _plain(name, value) for name, value in self._fixed.items()},
            "settled": {name: _plain(name, getattr(self, name)) for name in self._settled},
            "feature_names": None if names is None else names.tolist(),
            "kind": self._kind,
            "compiled": self.compiled_,
            "progress": vars(copy.deepcopy(self._progress)),
            "notes": notes or {},
        }
        arrays = {**self._vocabulary.packed().arrays, **self._learner.state()}
        return modelfile.Contents(header, arrays, attached or {})

    @classmethod
    def _from_file(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], *, borrow: bool = False
    ) -> Self:
        """Make the estimator that `save` wrote; one that is compiled may borrow large arrays."""
        params = cls._get_param_names()
        fixed = [name for name in params if name not in cls._changeable]
        for part, names in (("params", params), ("fixed", fixed), ("settled", cls._settled)):
            absent = [n for n in cls._absent_before if n in names and n not in header[part]]
            header[part] = {**header[part], **{n: cls._absent_before[n] for n in absent}}
        modelheader.check_settings(header, cls._get_param_names(), cls._changeable, cls._settled)
        model = cls(**header["params"])
        model._validate_params()
        model._fixed = dict(header["fixed"])
        cls(**{**header["params"], **model._fixed})._validate_params()
        for name in cls._settled:
            setattr(model, name, header["settled"][name])
        if header.get("feature_names") is not None:
            model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        model._kind = header["kind"]
        progress = dict(header["progress"])
        progress["checkpoints"] = [tuple(row) for row in progress["checkpoints"]]
        model._progress = Progress(**progress)
        model.compiled_ = header["compiled"]
        labels = PackedLabels(arrays)
        if not borrow:
            labels.check()
        model._vocabulary = Vocabulary(labels)
        model._take(model._make_learner())
        arrays = {n: a for n, a in arrays.items() if not modelfile.is_attached(n)}
        model._learner.restore(arrays, borrow=borrow)
        if model._learner.labels != len(model._vocabulary):
            raise ValueError("the number of labels is not that of their models")
        return model

    def compile(self, *, keep: float = 0.999) -> Self:
        """Return a smaller model of the same class that only predicts.

        What only learning needs is left out, and so are weights that hardly matter; the others
        have a byte each. A file of it can be mapped into memory: ``load(path, mmap=True)``. This
        model stays as it is.

        Parameters
        ----------
        keep : float
            The share to keep of all that weights matter, judged by their size and by how much
            was learned with them. 0.999 changes the best label of one to five rows in a hundred,
            as often for the better as for the worse. 1 keeps all weights, with two bytes each
            (bfloat16), so that answers are nearly those of this model; files are about twice
            as large.

        Returns
        -------
        estimator
            It predicts, shows its tree and is saved as any other; `partial_fit` refuses, and
            `fit` starts afresh, with a model that is not compiled.

        Examples
        --------
        >>> from labeltree import OneAgainstAllClassifier
        >>> from labeltree.datasets import make_multiclass
        >>> X, y = make_multiclass(2000, 50, random_state=0)
        >>> clf = OneAgainstAllClassifier(random_state=0).fit(X[:1500], y[:1500])
        >>> clf.compile().predict(X[1500:]).tolist() == clf.predict(X[1500:]).tolist()
        True
        """
        check_is_fitted(self)
        if self.compiled_:
            raise ValueError("this model is compiled already; compile the one it was made from")
        require_share(keep)
        other, state = self._to_compile(float(keep))
        other._learner.restore(state)
        return other

    @reading
    def _to_compile(self, keep: float) -> tuple[Self, dict[str, NDArray[Any]]]:
        """Return a compiled model without weights, and the state to restore into it."""
        other = object.__new__(type(self))
        other.__dict__ = {
            **self._state(),
            "compiled_": True,
            "_progress": copy.deepcopy(self._progress),
            "_vocabulary": self._vocabulary.copy(),
        }
        other._take(other._make_learner())
        return other, self._learner.state(keep=keep)

    @reading
    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            name: value for name, value in super().__getstate__().items() if name not in PASSING
        }
        if "_learner" in state:  # which goes on learning while others write this down
            state["_learner"] = state["_learner"].state()
            state["_vocabulary"] = state["_vocabulary"].copy()
            state["_progress"] = copy.deepcopy(state["_progress"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays = state.pop("_learner", None)
        super().__setstate__(state)
        if arrays is not None:
            self._take(self._make_learner())
            self._learner.restore(arrays)


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(
        f"{name} is a {type(value).__name__}, which a model file cannot hold; "
        "set it to a number, a string or None before saving"
    )
