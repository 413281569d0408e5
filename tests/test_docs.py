"""What the documentation shows, runs."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import pytest

import labeltree

MODULES = [
    module.name
    for module in pkgutil.walk_packages(labeltree.__path__, "labeltree.")
    if module.name not in ("labeltree.__main__", "labeltree._core")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_classes_and_functions_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("OneAgainstAllClassifier", "load"):
        tests = finder.find(getattr(labeltree, name), name)
        assert any(test.examples for test in tests), name


def test_first_example_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = pathlib.Path(__file__).parents[1] / "README.md"
    code = re.findall(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)
    exec(compile(code[0], "README.md", "exec"), {})
    assert (tmp_path / "m.labeltree").exists()
