"""Text to rows of weighted features."""

from labeltree.text.features import MOST_NAMES, TextFeatures

__all__ = ["MOST_NAMES", "TextFeatures"]
