"""Faults tried on a server that runs: each script goes on for as long as one likes."""
