"""The papers' tables and figures, tried with labeltree: a claim, what is seen, a verdict."""
