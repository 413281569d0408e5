"""TextClassifier: text features and a classifier, as one model."""

import copy
import os
import pickle
import subprocess
import sys
import threading
from collections import UserList

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from labeltree import (
    LabelTreeClassifier,
    LOMTreeClassifier,
    OneAgainstAllClassifier,
    ProbabilityTreeClassifier,
    TextClassifier,
    TextFeatures,
    load,
    modelfile,
)
from labeltree.runs import train

SMALL = {"hash_bits": 16}


def make_texts(rows, labels=12, seed=0):
    """Return texts of which some words tell the label."""
    random = np.random.default_rng(seed)
    y = random.integers(0, labels, rows)
    words = [
        [f"w{random.integers(200)}", f"Kind{label}", f"w{random.integers(200)}", f"of-{label % 5}"]
        for label in y
    ]
    return [" ".join(text) for text in words], [f"l{label}" for label in y]


def make_model(**params):
    return TextClassifier(LabelTreeClassifier(random_state=0, bits=16), **SMALL | params)


@pytest.fixture(scope="module")
def texts():
    return make_texts(600)


def content(clf, path):
    clf.save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        LOMTreeClassifier(random_state=0),
        ProbabilityTreeClassifier(random_state=0),
        OneAgainstAllClassifier(random_state=0),
    ],
)
def test_fit_predicts_texts_and_is_saved(texts, estimator, tmp_path):
    X, y = texts
    clf = TextClassifier(estimator, **SMALL).fit(X[:500], y[:500])
    assert clf.score(X[500:], y[500:]) > 0.9
    labels, scores = clf.predict_topk(X[500:], k=3)
    assert labels.shape == scores.shape == (100, 3)
    assert clf.predict_one(X[500]) == clf.predict([X[500]])[0] == labels[0, 0]
    assert clf.predict_one(X[500], k=2)[0][0] == labels[0, 0]
    clf.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert isinstance(again, TextClassifier)
    assert again.predict(X).tolist() == clf.predict(X).tolist()
    assert again.features_.documents_ == 500
    assert again.n_labels_ == clf.n_labels_ == 12
    small = clf.compile()
    assert np.mean(small.predict(X) == clf.predict(X)) > 0.99
    small.save(tmp_path / "small")
    for mmap in (False, True):
        mapped = load(tmp_path / "small", mmap=mmap)
        assert mapped.predict(X).tolist() == small.predict(X).tolist()
    with pytest.raises(ValueError, match="compiled for prediction"):
        small.partial_fit(X, y)


def test_fit_weighs_as_scikit_learn_does(texts):
    X, y = texts
    clf = TextClassifier(LabelTreeClassifier(random_state=0), word_ngrams=1).fit(X, y)
    rows = clf.features_.transform(X)
    expected = TfidfVectorizer(sublinear_tf=True, token_pattern=r"[^\W_]+").fit_transform(X)
    for row in range(20):
        mine = np.sort(rows[row].data)
        np.testing.assert_allclose(mine, np.sort(expected[row].data), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 7, 100, 600])
def test_batches_do_not_matter(texts, tmp_path, size):
    X, y = texts
    whole, parts = make_model(), make_model()
    for clf, step in ((whole, 300), (parts, size)):
        clf.partial_fit(X[:100], y[:100])
        for start in range(100, len(X), step):
            clf.partial_fit(X[start : start + step], y[start : start + step])
    assert content(whole, tmp_path / "a") == content(parts, tmp_path / "b")
    assert whole.features_.documents_ == len(X)


def test_training_goes_on_bit_for_bit(texts, tmp_path):
    X, y = texts
    one = make_model().partial_fit(X[:300], y[:300])
    one.save(tmp_path / "m")
    other, third = load(tmp_path / "m"), pickle.loads(pickle.dumps(one))
    fourth = copy.deepcopy(one)
    expected = content(one.partial_fit(X[300:], y[300:]), tmp_path / "a")
    for clf in (other, third, fourth):
        assert content(clf.partial_fit(X[300:], y[300:]), tmp_path / "b") == expected


