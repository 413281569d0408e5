"""What is known of rows in several places."""

import numpy as np

from labeltree import LabelTreeClassifier
from labeltree.datasets import make_multiclass
from labeltree.estimators.survey import ShardSurvey

X, y = make_multiclass(300, 20, n_features=100)


def test_surveys_add_up_to_that_of_all_rows():
    clf = LabelTreeClassifier()
    order = np.argsort(y, kind="stable")  # so that parts have other labels
    parts = [clf.survey(X[part], y[part]) for part in np.array_split(order, 3)]
    total = ShardSurvey.total([ShardSurvey.total(parts[:2]), parts[2]])
    expected = clf.survey(X, y)
    assert total.labels == expected.labels
    assert (total.rows, total.given_labels) == (300, 300)
    np.testing.assert_allclose(total.sums.toarray(), expected.sums.toarray(), rtol=1e-6)


def test_a_survey_alone_is_not_copied():
    one = LabelTreeClassifier().survey(X, y)
    assert ShardSurvey.total([one]) is one
