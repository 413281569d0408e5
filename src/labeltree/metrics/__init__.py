"""Metrics for one label or a set of labels out of very many.

True labels are given in any of three forms, everywhere:

- a 1-d array or list of labels, one an example (multi-class);
- a list of collections of labels, one collection an example (multi-label);
- a scipy sparse indicator, examples x labels (multi-label), whose labels are its column numbers.

Predictions of the ``@k`` metrics are the labels ``predict_topk`` returns, best first, or a sparse
matrix of scores. Cost and memory follow the number of true labels and predictions; no array of
examples x labels is ever built.
"""

from labeltree.metrics.calibration import (
    Reliability,
    ReliabilityBin,
    calibration_error,
    reliability,
)
from labeltree.metrics.diversity import effective_labels, equivalent_labels
from labeltree.metrics.losses import Estimate, error, log_loss, squared_loss, wilson
from labeltree.metrics.propensity import Propensities, propensities
from labeltree.metrics.ranking import ndcg_at_k, precision_at_k, psndcg_at_k, psp_at_k

__all__ = [
    "Estimate",
    "Propensities",
    "Reliability",
    "ReliabilityBin",
    "calibration_error",
    "effective_labels",
    "equivalent_labels",
    "error",
    "log_loss",
    "ndcg_at_k",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "reliability",
    "squared_loss",
    "wilson",
]
