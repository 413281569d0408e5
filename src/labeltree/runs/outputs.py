"""What a command writes: checked before it works for hours, or destroys what it reads."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from labeltree import modelfile


def require_output(path: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise unless a file can be written, and is none of those that are read.

    Parameters
    ----------
    path : Path
        What is to be written.
    inputs : iterable of str or path-like
        What is read, or written too, under whatever name: "-" is standard input.
    """
    require_writable(path)
    for name in inputs:
        if _same(path, name):
            known = "standard input" if os.fspath(name) == "-" else os.fspath(name)
            alias = "" if known == str(path) else f" as {known}"
            raise ValueError(
                f"{path}: the command uses this file{alias} already, and would destroy it; name "
                "another file to write"
            )


def require_model_output(
    path: Path, inputs: Iterable[str | os.PathLike[str]], *, overwrite: bool = False
) -> None:
    """Raise, as `require_output` does, and if a file that is no model would be replaced by one."""
    require_output(path, inputs)
    if overwrite or not path.exists() or not path.stat().st_size:
        return
    try:
        modelfile.read_header(path)
    except modelfile.ForeignModelFileError:
        raise ValueError(
            f"{path}: this file exists and is no labeltree model; name another, or give "
            "--overwrite to replace it"
        ) from None
    except modelfile.ModelFileError:  # damaged, or of a later version: a model all the same
        pass


def require_writable(path: Path) -> None:
    """Raise, before hours of work, if a file cannot be written."""
    folder = path.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: there is no such folder to write to; make it first")
    if path.exists() and not path.is_file():
        raise PermissionError(f"{path}: this is not a file and cannot be written; name a file")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PermissionError(
            f"{path}: no file can be written in that folder ({error.strerror}); name another"
        ) from error


def _same(path: Path, name: str | os.PathLike[str]) -> bool:
    """Tell whether two names, one of which may be "-", are of one file, through links too."""
    if os.fspath(name) == "-":
        try:
            return os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()))
        except (OSError, ValueError, AttributeError):  # closed, or replaced by something in memory
            return False
    try:
        return os.path.samefile(path, name)
    except OSError:  # not there yet
        return path.resolve() == Path(name).resolve()
