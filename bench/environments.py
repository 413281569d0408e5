"""A virtual environment for each peer, because what they pin conflicts."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from bench.peers import peer

ROOT = Path(__file__).parents[1]  # where `python -m bench` is run


class CannotInstallError(Exception):
    """Why a peer is not measured."""


@dataclass(frozen=True)
class Environment:
    """An interpreter that can run a peer, and the version of the peer there."""

    python: Path
    version: str


def default_cache() -> Path:
    """Return where environments are kept from run to run."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user) / "labeltree-bench"


def environment(name: str, cache: Path) -> Environment:
    """Return the environment of a peer, made anew if the cache does not have it.

    Raises
    ------
    CannotInstallError
        If pip fails, or what it installed cannot be imported.
    """
    installs = peer(name).installs
    if not installs:  # not resolved: the name of the link is what makes it a virtual environment
        return checked(name, Path(sys.executable))
    key = hashlib.sha256(json.dumps([installs, sys.version]).encode()).hexdigest()[:8]
    folder = (cache / f"{name}-{key}").absolute()
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        try:
            for arguments in installs:
                install(python, arguments)
        except CannotInstallError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        done.touch()
    return checked(name, python)


def install(python: Path, arguments: tuple[str, ...]) -> None:
    command = [python, "-m", "pip", "install", "--quiet", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise CannotInstallError(
            f"pip install {' '.join(arguments)} failed: {last_error(result.stderr)}"
        )


def checked(name: str, python: Path) -> Environment:
    result = subprocess.run(
        [python, "-m", "bench.worker", name, "check"], cwd=ROOT, capture_output=True, text=True
    )
    if result.returncode:
        raise CannotInstallError(f"installed, but cannot be imported: {last_error(result.stderr)}")
    return Environment(python, json.loads(result.stdout.splitlines()[-1])["version"])


def last_error(text: str) -> str:
    """Return the last line that tells of an error, or the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["it said nothing"])[-1]
