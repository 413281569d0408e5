"""Estimators are scikit-learn's for whoever asks, and do not import it for those who do not."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNCHANGED

from labeltree import (
    LabelTreeClassifier,
    OneAgainstAllClassifier,
    RecallTreeClassifier,
    TextClassifier,
    TextFeatures,
)
from labeltree.conventions import check_random_state

X, Y = np.eye(4).repeat(6, axis=0), np.array([*"abcd"]).repeat(6)
TEXTS = ["it purrs", "it barks", "it sings"] * 6
ANIMALS = ["cat", "dog", "bird"] * 6

LIGHT = "assert not {'sklearn', 'joblib', 'pandas', 'scipy.stats'} & set(sys.modules), sys.modules"
ALL_OF_A_LIFE = """
import pickle, sys
import numpy as np
import scipy.sparse as sp
import labeltree
from labeltree.estimators import ESTIMATORS

X, y = np.eye(4).repeat(3, axis=0), [*"aaabbbcccddd"]
forms = (X, X.tolist(), X.astype(int), np.asfortranarray(X), sp.csr_matrix(X), sp.coo_array(X))
labels = (y, np.array(y), np.array(y, dtype=object), np.arange(12) % 4, np.arange(12) % 4 / 1.0)
sets = ([[label] for label in y], np.eye(4, dtype=int).repeat(3, axis=0))
for name, estimator in ESTIMATORS.items():
    for rows in forms:
        clf = estimator(random_state=0).fit(rows, y).partial_fit(rows, y, sample_weight=np.ones(12))
        assert clf.predict(rows).shape == (12,)
        clf.score(rows, y, sample_weight=[1] * 12)
    for each in (*labels, *(sets if estimator._takes_sets else ())):
        clf = estimator(random_state=0).fit(X, each)
        clf.predict_topk(X)
        if hasattr(clf, "predict_proba"):
            clf.predict_proba(X)
            clf.predict_log_proba(X), clf.decision_function(X)
    clf = estimator(random_state=0).fit(X, y).learn_one(X[0], "a")
    clf.predict_one(X[0])
    clf.set_params(n_jobs=2).get_params()
    pickle.loads(pickle.dumps(clf)).save(path)
    labeltree.load(path).compile().save(path)
    labeltree.load(path, mmap=True).predict(X)
    assert repr(clf)
texts = labeltree.TextClassifier().fit(["it purrs", "it barks"], ["cat", "dog"])
texts.partial_fit(["it sings"], ["bird"]).save(path)
labeltree.load(path).predict(["it purrs"]), texts.explain("it sings"), texts.compile()
labeltree.TextFeatures().fit_transform(["it purrs"])
labeltree.merge([labeltree.TextClassifier().fit(["it purrs"], ["cat"])] * 2)
"""
COMMANDS = """
import contextlib, pathlib, sys
from labeltree.cli import main

pathlib.Path("data.txt").write_text("__label__cat it purrs\\n__label__dog it barks\\n" * 9)
model = ["--model", "m.labeltree"]
for arguments in (["train", "data.txt", *model], ["predict", "m.labeltree", "data.txt"]):
    sys.argv = ["labeltree", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, stop.code
"""


SERVER = """
import json, pathlib, sys, urllib.request
from labeltree.serve.service import Service
from tests.serve.conftest import NEW, serving

def post(url, **body):
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers)
    return json.load(urllib.request.urlopen(request, timeout=60))

folder = pathlib.Path()
with serving(Service.open(folder / "m.labeltree", folder / "log", NEW)) as server:
    for text, label in [("it purrs", "cat"), ("it barks", "dog")] * 4:
        post(server.url + "/v1/learn", text=text, labels=[label])
    answer = post(server.url + "/v1/predict", text="it purrs", k=1)
