"""What an estimator leaves to the data, and how its linear models learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labeltree import _core
from labeltree.estimators.prediction import Predictor
from labeltree.estimators.survey import Survey


class SettlingClassifier(Predictor):
    """The part of a classifier that chooses settings from a survey of rows."""

    # The fitted attributes from which, with the fixed parameters, the core learner is made.
    _settled: ClassVar[tuple[str, ...]] = ("n_features_in_", "scale_", "layout_", "bits_")

    scale: str
    layout: str
    bits: int | None

    n_features_in_: int
    scale_: str
    layout_: str
    bits_: int
    compiled_: bool
    _fixed: dict[str, Any]

    def _settle(self, survey: Survey, *, streaming: bool) -> None:
        """Choose what was left to the data: from the first batch, or from all rows."""
        self.scale_ = self.scale
        if self.scale == "auto":
            self.scale_ = "none" if survey.has_unit_rows else "max"
        n_labels = max(1, survey.n_labels)
        self.bits_ = self.bits or 24
        if self.bits is None and not streaming:
            table = np.ceil(np.log2(2 * n_labels * (survey.features_seen + 1)))
            self.bits_ = int(np.clip(table, 16, 26))
        self.layout_ = self.layout
        if self.layout == "auto":
            small = not streaming and n_labels * self.n_features_in_ <= 2**22
            self.layout_ = "dense" if small or not survey.is_sparse else "hashed"

    def _settle_rows(self, survey: Survey) -> None:
        """Let "auto" give sparse rows unit length, and weigh counts, for the dual update."""
        if self.scale == "auto" and self.scale_ == "max" and survey.is_sparse:
            self.scale_ = "idf" if survey.has_counts else "unit"

    def _settle_lines(self, survey: Survey, models: float, room: int) -> None:
        """Choose lines of eight models for sparse rows, where all weights are kept.

        They are kept, too, if there is room for so many.
        """
        fits = models * self.n_features_in_ <= room
        if survey.is_sparse and (self.layout_ == "dense" or (self.layout == "auto" and fits)):
            self.layout_ = "lines"

    def _bank_params(self) -> _core.BankParams:
        """Return the settings of the core learner's bank of linear models."""
        return _core.BankParams(
            scale=getattr(_core.Scale, self.scale_),
            layout=getattr(_core.Layout, self.layout_),
            bits=self.bits_,
            features=self.n_features_in_,
            frozen=self.compiled_,
            gradient_sums=self._keeps_gradient_sums(),
        )

    def _keeps_gradient_sums(self) -> bool:
        """Tell whether any model learns by adaptive steps."""
        return True

    def _rule(
        self,
        step: float,
        loss: str = "logistic",
        update: str = "adaptive",
        min_gradient: float | None = None,
    ) -> _core.Rule:
        """Return how models of the bank learn."""
        return _core.Rule(
            loss=getattr(_core.Loss, loss),
            update=getattr(_core.Update, update),
            step=step,
            power=self._fixed.get("power", 0.0),
            min_gradient=self._fixed["min_gradient"] if min_gradient is None else min_gradient,
            C=self._fixed.get("C", 1.0),
        )
