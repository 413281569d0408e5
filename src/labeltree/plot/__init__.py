"""Pictures of learning and of models; needs matplotlib: ``pip install 'labeltree[plot]'``.

Every function draws on one pair of axes, given or made, and returns them; but `evaluation` puts
several pictures side by side. `style` chooses colours for light or dark pages.
"""

try:
    import matplotlib as _matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("drawing needs matplotlib: pip install 'labeltree[plot]'") from error

from labeltree.plot.curves import accuracy_against_time, learning_curve
from labeltree.plot.evaluation import evaluation, precision_by_frequency, reliability
from labeltree.plot.files import picture_format, write
from labeltree.plot.labelmap import label_map
from labeltree.plot.style import axes, figure, name_lines, palette, style
from labeltree.plot.trees import depth_histogram, leaf_size_histogram

__all__ = [
    "accuracy_against_time",
    "axes",
    "depth_histogram",
    "evaluation",
    "figure",
    "label_map",
    "leaf_size_histogram",
    "learning_curve",
    "name_lines",
    "palette",
    "picture_format",
    "precision_by_frequency",
    "reliability",
    "style",
    "write",
]
