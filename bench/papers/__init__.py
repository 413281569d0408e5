"""The papers' tables and figures, tried with labeltree: what they claim, what is seen, a verdict."""
