"""What holds of models that a cluster has learned."""

from itertools import pairwise

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labeltree import (
    LabelTreeClassifier,
    LdSMClassifier,
    OneAgainstAllClassifier,
    TextClassifier,
    load,
)
from labeltree.dask import (
    DaskLabelTreeClassifier,
    DaskLdSMClassifier,
    DaskOneAgainstAllClassifier,
    DaskTextClassifier,
)
from labeltree.dask.cluster import Cluster
from labeltree.dask.partitions import partitions_of
from labeltree.dask.plans import rounds, shards_of
from labeltree.datasets import make_multiclass
from tests.dask.cluster import two_workers

X, y = make_multiclass(1500, 30)
SETS = [[int(label), 100 + int(label) % 3] for label in y]
TRAIN, TEST = slice(0, 1200), slice(1200, 1500)
WORDS = {"cat": "it purrs softly", "dog": "it barks loudly", "bird": "it sings songs"}
LABELS = list(WORDS) * 40
TEXTS = [f"{WORDS[label]} {i % 7}" for i, label in enumerate(LABELS)]


def sparse_array(matrix, sizes):
    """Return a dask array of CSR blocks."""
    ends = np.cumsum([0, *sizes])
    blocks = [
        da.from_delayed(
            dask.delayed(matrix[begin:end]),
            shape=(end - begin, matrix.shape[1]),
            dtype="f4",
            meta=sp.csr_matrix((0, matrix.shape[1]), dtype="f4"),
        )
        for begin, end in pairwise(ends)
    ]
    return da.concatenate(blocks)


def same(one, other):
    a, b = one.contents().arrays, other.contents().arrays
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


SIZES = [500, 0, 1, 699]  # an empty partition, and one with one row
LAZY = sparse_array(X[TRAIN], SIZES)


def test_one_against_all_is_that_of_one_machine_to_the_last_bit(client):
    clf = DaskOneAgainstAllClassifier(random_state=0, layout="dense", client=client)
    local = clf.fit(LAZY, da.from_array(y[TRAIN], chunks=300)).to_local()
    same(local, OneAgainstAllClassifier(random_state=0, layout="dense").fit(X[TRAIN], y[TRAIN]))
    dense = X[TRAIN][:, :60].toarray() + 1.0
    clf.fit(da.from_array(dense, chunks=(400, 20)), SETS[TRAIN])
    same(
        clf.to_local(),
        OneAgainstAllClassifier(random_state=0, layout="dense").fit(dense, SETS[TRAIN]),
    )


def test_ldsm_is_that_of_one_machine_to_the_last_bit(client):
    params = {"n_trees": 3, "random_state": 0, "max_nodes": 200}
    clf = DaskLdSMClassifier(**params, client=client).fit(LAZY, SETS[TRAIN])
    same(clf.to_local(), LdSMClassifier(**params).fit(X[TRAIN], SETS[TRAIN]))


@pytest.mark.parametrize("labels", ["single", "sets"])
def test_label_tree_is_about_as_good_as_that_of_one_machine(client, labels, tmp_path):
    given, truth = (y[TRAIN], y[TEST]) if labels == "single" else (SETS[TRAIN], SETS[TEST])
    clf = DaskLabelTreeClassifier(random_state=0, client=client).fit(LAZY, given)
    local = LabelTreeClassifier(random_state=0).fit(X[TRAIN], given)

    def precision(clf):
        best = clf.predict_topk(X[TEST], 1)[0][:, 0]
        return np.mean([b in np.atleast_1d(t) for b, t in zip(best, truth, strict=True)])

    found = clf.to_local()
    assert precision(found) > precision(local) - 0.03
    assert found.classes_.tolist() == local.classes_.tolist()
    assert {n: getattr(found, n) for n in found._settled} == {
        n: getattr(local, n) for n in local._settled
    }
    assert found.progress_.examples == local.progress_.examples
    np.testing.assert_array_equal(
        found.contents().arrays["counts"] > 0, local.contents().arrays["counts"] > 0
    )
    found.save(tmp_path / "m.labeltree")
    np.testing.assert_array_equal(
        load(tmp_path / "m.labeltree").predict_topk(X[TEST], 2)[0],
        found.predict_topk(X[TEST], 2)[0],
    )
    again = DaskLabelTreeClassifier(random_state=0, client=client).fit(LAZY, given)
    same(again.to_local(), found)


def test_a_partition_may_have_labels_that_no_other_has(client):
    order = np.argsort(y[TRAIN], kind="stable")
    rows = sparse_array(X[TRAIN][order], [600, 600])
    clf = DaskLabelTreeClassifier(random_state=0, client=client).fit(rows, y[TRAIN][order])
    assert clf.classes_.tolist() == sorted(set(y[TRAIN]))
    assert clf.to_local().score(X[TEST], y[TEST]) > 0.85


