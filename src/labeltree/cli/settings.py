"""Settings for `tune` to try: near the defaults, each different and each valid."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from labeltree.algorithms import Parameter, estimator_class, parameters

_NOT_TUNED = {
    *("bits", "layout", "min_gradient", "learn_jobs"),  # memory and time, not what is learned
    *("organize", "idf", "min_leaf"),  # of `fit`, which knows all rows beforehand
    "threshold",  # of sets: the error is that of the best label
}
_CHANGED = 0.5  # the share of its parameters in which a trial differs from the defaults
# What features text may have but words and pairs of them.
_FEATURES: tuple[dict[str, Any], ...] = ({"word_ngrams": 1}, {"char_ngrams": (3, 5)})


class Setting(NamedTuple):
    """What a trial tries."""

    params: dict[str, Any]  # of the estimator
    text: dict[str, Any]  # options of the text features that were not given


def settings_of_text(
    algorithm: str, fixed: dict[str, Any], trials: int, seed: int
) -> list[Setting]:
    """Return the defaults, the defaults with other features, then settings near them, so or so."""
    drawn = settings(algorithm, fixed, trials, seed)
    ways = ({}, *_FEATURES)
    found = [Setting(drawn[0], way) for way in ways]
    found += [Setting(params, ways[i % len(ways)]) for i, params in enumerate(drawn[1:])]
    return found[:trials]


def settings(algorithm: str, fixed: dict[str, Any], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return the defaults, then settings near them, each different and each valid."""
    random = np.random.default_rng(seed)
    free = [p for p in parameters(algorithm) if p.name not in _NOT_TUNED and p.name not in fixed]
    estimator = estimator_class(algorithm)
    found: list[dict[str, Any]] = [dict(fixed)]
    for _ in range(100 * trials):
        if len(found) == trials:
            break
        drawn = {p.name: _draw(p, random) for p in free if random.random() < _CHANGED}
        setting = {**fixed, **{name: v for name, v in drawn.items() if v is not None}}
        try:
            estimator(**setting)._validate_params()
        except ValueError:  # outside what the estimator allows
            continue
        if setting not in found:
            found.append(setting)
    return found


def _draw(parameter: Parameter, random: np.random.Generator) -> Any:
    """Return a value near the default, None where there is nothing to go by."""
    default = parameter.default
    if parameter.choices:
        others = [word for word in parameter.choices if word != default and not word.isupper()]
        return str(random.choice(others)) if others else None
    if parameter.kind is bool:
        return not default
    if parameter.kind is float:
        factor = 2.0 ** random.uniform(-2, 2)
        if default == 0:
            return float(f"{factor / 8:.2g}")
        return float(f"{(1.0 if default is None else default) * factor:.2g}")
    if parameter.kind is int and default:
        return int(max(1, default * 2.0 ** random.integers(-1, 3)))
    return None
