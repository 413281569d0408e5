"""What makes a class one of scikit-learn's estimators, without importing scikit-learn.

It takes 60 MB and 0.4 s to import, more than numpy, SciPy's sparse matrices and the core together,
and neither learning nor predicting needs it. So it is imported where it comes in: by whoever hands
an estimator to it, and here for tags, metadata routing, the page of a notebook and the error of an
estimator that was not fitted.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections import defaultdict
from collections.abc import Callable
from numbers import Integral
from types import MethodType
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from labeltree import parameters
from labeltree.scikit_learn import scikit_learn

M = TypeVar("M", bound=Callable[..., Any])
_ROUTED = (  # the methods that may take metadata, here or in a subclass
    *("fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function"),
    *("score", "transform", "inverse_transform"),
)


def check_is_fitted(estimator: Any) -> None:
    """Raise scikit-learn's NotFittedError if nothing was learned."""
    if not estimator.__sklearn_is_fitted__():
        scikit_learn("utils.validation").check_is_fitted(estimator)


def check_random_state(seed: Any) -> np.random.RandomState:
    """Return a generator of random numbers: that of numpy, one of a seed, or what is one."""
    if seed is None:
        generator: np.random.RandomState = np.random.mtrand._rand
        return generator
    if isinstance(seed, Integral):
        return np.random.RandomState(int(seed))
    assert isinstance(seed, np.random.RandomState), "parameters are checked before"
    return seed


def available_if(condition: Callable[[Any], bool]) -> Callable[[M], M]:
    """Let estimators have a method only if a condition holds of them, as `hasattr` tells."""

    def conditional(method: M) -> M:
        return cast(M, _Conditional(condition, method))

    return conditional


class _Conditional:
    """A method that some estimators of a class lack."""

    def __init__(self, condition: Callable[[Any], bool], method: Callable[..., Any]) -> None:
        self.condition = condition
        self.method = method
        self.__doc__ = method.__doc__
        self.__wrapped__ = method  # where doctest looks for examples

    def __get__(self, estimator: Any, kind: type[Any]) -> Callable[..., Any]:
        if estimator is None:
            return self.method
        if not self.condition(estimator):
            raise AttributeError(
                f"This {kind.__name__!r} has no attribute {self.method.__name__!r}"
            )
        return MethodType(self.method, estimator)


def _metadata(kind: type[Any], method: str) -> list[str]:
    """Return what a method takes beside X and y."""
    if not hasattr(kind, method):
        return []
    taken = [*inspect.signature(getattr(kind, method)).parameters.values()][1:]
    return [p.name for p in taken if p.name not in ("X", "y") and p.kind is not p.VAR_KEYWORD]


def _setter(method: str) -> Any:
    """Make ``set_fit_request`` and its like."""

    def set_request(self: Any, **requests: bool | str | None) -> Any:
        unchanged = scikit_learn("utils.metadata_routing").UNCHANGED
        if not scikit_learn("").get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                f"set_{method}_request was called, but metadata are not routed: call "
                "sklearn.set_config(enable_metadata_routing=True) before"
            )
        expected = _metadata(type(self), method)
        unknown = [name for name in requests if name not in expected]
        if unknown:
            raise TypeError(
                f"set_{method}_request was called for {unknown[0]!r}, expected what {method} "
                f"takes: {', '.join(expected)}"
            )
        routing = self.get_metadata_routing()
        for name, alias in requests.items():
            if alias is not unchanged:
                getattr(routing, method).add_request(param=name, alias=alias)
        self._metadata_request = routing
        return self

    set_request.__name__ = set_request.__qualname__ = f"set_{method}_request"
    set_request.__doc__ = f"""Tell which metadata meta-estimators are to pass to `{method}`.

        Parameters
        ----------
        **requests : bool, None or str
            By name: whether to pass them; None refuses them; a str is the name by which they come.

        Returns
        -------
        self
            The estimator.
        """
    return available_if(lambda self: bool(_metadata(type(self), method)))(set_request)