def test_predictions_of_lazy_rows_are_lazy(client):
    clf = DaskLabelTreeClassifier(random_state=0, client=client).fit(LAZY, y[TRAIN])
    rows = sparse_array(X[TEST], [100, 0, 200])
    lazy = clf.predict(rows)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (300,)
    np.testing.assert_array_equal(lazy.compute(), clf.to_local().predict(X[TEST]))
    labels, scores = clf.predict_topk(rows, k=3)
    expected = clf.predict_topk(X[TEST], k=3)
    np.testing.assert_array_equal(labels.compute(), expected[0])
    np.testing.assert_allclose(scores.compute(), expected[1], rtol=1e-5)
    np.testing.assert_array_equal(clf.predict(X[TEST]), clf.to_local().predict(X[TEST]))
    sets = DaskOneAgainstAllClassifier(random_state=0, client=client).fit(LAZY, SETS[TRAIN])
    assert sets.predict(rows).compute().tolist() == sets.to_local().predict(X[TEST])


@pytest.mark.parametrize("form", ["frame", "bag", "array"])
def test_texts_are_counted_as_on_one_machine(client, form):
    if form == "frame":
        frame = dd.from_pandas(pd.DataFrame({"text": TEXTS, "label": LABELS}), npartitions=3)
        texts, labels = frame["text"], frame["label"]
    elif form == "bag":
        texts, labels = (db.from_sequence(v, npartitions=3) for v in (TEXTS, LABELS))
    else:
        texts, labels = da.from_array(np.array(TEXTS, dtype=object), chunks=50), LABELS
    clf = DaskTextClassifier(hash_bits=16, client=client).fit(texts, labels)
    local = TextClassifier(hash_bits=16).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(
        *(c.features_.transform(TEXTS[:20]).toarray() for c in (clf.to_local(), local))
    )
    assert list(clf.predict(texts).compute()) == LABELS
    assert clf.predict_topk(texts, k=1)[0].compute().ravel().tolist() == LABELS
    assert clf.predict(["it barks"]).tolist() == ["dog"]


def test_workers_read_files_by_themselves(client, tmp_path):
    for i in range(3):
        lines = [f"{a}\t{b}\n" for a, b in zip(LABELS[i::3], TEXTS[i::3], strict=True)]
        (tmp_path / f"part-{i}.tsv").write_text("".join(lines))
    clf = DaskTextClassifier(hash_bits=16, client=client).fit(str(tmp_path / "part-*.tsv"))
    assert clf.examples_ == len(TEXTS) * clf.to_local().estimator_.n_passes_
    assert clf.predict(["it barks"]).tolist() == ["dog"]
    clf.fit([tmp_path / "part-0.tsv", tmp_path / "part-1.tsv"])
    assert clf.features_.documents_ == 80
    (tmp_path / "part-1.tsv").write_text("cat\tit purrs\nthis line has no tab\n")
    with pytest.raises(ValueError, match=r"part-1\.tsv:2: "):
        clf.fit(str(tmp_path / "part-*.tsv"))
    assert clf.features_.documents_ == 80  # what was learned before is still there


def test_rows_of_rare_labels_are_in_one_shard(client):
    cluster = Cluster(client)
    few = np.arange(1200) % 400

    def shards(given, **params):
        parts = partitions_of(cluster, LAZY, given, None, None)
        found, dealt = shards_of(cluster, LabelTreeClassifier(**params), parts)
        own = client.gather(found)
        assert parts.groups == []  # or workers would keep them
        assert sum(len(rows) for rows in own) == 1200
        return dealt, [set(np.concatenate([block.y for block in rows]).tolist()) for rows in own]

    dealt, (one, other) = shards(few)
    assert dealt
    assert one | other == set(range(400))
    assert not one & other
    clf = DaskLabelTreeClassifier(random_state=0, client=client).fit(LAZY, few)
    assert clf.to_local().progress_.examples == 1200
    for dealt, (one, other) in (shards(y[TRAIN]), shards(few, shuffle=False)):
        assert not dealt
        assert one & other


def small_files(block, table):
    """Let a worker put into files what is larger."""
    from labeltree.dask import rows
    from labeltree.merging import tablewriter, weighttable

    rows.BLOCK, tablewriter.MOST_IN_MEMORY = block, table
    weighttable._PIECE = 2**23 if table else 2**10


@pytest.fixture
def files_of(client):
    """Return a function that says what workers put into files."""
    yield lambda **sizes: client.run(small_files, **{"block": 2**26, "table": 2**27, **sizes})
    client.run(small_files, 2**26, 2**27)


@pytest.mark.parametrize("labels", ["single", "sets"])
def test_weights_in_files_are_those_in_memory_to_the_last_bit(client, files_of, labels):
    given = y[TRAIN] if labels == "single" else SETS[TRAIN]
    clf = DaskLabelTreeClassifier(random_state=0, client=client)
    expected = clf.fit(LAZY, given).to_local()
    files_of(table=0)
    same(clf.fit(LAZY, given).to_local(), expected)


