"""Rows that alone have more labels than a model may have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labeltree.data import Rows
from labeltree.estimators import OnlineClassifier, TextClassifier, classifier_of


class LabelRoom:
    """Finds rows with more labels than ``max_labels``, and refuses them or leaves them out.

    Attributes
    ----------
    left_out : int
        How many rows were left out.
    """

    def __init__(self) -> None:
        self.left_out = 0

    def fitting(
        self,
        clf: OnlineClassifier | TextClassifier,
        rows: Rows,
        numbers: NDArray[np.int64],
        data: str,
        *,
        leave_out: bool,
    ) -> NDArray[np.intp] | None:
        """Return which rows fit into a model, None if all do.

        Parameters
        ----------
        clf : estimator
            The model.
        rows : Rows
            Of a stream.
        numbers : ndarray
            Of the rows, counted from 0.
        data : str
            What they are read from, for messages.
        leave_out : bool
            Whether to leave out the others; if not, the first of them is an error.
        """
        most = getattr(classifier_of(clf), "max_labels", None)
        sizes = np.diff(rows.labels.offsets)
        if most is None or sizes.max(initial=0) <= most:
            return None
        if not leave_out:
            row = int(np.argmax(sizes > most))
            raise ValueError(
                f"{data}: row {numbers[row] + 1:,} has {sizes[row]:,} labels, expected at most "
                f"--max-labels, {most:,}; leave the row out, as --skip-bad-lines does, or train "
                "anew with more"
            )
        fitting = np.flatnonzero(sizes <= most)
        self.left_out += len(sizes) - len(fitting)
        return fitting
