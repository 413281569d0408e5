"""Attacks on everything that comes from outside; `python -m tests.attack` runs them."""
