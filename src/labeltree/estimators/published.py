"""Estimators as their papers print them."""

from __future__ import annotations

from typing import Any, ClassVar, Self


class Published:
    """The part of an estimator that says which of its settings are those of a paper."""

    _as_published: ClassVar[dict[str, Any]]

    @classmethod
    def published(cls, **others: Any) -> Self:
        """Return an estimator that does what the paper prints, where the defaults go beyond it.

        It is there to reproduce papers: on some data the published settings learn badly.

        Parameters
        ----------
        **others
            Parameters that the paper leaves open, or that are to differ from it.

        Returns
        -------
        estimator
            Not fitted.
        """
        return cls(**{**cls._as_published, **others})
