"""What the documentation shows, runs; where it points, there is something."""

import doctest
import importlib
import pkgutil
import re

import pytest

import labeltree
from tests.documentation import PAGES, ROOT, blocks, run_python, run_shell

MODULES = [
    module.name
    for module in pkgutil.walk_packages(labeltree.__path__, "labeltree.")
    if module.name not in ("labeltree.__main__", "labeltree._core")
]
PUBLIC = ["labeltree"] + [
    f"labeltree.{name}" for name in ("data", "metrics", "datasets", "plot", "runs", "dask")
]
SERVER = "http://127.0.0.1:8080"  # where pages say that a server is
TEXTS = [*PAGES, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"))]


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_classes_and_functions_have_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("OneAgainstAllClassifier", "load"):
        tests = finder.find(getattr(labeltree, name), name)
        assert any(test.examples for test in tests), name


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_of)
def test_examples_of_a_page(page, tmp_path, monkeypatch, request):
    """All blocks of a page in their order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in blocks(page):
        if block.why or block.language not in ("python", "sh"):
            continue
        code = block.code
        if SERVER in code:
            code = code.replace(SERVER, request.getfixturevalue("server"))
        if block.language == "python":
            run_python(page, block._replace(code=code), namespace)
        else:
            run_shell(code)


@pytest.fixture
def server(tmp_path):
    """Return the address of a server of a new model of text."""
    pytest.importorskip("starlette", reason="needs labeltree[serve]")
    from labeltree.serve.service import Service
    from tests.serve.conftest import NEW, serving

    service = Service.open(tmp_path / "served.labeltree", tmp_path / "log", NEW)
    with serving(service) as served:
        yield served.url


def test_blocks_say_what_they_are():
    """What looks like Python or a command of labeltree is run, or says why it is not."""
    looks_run = re.compile(r"^(labeltree |from \w|import \w|clf\b)", re.MULTILINE)
    for page in PAGES:
        for block in blocks(page):
            where = f"{name_of(page)}:{block.line}"
            assert block.language in {"", "python", "sh", "text", "ini", "json"}, where
            if block.language not in ("python", "sh"):
                assert not looks_run.search(block.code), f"{where}: mark it python or sh"


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_links_lead_somewhere(page):
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(
        r'(?:src|href)="([^"]+)"', text
    ):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target}: no such file"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{target}: no such heading"


def prose(page):
    """Return a page without its fenced blocks."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page):
    """Return what can be linked to in a page: its headings, as MkDocs and GitHub name them."""
    text = prose(page)
    headings = re.findall(r"^#+ +(.+)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    named = re.findall(r'id="([^"]+)"', text) + re.findall(r"\{ *#([\w-]+)", text)
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain} | set(named)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_api(module):
    """A build of the site with --strict tells of names that are there no more."""
    shown = set()
    for page in (ROOT / "docs" / "api").glob("*.md"):
        shown |= set(
            re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        )
    shown = {
        name.replace("runs.train.train", "runs.train") for name in shown
    }  # module and function
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [
        name for name, value in vars(found).items() if getattr(value, "__module__", "") == module
    ]
    expected = {f"{module}.{name}" for name in names if not name.startswith("_")}
    assert expected <= shown


def test_the_readmes_picture_is_that_of_its_table():
    """`python -m bench.readme` draws it anew."""
    readme = importlib.import_module("bench.readme")
    rows = readme.libraries((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(rows) >= 5
    assert readme.draw(rows) == readme.PICTURE.read_text(encoding="utf-8")