def test_prediction_changes_nothing(texts, tmp_path):
    X, y = texts
    clf = make_model().partial_fit(X[:300], y[:300])
    before = content(clf, tmp_path / "a")
    clf.predict(X)
    clf.predict_topk(X)
    clf.predict_proba(X)
    clf.score(X, y)
    clf.explain(X[0])
    clf.predict_one("never seen")
    assert content(clf, tmp_path / "a") == before


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ("one text", ["a"], "X is one text, expected a list of texts"),
        (["a", None], ["a", "b"], "row 1 of X is None, of type NoneType: expected a str"),
        (["a", 0.5], ["a", "b"], "row 1 of X is 0.5, of type float"),
        ([["a"]], ["a"], r"row 0 of X is \['a'\], of type list"),
        (np.array([["a"], ["b"]]), ["a", "b"], r"X has shape \(2, 1\), expected one column"),
        (["a"], ["a", "b"], "inconsistent numbers of samples"),
        (["a", "b"], pd.Series(["a", None]), "row 1 of y has nan for a label"),
        (["a", "b"], pd.Series(["a", None], dtype=object), "row 1 of y has None for a label"),
        (["a", "b"], [["a"], ["b"]], "y gives labels as a set a row"),
        (["\ud800"], ["a"], "half of a character"),
        ([], [], "X has no texts"),
        (pa.array(["a", None]), ["a", "b"], "row 1 of X is null"),
        (pa.array([1, 2]), ["a", "b"], "X is a column of int64, expected one of strings"),
    ],
)
def test_a_refused_call_changes_nothing(texts, tmp_path, X, y, message):
    clf = make_model().partial_fit(*texts)
    before = content(clf, tmp_path / "a")
    with pytest.raises(ValueError, match=message):
        clf.partial_fit(X, y)
    assert content(clf, tmp_path / "a") == before
    with pytest.raises(ValueError, match=message):
        make_model().fit(X, y) if "set a row" not in message else clf.score(X, y)


