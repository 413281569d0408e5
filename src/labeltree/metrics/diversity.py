"""How many equally likely labels a label distribution, or a loss, is worth."""

import math

import numpy as np

from labeltree.metrics.labelsets import LabelsLike, label_sets


def effective_labels(y: LabelsLike) -> float:
    """Compute the entropy-equivalent number of labels: exp(H), H the entropy of the labels.

    It is the number of equally likely labels whose distribution has the same entropy (with H in
    bits it is 2^H, the same number), so a data set of 100 000 labels of which a few dominate may
    be worth only some hundreds. With several labels an example, the distribution is that of all
    label occurrences.

    Parameters
    ----------
    y : array, list or sparse indicator
        True labels.

    Returns
    -------
    float
        Between 1 and the number of distinct labels; 0 if no example has a label.

    Examples
    --------
    >>> from labeltree.metrics import effective_labels
    >>> round(effective_labels(["a", "b", "c", "d"]), 6)
    4.0
    >>> round(effective_labels(["a", "a", "b", "c"]), 4)
    2.8284
    """
    counts = label_sets(y).counts
    counts = counts[counts > 0]
    if len(counts) == 0:
        return 0.0
    p = counts / counts.sum()
    return math.exp(-float(np.sum(p * np.log(p))))


def equivalent_labels(loss: float) -> float:
    """Compute the number of equally likely labels that cost the same squared loss.

    The "Equivalent" column of Beygelzimer et al., "Conditional probability tree estimation
    analysis and algorithms" (UAI 2009), section 4.3.2: guessing P(y|x) = 1/m for m labels costs
    (1 - 1/m)^2, so m = 1 / (1 - sqrt(loss)).

    Parameters
    ----------
    loss : float
        A squared loss, between 0 and 1, such as ``squared_loss(p).value``.

    Returns
    -------
    float
        At least 1; infinite for a loss of 1.

    Examples
    --------
    >>> from labeltree.metrics import equivalent_labels
    >>> round(equivalent_labels(0.7632), 2)
    7.91
    """
    if not 0 <= loss <= 1:
        raise ValueError(
            f"loss must be a squared loss between 0 and 1, but is {loss!r}; "
            "pass squared_loss(p).value."
        )
    return 1 / (1 - math.sqrt(loss)) if loss < 1 else math.inf
