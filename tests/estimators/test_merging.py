"""What holds of models that were trained apart and are merged."""

import numpy as np
import pytest
import scipy.sparse as sp

from labeltree import (
    LabelTreeClassifier,
    LdSMClassifier,
    OneAgainstAllClassifier,
    ProbabilityTreeClassifier,
    RecallTreeClassifier,
    TextClassifier,
    load,
    merge,
)
from labeltree.datasets import make_multiclass
from tests.reference import merging as reference

X, y = make_multiclass(1600, 40)
X = sp.csr_matrix(X)
TRAIN, TEST = slice(0, 1200), slice(1200, 1600)
HALVES = slice(0, 600), slice(600, 1200)
DENSE = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
FEW = np.random.default_rng(1).choice(["a", "b", "c"], 300)


def states(clf):
    return clf.contents().arrays


def same(one, other):
    a, b = states(one), states(other)
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def halves(cls, how="fit", **params):
    return [getattr(cls(random_state=0, **params), how)(X[part], y[part]) for part in HALVES]


def test_one_against_all_averages_as_the_reference_does():
    parts = [slice(0, 100), slice(100, 300)]
    labels = [np.where(FEW[parts[0]] == "c", "b", FEW[parts[0]]), FEW[parts[1]]]  # c is in one
    models = [
        OneAgainstAllClassifier(random_state=0, scale="none").fit(DENSE[part], label)
        for part, label in zip(parts, labels, strict=True)
    ]
    merged = merge(models)
    assert merged.classes_.tolist() == ["a", "b", "c"]
    read = [reference.dense_models(states(m), len(m.classes_), 5) for m in models]
    found = reference.dense_models(states(merged), 3, 5)
    for (label, feature), (weight, total) in found.items():
        every = [
            (*one[label, feature], model.examples_)
            for one, model in zip(read, models, strict=True)
            if (label, feature) in one
        ]
        assert (weight, total) == pytest.approx(reference.average(every), rel=1e-5, abs=1e-7)
    assert merged.examples_ == sum(m.examples_ for m in models)
    assert merged.progress_.examples == sum(m.progress_.examples for m in models)


@pytest.mark.parametrize("update", ["adaptive", "dual"])
def test_models_that_went_on_from_one_are_merged_as_the_reference_does(update):
    params = {"scale": "none", "update": update, "random_state": 0}
    base = OneAgainstAllClassifier(**params).partial_fit(DENSE[:50], FEW[:50], classes=list("abc"))
    arrays = base.contents()
    models = []
    for part in (slice(50, 150), slice(150, 300)):
        model = OneAgainstAllClassifier(**params)
        model.__setstate__(base.__getstate__())
        models.append(model.partial_fit(DENSE[part], FEW[part]))
    merged = merge(models, base=base)
    start = reference.dense_models(arrays.arrays, 3, 5)
    read = [reference.dense_models(states(m), 3, 5) for m in models]
    for key, (weight, total) in reference.dense_models(states(merged), 3, 5).items():
        expected = reference.go_on(start[key], [one[key] for one in read])
        assert weight == pytest.approx(expected[0], rel=1e-4, abs=1e-6)
        assert total == pytest.approx(expected[1], rel=1e-4, abs=1e-6)
    assert merged.examples_ == 300
    assert merged.progress_.examples == 300
    assert states(merged)["counts"].sum() == 300


