"""Pages of the documentation: the code they show, run as a reader would run it."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from labeltree.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]+) -->\n)?"
    r"^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<code>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block; `why` says why it is not run, if it is not."""

    language: str
    code: str
    line: int
    why: str | None


def blocks(page):
    """Return the fenced blocks of a page; those in HTML comments, which nobody sees, prepare."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["language"].split(" ")[0],
            textwrap.dedent(found["code"]),
            text.count("\n", 0, found.start("code")) + 1,
            found["why"],
        )
        for found in FENCE.finditer(text)
    ]


def run_python(page, block, namespace):
    """Run a block; a traceback names the line of the page."""
    code = "\n" * (block.line - 1) + block.code
    exec(compile(code, str(page), "exec"), namespace)


def run_shell(code):
    """Run commands line by line, pipes and ``>`` among them; those of labeltree in this process."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line, posix=True, punctuation_chars="|>")
        words.whitespace_split = True
        stages, output, data = [[]], None, b""
        for word in words:
            if word == "|":
                stages.append([])
            elif word == ">":
                output = next(words)
            else:
                stages[-1].append(word)
        for stage in filter(None, stages):
            data = run_labeltree(stage, data) if stage[0] == "labeltree" else run(stage, data)
        if output:
            Path(output).write_bytes(data)


def run(command, data):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout


def run_labeltree(command, data):
    """Run the command line in this process, which saves the imports; return what it printed."""
    printed, said = io.BytesIO(), io.StringIO()
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = command, io.TextIOWrapper(io.BytesIO(data))
    try:
        with (
            io.TextIOWrapper(printed, encoding="utf-8") as out,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(said),
        ):
            with pytest.raises(SystemExit) as end:
                main()
            out.flush()
            assert not end.value.code, f"{shlex.join(command)}: {said.getvalue()}"
            return printed.getvalue()
    finally:
        sys.argv, sys.stdin = before
