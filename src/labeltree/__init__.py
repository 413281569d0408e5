"""Predict one label, or a set, out of thousands to millions, in logarithmic time."""

from labeltree._version import __version__ as __version__
