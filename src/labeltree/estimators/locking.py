"""Estimators that several threads use: each call sees the model between two that change it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from labeltree import _core

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Locked")

LEARNED = ("_learner", "_vocabulary", "_kind", "_fixed", "_progress")  # and what ends in _
PASSING = ("_own_lock", "_validated")  # attributes that are no part of an estimator's state


class Locked:
    """The part of an estimator that lets many threads read it, or one change it, in turn.

    A call into the core takes the lock itself. What takes several steps holds it throughout
    (`reading`, `changing`), or, if one of them is in the core, sees to it that all of them are
    with one model (`of_one_model`).
    """

    _learner: Any

    @property
    def _lock(self) -> _core.Lock:
        """The estimator's lock, made when it is first asked for; no part of its state."""
        lock: _core.Lock | None = self.__dict__.get("_own_lock")
        if lock is None:  # of two threads that come here, one makes it
            self.__dict__.setdefault("_own_lock", _core.Lock())
            return self._lock
        return lock

    def _take(self, learner: Any) -> None:
        """Make a core learner that of this estimator."""
        learner.share_lock(self._lock)
        self._learner = learner

    def _become(self, other: Locked) -> None:
        """Take over everything that another estimator, which is then given up, has learned."""
        if self._lock.condemned:  # what is behind it is not used any more
            self.__dict__ = other.__dict__
            return
        with self._lock.changing:
            other._learner.share_lock(self._lock)
            self.__dict__ = {**vars(other), **self._unlearned(), "_own_lock": self._lock}

    def _unfitted(self) -> Self:
        """Return an estimator like this one, but that has learned nothing."""
        other = object.__new__(type(self))
        other.__dict__ = self._unlearned()
        return other

    def _unlearned(self) -> dict[str, Any]:
        """Return the parameters, and whatever else a user has set."""
        return {
            name: value
            for name, value in self._state().items()
            if not name.endswith("_") and name not in LEARNED
        }

    def _state(self) -> dict[str, Any]:
        """Return the attributes that a copy of the estimator has, too."""
        return {name: value for name, value in vars(self).copy().items() if name not in PASSING}


def reading(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let nobody change the estimator while a method runs."""

    @functools.wraps(method)
    def locked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock.reading:
            return method(self, *args, **kwargs)

    return locked


def changing(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let nobody else use the estimator while a method runs."""

    @functools.wraps(method)
    def locked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock.changing:
            return method(self, *args, **kwargs)

    return locked


def of_one_model(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a method go on with the model it began with, though `fit` may have learned another.

    It may hold the lock in the core only, and so never while it waits for Python.
    """

    @functools.wraps(method)
    def settled(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        model = object.__new__(type(self))
        model.__dict__ = self.__dict__  # which `_become` leaves as it is
        return method(model, *args, **kwargs)

    return settled