@pytest.mark.parametrize("labels", ["single", "sets"])
def test_many_rows_are_learned_from_files(client, files_of, labels):
    given, truth = (y[TRAIN], y[TEST]) if labels == "single" else (SETS[TRAIN], SETS[TEST])
    files_of(block=20_000)
    clf = DaskLabelTreeClassifier(random_state=0, client=client)
    found = clf.fit(LAZY, given).to_local()
    local = LabelTreeClassifier(random_state=0).fit(X[TRAIN], given)
    assert found.progress_.examples == 1200
    assert found.score(X[TEST], truth) > local.score(X[TEST], truth) - 0.03
    same(clf.fit(LAZY, given).to_local(), found)  # and are the same rows in every pass


def test_the_model_does_not_go_through_the_scheduler():
    def refuse(*_, **__):
        raise AssertionError("a result was asked of the scheduler")

    with two_workers() as (cluster, client):
        cluster.scheduler.handlers["gather"] = refuse
        clf = DaskLabelTreeClassifier(random_state=0, client=client).fit(LAZY, y[TRAIN])
    assert clf.to_local().score(X[TEST], y[TEST]) > 0.9


def test_a_bar_shows_how_far_learning_is(client, capsys):
    DaskLabelTreeClassifier(random_state=0, client=client).fit(LAZY, y[TRAIN], verbose=1)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "% Completed" in shown.err


def test_shards_that_are_empty_leave_the_dual_update_what_it_is(client):
    params = {"update": "dual", "random_state": 0, "passes": 3, "layout": "dense"}
    rows = sparse_array(X[TRAIN], [0, 1200])  # all on one of two workers
    clf = DaskLabelTreeClassifier(**params, client=client).fit(rows, SETS[TRAIN])
    local = LabelTreeClassifier(**params).fit(X[TRAIN], SETS[TRAIN])
    best, expected = (c.predict_topk(X[TEST], 1)[0][:, 0] for c in (clf.to_local(), local))
    assert np.mean(best == expected) > 0.9


def test_weights_count(client):
    weight = np.ones(1200)
    weight[y[TRAIN] == 3] = 0
    clf = DaskLabelTreeClassifier(random_state=0, client=client)
    clf.fit(LAZY, y[TRAIN], da.from_array(weight, chunks=100))
    assert 3 not in clf.predict(X[TEST]).tolist()


def test_parameters_are_those_of_one_machine_and_a_client(client):
    clf = DaskLabelTreeClassifier(n_trees=2, client=client)
    assert {*clf.get_params()} == {*LabelTreeClassifier().get_params(), "client"}
    assert clone(clf).n_trees == 2
    assert clone(clf).client is client
    assert DaskTextClassifier(LabelTreeClassifier(n_trees=2)).estimator.n_trees == 2
    with pytest.raises(TypeError, match="unknown"):
        DaskLabelTreeClassifier(unknown=1)
    with pytest.raises(ValueError, match="n_trees"):
        DaskLabelTreeClassifier(n_trees=0, client=client).fit(LAZY, y[TRAIN])


def test_what_does_not_fit_is_said(client, monkeypatch):
    clf = DaskLabelTreeClassifier(client=client)
    with pytest.raises(ValueError, match="use the estimator itself"):
        clf.fit(X, y)
    with pytest.raises(ValueError, match="y is missing"):
        clf.fit(LAZY)
    with pytest.raises(ValueError, match="X has 1,200 rows, y 7"):
        clf.fit(LAZY, y[:7])
    with pytest.raises(ValueError, match="y has 2 partitions, expected 3"):
        DaskTextClassifier(client=client).fit(
            db.from_sequence(TEXTS, npartitions=3), db.from_sequence(LABELS, npartitions=2)
        )
    with pytest.raises(FileNotFoundError, match="no such file"):
        clf.fit("/nowhere/part-*.tsv")
    with pytest.raises(FileNotFoundError, match=r"/nowhere/a\.tsv: there is no such file"):
        clf.fit([__file__, "/nowhere/a.tsv"])
    with pytest.raises(ValueError, match="layout is 'hashed'"):
        DaskOneAgainstAllClassifier(layout="hashed", client=client).fit(LAZY, y[TRAIN])
    with pytest.raises(ValueError, match="not fitted"):
        clf.to_local()
    monkeypatch.setattr("labeltree.dask.cluster.__version__", "0.0.9")
    with pytest.raises(ValueError, match=r"has labeltree .*, expected 0\.0\.9"):
        clf.fit(LAZY, y[TRAIN])


def test_files_without_texts_are_refused(client, tmp_path):
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text("")
    for files in ("a.tsv", "*.tsv"):
        with pytest.raises(ValueError, match="there are no texts, expected at least one"):
            DaskTextClassifier(client=client).fit(str(tmp_path / files))


def test_models_are_merged_after_the_first_pass_and_every_two():
    numbers = {passes: [list(one) for one in rounds(passes, False)] for passes in range(1, 6)}
    assert numbers == {
        1: [[0]],
        2: [[0], [1]],
        3: [[0], [1, 2]],
        4: [[0], [1, 2], [3]],
        5: [[0], [1, 2], [3, 4]],
    }
    assert [list(one) for one in rounds(3, True)] == [[0], [1], [2]]