assert answer["labels"][0]["label"] == "cat", answer
"""


def run(code, folder):
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(command, check=True, cwd=folder, env=environment, timeout=300)


def test_nothing_of_an_estimators_life_needs_scikit_learn(tmp_path):
    run(f"path = 'm.labeltree'\n{ALL_OF_A_LIFE}\n{LIGHT}", tmp_path)


def test_the_command_line_needs_no_scikit_learn(tmp_path):
    run(f"{COMMANDS}\n{LIGHT}", tmp_path)
    assert (tmp_path / "m.labeltree").stat().st_size


def test_a_server_needs_no_scikit_learn(tmp_path):
    pytest.importorskip("starlette", reason="needs labeltree[serve]")
    run(f"{SERVER}\n{LIGHT}", tmp_path)


def test_clone_copies_parameters_and_requests():
    clf = TextClassifier(RecallTreeClassifier(n_trees=2), char_ngrams=(2, 3)).fit(TEXTS, ANIMALS)
    other = clone(clf)
    assert repr(other.get_params()) == repr(clf.get_params())
    assert other.get_params()["estimator__n_trees"] == 2
    assert other.estimator is not clf.estimator
    assert not other.__sklearn_is_fitted__()
    random = np.random.RandomState(0)
    assert clone(LabelTreeClassifier(random_state=random)).random_state is not random
    with sklearn.config_context(enable_metadata_routing=True):
        requested = LabelTreeClassifier().set_fit_request(sample_weight=True)
    assert clone(requested).get_metadata_routing().fit.requests["sample_weight"] is True


def test_parameters_are_set_by_their_names():
    clf = TextClassifier(LabelTreeClassifier())
    assert clf.set_params(idf=False, estimator__n_trees=3) is clf
    assert (clf.idf, clf.estimator.n_trees) == (False, 3)
    assert [*clf.get_params(deep=False)] == TextClassifier._get_param_names()
    with pytest.raises(ValueError, match=r"'trees' for estimator LabelTree.*: \['C', 'alpha'"):
        clf.set_params(estimator__trees=3)


def test_in_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), OneAgainstAllClassifier(random_state=0))
    assert cross_val_score(pipeline, X, Y, cv=3).mean() == 1
    search = GridSearchCV(pipeline, {"oneagainstallclassifier__passes": [1, 2]}, cv=2)
    assert search.fit(X, Y).score(X, Y) == 1
    texts = make_pipeline(TextFeatures(hash_bits=10), LogisticRegression())
    assert texts.fit(TEXTS, ANIMALS).predict(["it barks"]).tolist() == ["dog"]
    assert is_classifier(LabelTreeClassifier())
    assert is_classifier(TextClassifier())


def test_tags():
    assert get_tags(LabelTreeClassifier()).classifier_tags.multi_label
    assert not get_tags(RecallTreeClassifier()).classifier_tags.multi_label
    tags = get_tags(TextClassifier())
    assert tags.input_tags.string
    assert tags.target_tags.required
    tags = get_tags(TextFeatures())
    assert tags.transformer_tags is not None
    assert tags.estimator_type is None


@sklearn.config_context(enable_metadata_routing=True)
def test_weights_are_routed_where_they_are_requested():
    weight = np.where(Y == "a", 0.0, 1.0)
    clf = RecallTreeClassifier(random_state=0)
    pipeline = make_pipeline(Normalizer(), clf)
    with pytest.raises(ValueError, match=r"sample_weight.* RecallTreeClassifier\.fit"):
        pipeline.fit(X, Y, sample_weight=weight)
    assert clf.set_fit_request(sample_weight=True, verbose=UNCHANGED) is clf
    clf.set_score_request(sample_weight=True).set_partial_fit_request(sample_weight="importance")
    pipeline.fit(X, Y, sample_weight=weight)
    assert pipeline[-1].classes_.tolist() == [*"abcd"]
    assert pipeline[-1].n_labels_ == 3
    assert pipeline.score(X, Y, sample_weight=weight) == 1
    with pytest.raises(TypeError, match="set_fit_request was called for 'weight', expected what"):
        clf.set_fit_request(weight=True)
    kept = pickle.loads(pickle.dumps(clf)).get_metadata_routing()
    assert kept.fit.requests == {"sample_weight": True, "verbose": None}
    assert kept.partial_fit.requests == {
        "classes": None,
        "sample_weight": "importance",
        "row_numbers": None,
    }


def test_requests_are_there_for_what_a_method_takes():
    assert hasattr(LabelTreeClassifier(), "set_predict_proba_request")
    assert not hasattr(TextClassifier(), "set_predict_proba_request")
    assert not hasattr(TextFeatures(), "set_fit_request")
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        LabelTreeClassifier().set_fit_request(sample_weight=True)


def test_the_requests_are_those_that_scikit_learn_reads_from_signatures():
    class Own(BaseEstimator):
        fit, partial_fit = LabelTreeClassifier.fit, LabelTreeClassifier.partial_fit
        score, predict = LabelTreeClassifier.score, LabelTreeClassifier.predict
        predict_proba = LabelTreeClassifier.predict_proba

    ours, theirs = (each().get_metadata_routing() for each in (LabelTreeClassifier, Own))
    for method in ("fit", "partial_fit", "score", "predict", "predict_proba", "transform"):
        assert getattr(ours, method).requests == getattr(theirs, method).requests


def test_set_output_leaves_rows_sparse():
    features = TextFeatures(hash_bits=8).set_output(transform="default")
    assert features.fit_transform(TEXTS).shape == (18, 256)
    assert clone(features.set_output()).transform is not None
    with pytest.raises(ValueError, match=r"'pandas', expected 'default'.* of 256 columns"):
        features.set_output(transform="pandas").transform(TEXTS)
    clf = TextClassifier().fit(TEXTS, ANIMALS)
    with sklearn.config_context(transform_output="pandas"):
        with pytest.raises(ValueError, match="'pandas', expected 'default'"):
            TextFeatures().fit_transform(TEXTS)
        assert TextFeatures().set_output(transform="default").fit_transform(TEXTS).shape[0] == 18
        assert clf.predict(["it purrs"]).tolist() == ["cat"]  # whose rows nobody sees


@pytest.mark.parametrize(
    "clf",
    [LabelTreeClassifier(n_trees=2), TextClassifier(RecallTreeClassifier()), TextFeatures()],
)
def test_notebooks_show_the_parameters(clf):
    html = clf._repr_html_()
    assert type(clf).__name__ in html
    assert clf._repr_mimebundle_()["text/plain"] == repr(clf)
    assert "text/html" in clf._repr_mimebundle_()
    with sklearn.config_context(display="text"):
        assert not hasattr(clf, "_repr_html_")
        assert [*clf._repr_mimebundle_()] == ["text/plain"]
    inside = make_pipeline(clf)._repr_html_()
    assert type(clf).__name__ in inside
    if hasattr(BaseEstimator, "_get_params_html"):  # there are tables since 1.7
        assert all(name in inside for name in clf.get_params(deep=False))


def test_repr_has_what_was_given():
    clf = LabelTreeClassifier(n_trees=2, scale="auto")
    assert repr(clf) == "LabelTreeClassifier(n_trees=2)"
    assert repr(TextClassifier(clf, idf=False)) == f"TextClassifier(estimator={clf!r}, idf=False)"
    assert repr(make_pipeline(clf)).endswith(f"[('labeltreeclassifier', {clf!r})])")


def test_what_was_not_fitted_is_scikit_learns_error():
    for ask in (LabelTreeClassifier().predict, TextFeatures().transform):
        with pytest.raises(NotFittedError, match="instance is not fitted yet"):
            ask([[0.0]])
    with pytest.raises(NotFittedError, match="has learned nothing yet"):
        TextClassifier().predict(["it purrs"])


def test_methods_that_some_lack():
    hinge = OneAgainstAllClassifier(loss="hinge")
    assert not hasattr(hinge, "predict_proba")
    with pytest.raises(AttributeError, match="'OneAgainstAllClassifier' has no attribute"):
        hinge.predict_proba(X)
    assert "probability of every label" in OneAgainstAllClassifier.predict_proba.__doc__


def test_seeds():
    assert check_random_state(None) is np.random.mtrand._rand
    random = np.random.RandomState(1)
    assert check_random_state(random) is random
    expected = sklearn.utils.check_random_state(7).randint(100, size=5)
    assert check_random_state(np.int32(7)).randint(100, size=5).tolist() == expected.tolist()


def test_threads_that_begin_with_different_parts_of_scikit_learn_all_get_them():
    code = """
