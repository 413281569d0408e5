"""The estimators of a cluster: those of one machine, with a client."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from labeltree.dask import plans, prediction
from labeltree.dask.cluster import Cluster
from labeltree.dask.compat import Client
from labeltree.dask.partitions import Partitions, partitions_of
from labeltree.estimators import LabelTreeClassifier, LdSMClassifier, OneAgainstAllClassifier


class DaskClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers of a cluster: an estimator of one machine, fitted by many.

    Parameters
    ----------
    client : distributed.Client, optional
        Who knows the workers; the current one by default.
    **params
        The parameters of the estimator of one machine.
    """

    _local: ClassVar[type[Any]]

    def __init__(self, *, client: Client | None = None, **params: Any) -> None:
        if not hasattr(self, "_local"):
            raise TypeError(
                "DaskClassifier learns nothing by itself; use DaskLabelTreeClassifier, "
                "DaskOneAgainstAllClassifier, DaskLdSMClassifier or DaskTextClassifier"
            )
        for name, value in self._local(**params).get_params(deep=False).items():
            setattr(self, name, value)
        self.client = client

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = inspect.signature(cls._local)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = [*own.parameters.values(), client]
        cls.__signature__ = inspect.Signature(parameters)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*cls._local._get_param_names(), "client"])

    def __sklearn_clone__(self) -> Self:
        """Return an estimator with the same parameters, and the same client."""
        params = self.get_params(deep=False)
        return type(self)(**{**self._unfitted().get_params(deep=False), "client": params["client"]})

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return {**state, "client": None}  # which is of this process alone

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        reader: dict[str, Any] | None = None,
        verbose: int = 0,
    ) -> Self:
        """Forget everything and learn rows that are partitions, where they are.

        Parameters
        ----------
        X : dask array, series or bag; or str, path, or list of them
            An array of rows, in blocks that are dense or SciPy's CSR; of texts a column or a bag.
            Or files, or a pattern such as ``"part-*.parquet"``, which workers read by
            themselves: all must find them under these names.
        y : dask array, series or bag, array or sequence
            The labels, cut as X is; None for files.
        sample_weight : dask array, series, array or sequence, optional
            How much each row counts.
        reader : dict, optional
            Of files: options for `labeltree.data.load`.
        verbose : int
            Above 0, a bar on standard error shows how many tasks are done.

        Returns
        -------
        self
            The fitted estimator. If it is refused, or interrupted, it is what it was before.
        """
        local = self._unfitted()
        local.check_params()
        cluster = Cluster(self.client, verbose=bool(verbose))
        parts = partitions_of(cluster, X, y, sample_weight, reader)
        self._fitted = self._fit(cluster, local, parts)
        return self

    def _fit(self, cluster: Cluster, local: Any, parts: Partitions) -> Any:
        """Return the fitted estimator."""
        return plans.fit(cluster, local, parts)

    def predict(self, X: Any) -> Any:
        """Predict the best label of each row, or the set of its labels.

        Parameters
        ----------
        X : dask array, series or bag; or rows as for the estimator of one machine
            The rows.

        Returns
        -------
        dask array, series or bag; or what the estimator of one machine returns
            Lazy if X is; sets are lists then.
        """
        return prediction.predict(self._require(), X)

    def predict_topk(self, X: Any, k: int = 5) -> tuple[Any, Any]:
        """Predict the k best labels of each row, best first.

        Parameters
        ----------
        X : dask array, series or bag; or rows as for the estimator of one machine
            The rows.
        k : int
            How many labels.

        Returns
        -------
        labels, scores : arrays of shape (n_samples, k)
            Dask arrays if X is lazy.
        """
        return prediction.predict_topk(self._require(), X, k)

    def to_local(self) -> Any:
        """Return the estimator of one machine: it predicts the same, and is saved as any other.

        Returns
        -------
        estimator
            What has learned; it is not copied.
        """
        return self._require()

    def _unfitted(self) -> Any:
        """Return the estimator of one machine with these parameters."""
        return self._local(**{name: getattr(self, name) for name in self._local._get_param_names()})

    def _require(self) -> Any:
        if "_fitted" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first."
            )
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether anything was learned."""
        return "_fitted" in self.__dict__

    def __getattr__(self, name: str) -> Any:
        """Tell what the fitted estimator knows."""
        if name.endswith("_") and not name.startswith("_") and "_fitted" in self.__dict__:
            return getattr(self._fitted, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class DaskLabelTreeClassifier(DaskClassifier):
    """`LabelTreeClassifier` on a cluster: workers learn their own rows, and models are merged.

    Parameters
    ----------
    client : distributed.Client, optional
        Who knows the workers; the current one by default.
    **params
        As for `LabelTreeClassifier`.
    """

    _local = LabelTreeClassifier


class DaskOneAgainstAllClassifier(DaskClassifier):
    """`OneAgainstAllClassifier` on a cluster: each worker learns some labels, from all rows.

    Parameters
    ----------
    client : distributed.Client, optional
        Who knows the workers; the current one by default.
    **params
        As for `OneAgainstAllClassifier`; tables are never hashed.
    """

    _local = OneAgainstAllClassifier


class DaskLdSMClassifier(DaskClassifier):
    """`LdSMClassifier` on a cluster: each worker grows some trees, from all rows.

    Parameters
    ----------
    client : distributed.Client, optional
        Who knows the workers; the current one by default.
    **params
        As for `LdSMClassifier`.
    """

    _local = LdSMClassifier
