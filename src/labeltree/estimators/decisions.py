"""Logarithms of probabilities, and scores that decide between labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeltree.conventions import available_if
from labeltree.estimators.locking import Locked, of_one_model

# What 0 and 1 count as: numbers beyond all others that float32 has between them, so that the order
# stays, and no score is infinite.
_ZERO = float(np.finfo(np.float32).smallest_subnormal) / 2
_ONE = 1.0 - float(np.finfo(np.float32).epsneg) / 2


class Decisions(Locked):
    """The part of an estimator that makes other scores of its probabilities, if it has them."""

    predict_proba: Any  # of some estimators
    multilabel_: Any

    @available_if(lambda self: hasattr(self, "predict_proba"))
    @of_one_model
    def predict_log_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the logarithm of the probability of every label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The logarithms of what `predict_proba` gives; minus infinity where that is 0.
        """
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            logarithms: NDArray[np.float32] = np.log(p)
        return logarithms

    @available_if(lambda self: hasattr(type(self), "predict_proba"))  # with whatever parameters
    @of_one_model
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return a score of every label, finite and in the order of probabilities.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes) or (n_samples,)
            The log-odds of what `predict_proba` gives, of which that of a probability of 0 is
            about -104 and that of 1 about 17; margins if the loss defines no probabilities. For
            single labels of two classes, the score of the second, which is predicted if that is
            positive.
        """
        scores = self._decisions(X)
        two = scores.shape[1] == 2 and not self.multilabel_
        return scores[:, 1] if two else scores

    def _decisions(self, X: Any) -> NDArray[np.float64]:
        """Return a score of every label, one column a label id."""
        p = np.asarray(self.predict_proba(X), dtype=np.float64)
        np.clip(p, _ZERO, _ONE, out=p)
        odds: NDArray[np.float64] = np.log(p) - np.log1p(-p)
        return odds