@pytest.mark.parametrize("layout", ["auto", "dense", "hashed"])
@pytest.mark.parametrize(
    "cls", [OneAgainstAllClassifier, LabelTreeClassifier, ProbabilityTreeClassifier]
)
def test_one_model_alone_is_merged_to_itself(cls, layout):
    clf = cls(random_state=0, layout=layout, bits=16).fit(X[TRAIN], y[TRAIN])
    alone = merge([clf])
    np.testing.assert_array_equal(alone.predict(X[TEST]), clf.predict(X[TEST]))
    for model in (alone, merge([clf], base=clf)):
        np.testing.assert_allclose(
            model.predict_topk(X[TEST], 3)[1], clf.predict_topk(X[TEST], 3)[1], rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("kind", ["labels", "sets"])
def test_merged_label_trees_know_the_labels_of_all_and_predict_better(how, kind, tmp_path):
    of_first = np.flatnonzero(y[:1200] < 30)[:500]
    of_second = np.flatnonzero(y[:1200] >= 10)[-500:]
    sets = [[int(label), 100 + int(label) % 3] for label in y]
    models = []
    for rows in (of_first, of_second):
        labels = y[rows] if kind == "labels" else [sets[i] for i in rows]
        clf = LabelTreeClassifier(random_state=0, layout="dense", scale="none", n_trees=1)
        models.append(getattr(clf, how)(X[rows], labels))
    truth = y[TEST] if kind == "labels" else sets[TEST]
    merged = merge(models)

    def precision(clf):
        best = clf.predict_topk(X[TEST], 1)[0][:, 0]
        return np.mean([b in np.atleast_1d(t) for b, t in zip(best, truth, strict=True)])

    assert set(merged.classes_) == {label for clf in models for label in clf.classes_}
    assert merged.n_trees_ == 2
    assert precision(merged) > max(map(precision, models))
    merged.save(tmp_path / "m.labeltree")
    same(load(tmp_path / "m.labeltree"), merged)
    before = merged.examples_
    assert (
        merged.partial_fit(X[:9], y[:9] if kind == "labels" else sets[:9]).examples_ == before + 9
    )


def test_streams_whose_trees_may_be_grown_anew_are_merged_and_go_on(tmp_path):
    first, second = (
        LabelTreeClassifier(random_state=0, layout="dense", index_length=0).partial_fit(
            X[rows], y[rows]
        )
        for rows in (np.flatnonzero(y[:1200] < 30)[:500], np.flatnonzero(y[:1200] >= 10)[-500:])
    )
    merged = merge([first, second])
    assert set(merged.classes_) == {*first.classes_, *second.classes_}
    merged.save(tmp_path / "m.labeltree")
    same(load(tmp_path / "m.labeltree"), merged)
    score, rows = merged.score(X[TEST], y[TEST]), states(merged)["regrowth_rows"][0]
    assert score > max(first.score(X[TEST], y[TEST]), second.score(X[TEST], y[TEST]))
    for _ in range(3):
        merged.partial_fit(X[:1200], y[:1200])
    assert states(merged)["regrowth_rows"][0] > rows  # trees were grown anew once more
    assert merged.score(X[TEST], y[TEST]) >= score


def test_a_base_that_models_did_not_go_on_from_is_refused():
    one, two = halves(OneAgainstAllClassifier, how="partial_fit", scale="none")
    longer = one.__class__(**one.get_params()).partial_fit(X[TRAIN], y[TRAIN])
    longer.partial_fit(X[TRAIN], y[TRAIN])
    with pytest.raises(ValueError, match=r"model 1 has learned .* did not go on from there"):
        merge([one, two], base=longer)
    other = one.__class__(**one.get_params()).partial_fit(X[:1], [12345])
    with pytest.raises(ValueError, match="base has labels that model 1 lacks"):
        merge([one, two], base=other)


def test_label_trees_that_went_on_from_one_are_averaged_in_a_hashed_table():
    first = LabelTreeClassifier(random_state=0, layout="hashed", bits=18, scale="none")
    base = first.partial_fit(X[:600], y[:600])
    models = []
    for part in (slice(600, 900), slice(900, 1200)):
        model = LabelTreeClassifier()
        model.__setstate__(base.__getstate__())
        models.append(model.partial_fit(X[part], y[part]))
    merged = merge(models, base=base)
    assert merged.score(X[TEST], y[TEST]) >= base.score(X[TEST], y[TEST])
    assert merged.examples_ == 1200
    new = LabelTreeClassifier()
    new.__setstate__(base.__getstate__())
    models.append(new.partial_fit(X[600:700], 40 + y[600:700]))
    with pytest.raises(ValueError, match="other labels, or trees of another shape, than base"):
        merge(models, base=base)


def test_the_index_of_two_halves_is_that_of_the_whole():
    params = {"layout": "dense", "scale": "none", "replay": 0, "step": 1.0, "random_state": 0}
    models = [
        LabelTreeClassifier(**params, index_length=64).partial_fit(X[part], y[part])
        for part in HALVES
    ]
    whole = LabelTreeClassifier(**params, index_length=64).partial_fit(X[TRAIN], y[TRAIN])

    def postings(clf):
        state = states(clf)
        slot = np.repeat(state["index_slot"], state["index_size"])
        label = clf.classes_[state["index_label"]]
        sums = state["index_sum"].tolist()
        return dict(zip(zip(slot.tolist(), label.tolist(), strict=True), sums, strict=True))

    merged, expected = postings(merge(models)), postings(whole)
    assert merged.keys() == expected.keys()
    for key, value in expected.items():
        assert merged[key] == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("entries", [1, 50])
def test_an_index_is_added_up_a_few_features_at_a_time(entries, monkeypatch):
    params = {"layout": "dense", "replay": 0, "random_state": 0, "index_length": 5}
    base = LabelTreeClassifier(**params).fit(X, y)
    models = [
        LabelTreeClassifier(**params).fit(X, y).partial_fit(X[part], y[part]) for part in HALVES
    ]
    expected = states(merge(models, base=base))
    monkeypatch.setattr("labeltree.merging.index._AT_ONCE", entries)
    found = states(merge(models, base=base))
    for name in ("index_label", "index_sum", "index_slot", "index_size"):
        np.testing.assert_array_equal(found[name], expected[name])
    np.testing.assert_allclose(found["index_squared_norm"], expected["index_squared_norm"])


def test_forests_unite():
    sets = [[int(label), 100 + int(label) % 3] for label in y]
    models = [
        LdSMClassifier(n_trees=n, random_state=n).fit(X[part], sets[part])
        for n, part in zip((2, 3), HALVES, strict=True)
    ]
    merged = merge(models)
    assert merged.n_trees == 5
    assert merged.examples_ == 1200

    def table(clf):
        labels, scores = clf.predict_topk(X[TEST], len(clf.classes_))
        return [dict(zip(a, b, strict=True)) for a, b in zip(labels, scores, strict=True)]

    for whole, one, two in zip(table(merged), *map(table, models), strict=True):
        for label, score in whole.items():
            expected = (2 * one.get(label, 0.0) + 3 * two.get(label, 0.0)) / 5
            assert score == pytest.approx(expected, abs=1e-5)


def test_texts_are_counted_together():
    words = ["it purrs", "it barks", "it sings", "it croaks"]
    models = [
        TextClassifier(LabelTreeClassifier(random_state=0, layout="dense")).fit(text, label)
        for text, label in ((words[:2], ["cat", "dog"]), (words[2:], ["bird", "frog"]))
    ]
    merged = merge(models)
    assert merged.features_.documents_ == 4
    assert sorted(merged.classes_) == ["bird", "cat", "dog", "frog"]
    assert merged.predict(["it barks"]).tolist() == ["dog"]
    assert merged.predict(["it croaks"]).tolist() == ["frog"]
    again = merge([merged, merged], base=merged)
    assert again.features_.documents_ == 4
    assert again.predict(["it croaks"]).tolist() == ["frog"]


def test_models_that_do_not_fit_are_refused_and_told_what_differs():
    one, two = halves(OneAgainstAllClassifier)
    with pytest.raises(ValueError, match="models is empty"):
        merge([])
    with pytest.raises(ValueError, match="model 2 is a str"):
        merge([one, "x"])
    with pytest.raises(ValueError, match="model 2 a LabelTreeClassifier"):
        merge([one, LabelTreeClassifier().fit(X[TRAIN], y[TRAIN])])
    with pytest.raises(ValueError, match="model 2 was compiled"):
        merge([one, two.compile()])
    with pytest.raises(ValueError, match=r"step is 1\.0 in model 1, but 0\.5 in model 2"):
        merge([one, OneAgainstAllClassifier(step=0.5).fit(X[TRAIN], y[TRAIN])])
    with pytest.raises(ValueError, match="n_features_in_ is"):
        merge([one, OneAgainstAllClassifier().fit(X[TRAIN][:, :9], y[TRAIN])])
    with pytest.raises(ValueError, match="RecallTreeClassifier cannot be merged"):
        merge(halves(RecallTreeClassifier))
    with pytest.raises(ValueError, match="hashed tables"):
        merge(halves(LabelTreeClassifier, how="partial_fit", layout="hashed", scale="none"))
    with pytest.raises(ValueError, match="trees of different shape"):
        merge(halves(ProbabilityTreeClassifier, layout="dense"))


def test_labels_of_the_same_rows_are_put_together_to_the_last_bit():
    whole = OneAgainstAllClassifier(random_state=0, layout="dense").fit(X[TRAIN], y[TRAIN])
    parts = [
        OneAgainstAllClassifier(random_state=0, layout="dense").fit_labels(
            X[TRAIN], y[TRAIN], range(begin, end)
        )
        for begin, end in ((0, 13), (13, 40))
    ]
    merged = merge(parts, same_rows=True)
    np.testing.assert_array_equal(merged.classes_, whole.classes_)
    same(merged, whole)


def test_trees_of_the_same_rows_are_put_together_to_the_last_bit():
    sets = [[int(label), 100 + int(label) % 3] for label in y]
    whole = LdSMClassifier(n_trees=5, random_state=0).fit(X[TRAIN], sets[TRAIN])
    parts = [
        LdSMClassifier(n_trees=5, random_state=0).fit_trees(X[TRAIN], sets[TRAIN], range(*trees))
        for trees in ((0, 2), (2, 5))
    ]
    same(merge(parts, same_rows=True), whole)


def test_labels_that_are_written_alike_are_not_merged():
    parts = [OneAgainstAllClassifier(random_state=0).fit(DENSE, y) for y in (FEW == "a", FEW)]
    assert len(merge(parts).classes_) == 5
    texts = (DENSE[:, 0] > 0).astype(int).astype(str)
    parts = [OneAgainstAllClassifier(random_state=0).fit(DENSE, y) for y in (texts, texts == "1")]
    with pytest.raises(ValueError, match="would be two: expected one type"):
        merge(parts)


def test_models_of_sets_of_other_sizes_keep_the_larger_number_of_candidates():
    rng = np.random.default_rng(0)
    X = rng.random((100, 20), dtype=np.float32)
    models = [
        LabelTreeClassifier(random_state=0, layout="dense").partial_fit(
            X, [rng.choice(60, size, replace=False).tolist() for _ in range(100)]
        )
        for size in (12, 21)
    ]
    assert [model.candidates_ for model in models] == [16, 21]
    merged = merge(models)
    assert (merged.candidates_, merged.n_trees_) == (21, 2)
    assert merged.predict_topk(X, 5)[0].shape == (100, 5)