@functools.cache
def _shown_class(kind: Any) -> Any:
    """Return a class of estimators as one that inherits from scikit-learn's."""
    names = {"__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, scikit_learn("base").BaseEstimator), names)


class Estimator:
    """Base of all that has parameters: what scikit-learn asks of an estimator."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _metadata_request: Any  # of those of which metadata were requested

    set_fit_request = _setter("fit")
    set_partial_fit_request = _setter("partial_fit")
    set_predict_request = _setter("predict")
    set_predict_proba_request = _setter("predict_proba")
    set_predict_log_proba_request = _setter("predict_log_proba")
    set_decision_function_request = _setter("decision_function")
    set_score_request = _setter("score")
    set_transform_request = _setter("transform")
    set_inverse_transform_request = _setter("inverse_transform")

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        given = inspect.signature(cls.__init__).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in given):
            raise RuntimeError(
                f"{cls.__name__}.__init__ takes *args, expected parameters that have names: "
                "estimators are copied by them"
            )
        return sorted(p.name for p in given if p.kind in named and p.name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool
            Whether also those of parameters that are estimators.

        Returns
        -------
        dict
            By name; those of estimators as ``estimator__name``.
        """
        params: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{own}": v for own, v in value.get_params().items()}
            params[name] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters.

        Parameters
        ----------
        **params
            Names and values; those of parameters that are estimators as ``estimator__name``.

        Returns
        -------
        self
            The estimator.
        """
        names = self._get_param_names()
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for path, value in params.items():
            name, inside, own = path.partition("__")
            if name not in names:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {names!r}."
                )
            if inside:
                nested[name][own] = value
            else:
                setattr(self, name, value)
        for name, own_params in nested.items():
            inner = getattr(self, name)
            if not hasattr(inner, "set_params"):
                raise ValueError(
                    f"{name} is {inner!r}, which has no parameter {next(iter(own_params))!r}: give "
                    f"{type(self).__name__} an estimator as {name} to set its parameters"
                )
            inner.set_params(**own_params)
        return self

    def _validate_params(self) -> None:
        """Raise if a parameter is not what it should be."""
        given = self.get_params(deep=False)
        parameters.check(self._parameter_constraints, given, type(self).__name__)

    def _cloned(self) -> Self:
        """Return an estimator with the same parameters that has learned nothing."""
        return type(self)(**copy.deepcopy(self.get_params(deep=False)))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    @property
    def _repr_html_(self) -> Callable[[], str]:
        show = self._shown()._repr_html_  # there is none if scikit-learn is told to show text
        return lambda: str(show()) + self._html_below()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = self._shown()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._html_below()
        return bundle

    def _get_params_html(self, *place: Any, **options: Any) -> Any:
        """Return the table of parameters that pages of pipelines have of each of their parts."""
        return self._shown()._get_params_html(*place, **options)

    def _get_fitted_attr_html(self, *place: Any, **options: Any) -> Any:
        """Return the table of what was learned that these pages have of each."""
        return self._shown()._get_fitted_attr_html(*place, **options)

    def _html_below(self) -> str:
        """Return what notebooks show below the parameters."""
        return ""

    def _shown(self) -> Any:
        """Return this estimator as one that inherits from scikit-learn's, which knows its page."""
        kind: Any = type(self)
        shown: Any = object.__new__(_shown_class(kind))
        shown.__dict__ = self.__dict__
        return super(Estimator, shown)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this estimator can do."""
        utils = scikit_learn("utils")
        return utils.Tags(estimator_type=None, target_tags=utils.TargetTags(required=False))

    def get_metadata_routing(self) -> Any:
        """Return which metadata meta-estimators pass to which method.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            A copy of what ``set_fit_request`` and its like have set.
        """
        if "_metadata_request" in vars(self):
            return copy.deepcopy(self._metadata_request)
        routing = scikit_learn("utils.metadata_routing").MetadataRequest(owner=type(self).__name__)
        for method in _ROUTED:
            for name in _metadata(type(self), method):
                getattr(routing, method).add_request(param=name, alias=None)
        for kind in reversed(type(self).__mro__):  # what a class asks for in all of its estimators
            for attribute, requests in vars(kind).items():
                _, marked, method = attribute.partition("__metadata_request__")
                for name, alias in requests.items() if marked else ():
                    getattr(routing, method).add_request(param=name, alias=alias)
        return routing


class Classifier(Estimator):
    """Base of the estimators that scikit-learn is to know as classifiers."""

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what this classifier can do."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = scikit_learn("utils").ClassifierTags()
        tags.target_tags.required = True
        return tags
