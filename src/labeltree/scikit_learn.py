"""scikit-learn, imported when something of it is first needed, by one thread at a time.

Its modules import each other in a circle: threads that begin with different ones fail.
"""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any

_importing = threading.RLock()


def _renew() -> None:
    """Let a forked child import what another thread of its parent was importing."""
    global _importing
    _importing = threading.RLock()


os.register_at_fork(after_in_child=_renew)


def scikit_learn(module: str) -> Any:
    """Return one of its modules."""
    with _importing:
        importlib.import_module("sklearn.base")  # which all begin with
        return importlib.import_module(f"sklearn.{module}" if module else "sklearn")
