"""One file for each system that is measured; `base` says what such a file has."""

from __future__ import annotations

import importlib

from bench.peers.base import Peer

FIRST = "labeltree"
NAMES = (
    FIRST,
    "vowpalwabbit",
    "libpecos",
    "napkinxc",
    "omikuji",
    "fasttext",
    "scikit_learn",
    "river",
)


def peer(name: str) -> type[Peer]:
    """Return the class that runs a system; importing it does not import the system."""
    module = importlib.import_module(f"bench.peers.{name}")
    found: type[Peer] = module.Learner
    return found