def test_interrupts_leave_counts_and_learner_together(texts, monkeypatch):
    X, y = texts
    clf = make_model().partial_fit(X[:100], y[:100])
    learner = type(clf.estimator_)
    learn = learner._learn

    def interrupted(self, batch, order, **options):
        learn(self, batch, order[:37], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(learner, "_learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X[100:200], y[100:200])
    monkeypatch.setattr(learner, "_learn", learn)
    assert clf.features_.documents_ == clf.examples_ == 137
    expected = make_model().partial_fit(X[:100], y[:100]).partial_fit(X[100:137], y[100:137])
    assert [a.tolist() for a in clf.features_._core.counts()] == [
        a.tolist() for a in expected.features_._core.counts()
    ]


def test_rows_of_weight_zero_are_not_counted(texts):
    X, y = texts
    weight = np.arange(len(X)) % 3 != 0
    for method in ("fit", "partial_fit"):
        clf = getattr(make_model(), method)(X, y, sample_weight=weight.astype(float))
        assert clf.features_.documents_ == weight.sum()


def test_a_second_pass_counts_nothing(texts):
    X, y = texts
    clf = make_model().partial_fit(X, y)
    clf.begin_pass(again=True)
    clf.partial_fit(X, y)
    assert clf.features_.documents_ == len(X)
    clf.begin_pass(again=False)
    clf.partial_fit(X, y)
    assert clf.features_.documents_ == 2 * len(X)


def test_columns_of_all_kinds(texts):
    X, y = texts
    expected = make_model().fit(X, y).predict(X).tolist()
    for column in (
        np.array(X),
        np.array(X, dtype=object),
        pd.Series(X, index=range(5, 5 + len(X))),
        pd.Series(X, dtype="string"),
        pa.array(X),
        pa.chunked_array([X[:250], X[250:]]),
        pa.array(X).dictionary_encode(),
        pa.array(X, pa.large_string()),
        UserList(X),  # a sequence and no more, as columns of Hugging Face's datasets are
    ):
        assert make_model().fit(column, y).predict(column).tolist() == expected


def test_label_sets(texts, tmp_path):
    X, y = texts
    sets = [[label, f"mod {len(label) % 2}"] for label in y]
    clf = make_model().fit(X, sets)
    assert sorted(clf.predict(X[:1])[0]) == sorted(sets[0])
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").multilabel_
    indicator = sp.csr_matrix(np.eye(12)[[int(label[1:]) for label in y]])
    assert make_model().fit(X, indicator).predict(X[:3]).shape == (3, 12)


def test_explain_says_which_words_decided(texts):
    X, y = texts
    clf = make_model().fit(X, y)
    found = clf.explain("w1 Kind3 w2", k=4)
    assert found.labels[0][0] == "l3"
    assert len(found.labels) == 4
    assert found.parts[0].part == "Kind3"
    assert found.parts[0].change < 0
    named = make_model(keep_names=True).fit(X, y).explain("Kind3 unheard")
    assert {part.part for part in named.parts} == {"kind3", "unheard (not met in training)"}
    assert [part.part for part in clf.explain("猫").parts] == ["猫"]
    with pytest.raises(ValueError, match="x is a list, expected one text, a str"):
        clf.explain(["a"])
    with pytest.raises(ValueError, match="k is 0"):
        clf.explain("a", k=0)


def test_scikit_learn_conventions(texts):
    X, y = texts
    clf = TextClassifier(LabelTreeClassifier(beam=7), word_ngrams=1)
    assert clone(clf).get_params()["estimator__beam"] == 7
    assert clf.set_params(estimator__beam=8).estimator.beam == 8
    with pytest.raises(NotFittedError, match="learned nothing yet"):
        clf.predict(X)
    with pytest.raises(AttributeError):
        _ = clf.classes_
    with pytest.raises(ValueError, match="word_ngrams"):
        TextClassifier(word_ngrams=17).fit(X, y)
    with pytest.raises(ValueError, match="leaves no features"):
        TextClassifier(word_ngrams=0).fit(X, y)
    with pytest.raises(ValueError, match="expected a classifier of labeltree"):
        TextClassifier(object()).fit(X, y)
    assert not hasattr(TextClassifier(LOMTreeClassifier()), "label_proba")
    assert hasattr(TextClassifier(ProbabilityTreeClassifier()), "label_proba")
    pipe = make_pipeline(TextFeatures(**SMALL), LabelTreeClassifier(random_state=0))
    assert pipe.fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.9


def test_terminal_and_python_share_models(texts, tmp_path):
    X, y = texts
    data, m = tmp_path / "a.tsv", tmp_path / "m"
    data.write_text("".join(f"{label}\t{text}\n" for label, text in zip(y, X, strict=True)))
    params = {"random_state": 0, "bits": 16}
    train([str(data)], m, params=params, text_options=SMALL)
    from_terminal = load(m)
    in_python = TextClassifier(LabelTreeClassifier(**params), **SMALL).partial_fit(X, y)
    assert from_terminal.predict(X).tolist() == in_python.predict(X).tolist()
    in_python.save(m)
    command = [sys.executable, "-m", "labeltree", "predict", str(m), str(data)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found.splitlines() == in_python.predict(X).tolist()
    train([str(data)], tmp_path / "n", resume=m)  # the other way round
    assert load(tmp_path / "n").examples_ == 2 * len(X)


def test_files_whose_text_part_lies(texts, tmp_path):
    make_model(keep_names=True).fit(*texts).save(tmp_path / "m")
    header, arrays = modelfile.read(tmp_path / "m")

    def refused(change, match):
        changed = copy.deepcopy(header), dict(arrays)
        change(*changed)
        modelfile.write(tmp_path / "lie", *changed)
        with pytest.raises(modelfile.ModelFileError, match=match):
            load(tmp_path / "lie")

    refused(lambda h, _: h["text"].pop("idf"), "text lacks idf")
    refused(lambda h, _: h["text"].update(idf=1), "text.idf is 1")
    refused(lambda h, _: h["text"].update(documents=-1), "text.documents is -1")
    refused(lambda h, _: h["text"].update(documents=2**60), "text.documents is")
    refused(lambda h, _: h["text"].update(documents=0), "of no documents")
    refused(
        lambda _, a: a.update({"text.name_features": a["text.name_features"] + 2**20}),
        "a name is of no feature",
    )
    refused(lambda h, _: h["text"].update(hash_bits=30), "are not those of the classifier")
    refused(lambda h, _: h["text"].update(hash_bits=2**40), "hash_bits")
    refused(lambda h, _: h["text"].update(word_ngrams=[1]), "word_ngrams")
    refused(lambda h, _: h["text"].update(char_ngrams=[3]), "char_ngrams")
    refused(lambda h, _: h.update(text=[]), "text is a list")
    refused(lambda _, a: a.pop("text.counts"), "arrays of the text features")
    refused(lambda _, a: a.update({"text.places": a["text.places"] + 2**20}), "of no feature")
    refused(lambda _, a: a.update({"text.counts": a["text.counts"][1:]}), "lack their features")
    refused(lambda _, a: a.update({"text.counts": a["text.counts"].astype("f4")}), "another type")
    refused(lambda _, a: a.update({"text.names": a["text.names"][:-1]}), "more features than names")


def test_threads_learn_and_predict(texts):
    X, y = texts
    clf = make_model().partial_fit(X[:50], y[:50])
    failures, done = [], threading.Event()

    def ask():
        try:
            while not done.is_set():
                clf.predict(X[:20])
                clf.compile().predict_one(X[0])
                pickle.dumps(clf)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for start in range(50, 600, 10):
        clf.partial_fit(X[start : start + 10], y[start : start + 10])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert clf.features_.documents_ == clf.examples_ == 600


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_ends_the_counting_is_not_counted(texts, tmp_path, monkeypatch, error):
    X, y = texts
    clf = make_model(keep_names=True).partial_fit(X[:100], y[:100])
    before = content(clf, tmp_path / "a")
    rows = TextFeatures._rows

    def failing(self, texts, marks, names=None):
        rows(self, texts[:37], marks[:37], names)  # some were counted
        raise error

    monkeypatch.setattr(TextFeatures, "_rows", failing)
    with pytest.raises(error):
        clf.partial_fit(X[100:], y[100:])
    monkeypatch.setattr(TextFeatures, "_rows", rows)
    assert content(clf, tmp_path / "b") == before


def test_a_refused_call_leaves_no_names(texts, tmp_path):
    clf = make_model(keep_names=True).partial_fit(*texts)
    before = content(clf, tmp_path / "a")
    with pytest.raises(ValueError, match="a set a row"):
        clf.partial_fit(["words never met"], [["a", "b"]])
    assert content(clf, tmp_path / "a") == before


def test_fit_is_not_lost_to_a_call_that_was_running(texts, monkeypatch):
    X, y = texts
    clf = make_model().partial_fit(X, y)
    learner = type(clf.estimator_)
    learn, started, fitted = learner._learn, threading.Event(), threading.Event()

    def slow(self, batch, order, **options):
        if threading.current_thread() is thread:
            started.set()
            assert fitted.wait(20)
        learn(self, batch, order, **options)

    monkeypatch.setattr(learner, "_learn", slow)
    thread = threading.Thread(target=clf.partial_fit, args=(X, y))
    thread.start()
    assert started.wait(20)
    clf.fit(["one", "two"], ["a", "b"])
    fitted.set()
    thread.join()
    assert clf.classes_.tolist() == ["a", "b"]


def test_numbers_of_numpy_are_saved(texts, tmp_path):
    params = {"word_ngrams": np.int64(2), "char_ngrams": (np.int64(3), np.int64(4))}
    params |= {"hash_bits": np.int64(16), "idf": np.bool_(True), "keep_names": np.bool_(True)}
    clf = TextClassifier(LabelTreeClassifier(random_state=0, bits=16), **params).fit(*texts)
    clf.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(texts[0]).tolist() == clf.predict(texts[0]).tolist()


def test_long_texts_are_explained_by_some_of_their_words(texts):
    long = " ".join(f"word{i}" for i in range(20_000))
    for keep_names in (False, True):
        assert make_model(keep_names=keep_names).fit(*texts).explain(long).parts


@pytest.mark.parametrize("after", [False, True])
def test_ctrl_c_while_errors_are_counted(texts, monkeypatch, after):
    X, y = texts
    clf = make_model().partial_fit(X[:100], y[:100])
    learner = type(clf.estimator_)
    count, calls = learner._count, []

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == 1:
            if after:
                count(self, *args)
            raise KeyboardInterrupt
        count(self, *args)

    monkeypatch.setattr(learner, "_count", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X[100:], y[100:])
    assert clf.progress_.examples == clf.examples_ == clf.features_.documents_ == len(X)


def test_a_threshold_takes_effect_in_what_was_learned(tmp_path):
    texts = ["a cat purrs", "a dog barks", "cat and dog play"] * 20
    sets = [["cat"], ["dog"], ["cat", "dog"]] * 20
    TextClassifier(LabelTreeClassifier(random_state=0)).fit(texts, sets).save(tmp_path / "m")
    clf = load(tmp_path / "m")
    clf.set_params(estimator__threshold=0.0)
    assert clf.predict(["a cat purrs"]) == [["cat", "dog"]]
    clf.set_params(estimator__threshold=1.0, estimator__candidates=3)
    assert clf.predict(["zzz"]) == [[]]
    assert clf.estimator_.candidates is None  # which waits for the next fit


def test_features_never_seen_take_little_memory():
    if "LD_PRELOAD" in os.environ:
        pytest.skip("memory is not mapped in pages where a sanitizer watches")

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    texts, y = make_texts(100)
    TextClassifier(LabelTreeClassifier(replay=0), **SMALL).partial_fit(texts, y)
    before = resident()
    clf = TextClassifier(LabelTreeClassifier(replay=0)).partial_fit(texts, y)  # of 2^24
    assert resident() - before < 50e6
    assert clf.predict(texts[:1])[0] in y


PETS = ["it purrs", "it barks", "it sings", "it purrs"] * 5


@pytest.mark.parametrize("convert", [int, str])
def test_labels_of_another_type_are_refused_and_change_nothing(convert):
    other = str if convert is int else int
    y = [1, 2, 3, 1] * 5
    clf = TextClassifier().fit(PETS, list(map(convert, y)))
    before, classes = clf.contents(), clf.classes_.tolist()
    with pytest.raises(ValueError, match=f"convert them, as by .{convert.__name__}"):
        clf.partial_fit(PETS, list(map(other, y)))
    with pytest.raises(ValueError, match="would be another label"):
        clf.learn_one("it purrs", other(1))
    after = clf.contents()
    assert clf.classes_.tolist() == classes
    assert after.header == before.header
    assert all(np.array_equal(after.arrays[name], before.arrays[name]) for name in before.arrays)
    with pytest.raises(ValueError, match=r"no type in common: .* received .* convert y"):
        clf.score(PETS, list(map(other, y)))
    assert clf.score(PETS, list(map(convert, y))) == 1
    assert clf.score(PETS[:2], ["a", 1]) <= 1  # of both types


def test_a_first_batch_with_both_forms_of_a_label_is_refused():
    clf = TextClassifier()
    for learn in (clf.fit, clf.partial_fit):
        with pytest.raises(ValueError, match="the labels 1, of type int, and '1', of type str"):
            learn(["it purrs", "it barks"], [1, "1"])
    assert not clf.__sklearn_is_fitted__()
