"""The examples run, and learn."""

import os
import runpy
import subprocess
import sysconfig
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_script(name):
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    return subprocess.run(
        ["bash", EXAMPLES / name],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )


def test_every_example_is_run_here():
    tested = {"tag_text.py", "next_word.sh", "label_sets.py", "from_vowpal_wabbit.sh"}
    tested |= {"from_fasttext.sh", "from_pandas.py"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == tested


def test_tag_text(capsys):
    assert runpy.run_path(EXAMPLES / "tag_text.py")["main"]() > 0.6
    assert "9 tags" in capsys.readouterr().out


def test_label_sets(capsys):
    assert runpy.run_path(EXAMPLES / "label_sets.py")["main"]() > 0.8
    assert "PSP@5" in capsys.readouterr().out


def test_next_word():
    result = run_script("next_word.sh")
    assert "going on with next.labeltree in pass 1 of 1, after row" in result.stderr
    words = result.stdout.split("\t")
    assert len(words) == 6
    assert "the" in words[::2]


def test_from_vowpal_wabbit():
    result = run_script("from_vowpal_wabbit.sh")
    lines = result.stdout.splitlines()
    error = next(line.split() for line in lines if line.startswith("error"))
    assert float(error[1]) < 0.2
    assert all(line.isdigit() for line in lines[-3:])


def test_from_fasttext():
    out = run_script("from_fasttext.sh").stdout
    precision = float(out.partition("precision@1")[2].split()[0])
    assert precision > 0.25
    assert "left out" in out


def test_from_pandas(capsys):
    assert runpy.run_path(EXAMPLES / "from_pandas.py")["main"]() > 0.35
    assert "which words decided" in capsys.readouterr().out