import threading, numpy as np
from labeltree import LabelTreeClassifier
clf = LabelTreeClassifier(random_state=0).fit(np.random.rand(50, 4), np.arange(50) % 3)
calls = [
    lambda: clf.predict(np.full((2, 4), np.nan)),
    lambda: LabelTreeClassifier().predict(np.ones((2, 4))),
    clf.__sklearn_tags__,
    lambda: clf._repr_html_(),
    clf.get_metadata_routing,
]
start, told = threading.Barrier(len(calls)), [None] * len(calls)
def tell(i):
    start.wait()
    try:
        calls[i]()
        told[i] = "nothing"
    except BaseException as error:
        told[i] = type(error).__name__
threads = [threading.Thread(target=tell, args=(i,)) for i in range(len(calls))]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert told == ["ValueError", "NotFittedError", "nothing", "nothing", "nothing"], told
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


class Asking(LabelTreeClassifier):
    """Asks for weights in all of its estimators, and takes something where others do not."""

    __metadata_request__fit: ClassVar = {"sample_weight": True}

    def predict(self, X, mode=None):  # noqa: ARG002
        return super().predict(X)


def test_requests_of_classes_and_of_methods_that_they_change():
    with sklearn.config_context(enable_metadata_routing=True):
        assert Asking().get_metadata_routing().fit.requests["sample_weight"] is True
        asking = Asking().set_predict_request(mode=True)
        assert asking.get_metadata_routing().predict.requests == {"mode": True}


def test_pages_are_of_one_class_for_each_class():
    clf = LabelTreeClassifier()
    assert type(clf._shown().__self__) is type(LabelTreeClassifier(passes=2)._shown().__self__)


def test_pages_of_pipelines_have_what_was_learned():
    fitted = make_pipeline(StandardScaler(), LabelTreeClassifier(random_state=0)).fit(X, Y)
    if hasattr(BaseEstimator, "_get_fitted_attr_html"):  # from scikit-learn 1.9 on
        assert "n_labels_" in fitted._repr_html_()


def test_parameters_of_an_estimator_that_is_not_there():
    with pytest.raises(ValueError, match="estimator is None, which has no parameter 'passes'"):
        TextClassifier().set_params(estimator__passes=2)


def test_arguments_without_names_are_refused():
    class Unnamed(LabelTreeClassifier):
        def __init__(self, *args):
            super().__init__(*args)

    with pytest.raises(RuntimeError, match=r"Unnamed.__init__ takes \*args"):
        Unnamed().get_params()
