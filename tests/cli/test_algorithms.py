"""What is read from the estimators' source is what the classes are."""

import inspect
import subprocess
import sys
from numbers import Integral, Real

import pytest

import labeltree
from labeltree import algorithms
from labeltree.estimators import ESTIMATORS
from labeltree.parameters import Interval, StrOptions

from .conftest import execute


def test_every_estimator_has_a_name():
    assert set(algorithms.names().values()) == set(ESTIMATORS)
    assert algorithms.names()["lom-tree"] == "LOMTreeClassifier"
    assert algorithms._dashed("LdSM") == "ldsm"
    for name, estimator in ESTIMATORS.items():
        assert algorithms.names()[algorithms.name_of(estimator)] == name


@pytest.mark.parametrize("algorithm", algorithms.names())
def test_parameters_are_those_of_the_class(algorithm):
    estimator = algorithms.estimator_class(algorithm)
    signature = inspect.signature(estimator).parameters
    found = {p.name: p for p in algorithms.parameters(algorithm)}
    assert set(signature) - set(found) <= algorithms._NOT_OPTIONS
    for name, parameter in found.items():
        assert parameter.default == signature[name].default
        assert parameter.help, f"{name} is not described"
        for constraint in estimator._parameter_constraints[name]:
            kinds = {Integral: int, Real: float}
            if isinstance(constraint, StrOptions):
                assert set(parameter.choices) - {"INT", "FLOAT"} == constraint.options
            elif isinstance(constraint, Interval):
                kind = kinds[constraint.type]
                assert parameter.kind is kind or kind.__name__.upper() in parameter.choices
            elif constraint == "boolean":
                assert parameter.kind is bool
    assert algorithms.summary(algorithm) == estimator.__doc__.partition("\n")[0]


def test_a_number_or_a_word():
    source = "def f(a: float | Literal['auto'] = 'auto', b: int | None = None, c: Any = 1): ..."
    arguments = algorithms.ast.parse(source).body[0].args.args
    types = [algorithms._type(argument.annotation) for argument in arguments]
    assert types == [(str, ("auto", "FLOAT")), (int, ()), (str, ())]
    parameter = algorithms.Parameter("a", *types[0][:1], "auto", types[0][1], "")
    assert [parameter.value(text) for text in ("0.5", "auto", None)] == [0.5, "auto", None]


def test_help_lists_the_parameters_of_an_algorithm(cli):
    recall = cli("train", "--algorithm", "recall-tree", "--help").out
    assert "--scorer-step" in recall
    assert "--always-train / --no-always-train" in recall
    assert "[fit|bernstein]" in recall
    assert "--alpha" not in recall
    default = algorithms.parameters(algorithms.DEFAULT_ALGORITHM)
    shown = cli("train", "--help").out
    assert all(parameter.option in shown for parameter in default)
    assert "--swap-resistance" in cli("tune", "--algorithm=lom-tree", "--help").out


def test_without_a_command_the_commands_are_listed(cli):
    out = cli().out
    assert all(name in out for name in ("train", "predict", "evaluate", "inspect", "tune", "demo"))
    assert cli("--version").out == f"labeltree {labeltree.__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from labeltree.cli.app import help_text\n"
        "assert 'tune' in help_text(['--help'])\n"
        "assert '--bound' in help_text(['train', '--algorithm', 'recall-tree', '--help'])\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'safetensors', 'labeltree._core', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_python_m_is_the_command_line():
    assert "Usage" in execute("--help").stdout
