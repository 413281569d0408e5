"""The papers' experiments in reduced form, on data made on the spot, and the pages made of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from bench.papers import __main__ as command
from bench.papers import (
    forests,
    frequencies,
    ldsm,
    lomtree,
    probability_tree,
    recall_tree,
    report,
    toy,
)
from bench.papers.claims import Criterion, Experiment, Verdict, verdict
from bench.papers.measures import differ
from bench.papers.papers import PAPERS
from bench.papers.sources import Files, Parts, contexts, most_frequent
from labeltree.datasets import make_multiclass
from labeltree.metrics import propensities, psp_at_k

DOCS = Path(__file__).parents[1] / "docs" / "papers"
FOREST = {"n_trees": 3, "max_nodes": 20, "epochs": 2, "min_leaf": 1}
LDSM_SETTINGS = {"bibtex": FOREST, "delicious": FOREST}
SETS = {"debtags", *forests.SETS}


class Made:
    """The same few rows under every name, with one label each or two."""

    def parts(self, name):
        X, y = make_multiclass(400, 16, n_features=256)
        if name in SETS:
            y = [[int(label), 100 + int(label) % 3] for label in y]
        return Parts(X[:300], y[:300], X[300:], y[300:])

    def words(self, limit):
        rng = np.random.default_rng(0)
        ids, words = 0, []
        for _ in range(min(limit, 1500)):  # each word follows one of two others
            ids = (2 * ids + int(rng.integers(2)) + 1) % 24
            words.append(f"w{ids}")
        return contexts(words, 6)

    def tokens(self, limit):
        X, y = self.words(limit)
        return X, y.astype(str).astype(object)


# What is smaller than in the real run.
REDUCED = {
    "lomtree-figure-1": {"problems": ("isolet1", "hypernym")},
    "lomtree-table-2": {"problems": ("isolet1", "hypernym")},
    "lomtree-table-3": {"problems": ("isolet1", "hypernym")},
    "lomtree-table-4": {"problems": ("isolet1", "hypernym")},
    "lomtree-figure-4": {},
    "cpt-rcv1": {"steps": (1.0,), "alphas": (0.6, 0.9)},
    "cpt-time": {"steps": (1.0,), "alphas": (0.6,)},
    "cpt-advertising": {},
    "cpt-alpha": {"alphas": (0.4, 1.0)},
    "cpt-arity": {"arities": (2, 4, 16)},
    "recall-figure-4": {},
    "recall-figure-5a": {},
    "recall-figure-5b": {"candidates": (2, 4, 8)},
    "recall-bound": {},
    "recall-memory": {},
    "ldsm-table-10": {"seeds": (0, 1), "settings": LDSM_SETTINGS},
    "ldsm-table-9": {"seeds": (0,), "settings": LDSM_SETTINGS},
    "ldsm-table-6": {"seeds": (0,), "settings": LDSM_SETTINGS},
    "ldsm-tables-7-8": {"seeds": (0,), "settings": LDSM_SETTINGS},
    "ldsm-figure-4": {"counts": (1, 2, 4), "settings": LDSM_SETTINGS},
    "ldsm-figure-5": {"nodes": (4, 16), "trees": 2, "settings": LDSM_SETTINGS},
}
SMALL_FOREST = {"n_trees": 2, "epochs": 1}


def reduced(name):
    one = type(command.experiments()[name])()
    for attribute, value in REDUCED[name].items():
        assert hasattr(one, attribute)
        setattr(one, attribute, value)
    if isinstance(one, ldsm.Sets):
        one.published = SMALL_FOREST
    return one


def test_every_experiment_has_a_reduced_form():
    assert set(REDUCED) == set(command.experiments())


@pytest.mark.parametrize("name", REDUCED)
def test_an_experiment_measures_judges_and_draws(name):
    one, found, saved = reduced(name), {}, []
    one.measure(Made(), found, lambda: saved.append(len(found)))
    assert saved == [*range(1, len(found) + 1)]  # after each cell

    found = json.loads(json.dumps(found))  # as it comes back from the file
    criteria = one.criteria(found)
    assert criteria
    assert all(isinstance(criterion.holds, bool) for criterion in criteria)
    assert not any("nan" in criterion.text for criterion in criteria)
    for table in one.tables(found):
        assert len({len(row) for row in table}) == 1
        assert len(table) > 1
    assert one.line(found)
    one.draw(found)

    again = dict(found)
    one.measure(Made(), again, lambda: pytest.fail("a cell was measured twice"))
    assert again == found


def test_a_verdict_follows_from_its_criteria():
    yes, no = Criterion("", True), Criterion("", False)
    assert verdict([yes, yes]) == Verdict.HOLDS
    assert verdict([yes, no]) == Verdict.PARTLY
    assert verdict([no]) == Verdict.FAILS
    assert verdict([]) == Verdict.UNTRIED


def test_a_claim_falls_with_its_figures():
    one = reduced("lomtree-table-3")
    cell = {"labels": 10, "train": 1.0, "test": 1.0}
    found = {
        f"{name}/{learner}": {**cell, "test": time}
        for name, times in (("isolet1", (1.0, 2.0)), ("hypernym", (1.0, 9.0)))
        for learner, time in zip((lomtree.PUBLISHED, lomtree.ALL), times, strict=True)
    }
    assert verdict(one.criteria(found)) == Verdict.HOLDS
    found[f"hypernym/{lomtree.ALL}"]["test"] = 1.5  # slower still, but no longer ever more so
    assert verdict(one.criteria(found)) == Verdict.PARTLY
    found[f"isolet1/{lomtree.ALL}"]["test"] = found[f"hypernym/{lomtree.ALL}"]["test"] = 0.5
    assert verdict(one.criteria(found)) == Verdict.FAILS


def test_the_toy_run_of_lomtree_is_replayed_step_by_step():
    labels = (0, 1, 2, 3, 0, 1, 2, 3, 0)
    # E and e before the step, and where the row goes. Labels 1 to 4 of the figure are 1, 2, 3, 0.
    by_hand = [
        (1, 0, 0, "right"),
        (2, 1, 0, "left"),
        (3, 0, 0, "right"),
        (0, 1 / 3, 0, "left"),
        (1, 0, 1, "right"),
        (2, 1 / 5, -1, "left"),
        (3, 0, 1, "right"),
        (0, 1 / 7, -1, "left"),
    ]
    for steps in (toy.replay(labels), toy.replay_core(labels)):
        for step, (label, overall, own, side) in zip(steps, by_hand, strict=True):
            assert step.label == label
            assert step.overall == pytest.approx(overall, abs=1e-6)
            assert step.own == pytest.approx(own, abs=1e-6)
            assert step.right == (side == "right")


def test_the_table_of_frequencies_by_hand():
    x, y = ["a", "a", "b", "a", "c", "b"], [1, 2, 1, 1, 1, 1]
    # After three rows: a has 1 and 2, b has 1. Then (a, 1): 1/2; (c, 1): new; (b, 1): 1.
    found = frequencies.table_loss(x, y, 3)
    assert found == {"loss": pytest.approx((0.25 + 1 + 0) / 3), "new pages": 1 / 3, "rows": 3}
    assert frequencies.best_possible(["a", "a", "b"], [1, 2, 1], 0) == pytest.approx(0.5 / 3)


def test_pages_are_told_apart_by_their_columns():
    X, _ = contexts(["a", "b", "a", "b", "a", "b"], 2)
    first, second, third, *others = frequencies.pages(X)
    assert len({first, second, third}) == 3
    assert others == [frequencies.pages(X)[3], third, frequencies.pages(X)[3]]


def test_two_errors_differ_as_by_the_chi_squared_test():
    table = np.array([[30, 70], [50, 150]])
    usual = chi2_contingency(table, correction=False).statistic
    n = table.sum()
    expected = chi2_contingency(table, correction=False)
    assert differ(30, 50, 100, 200) > expected.pvalue  # N - 1 is a little more careful
    from scipy.stats import chi2

    assert differ(30, 50, 100, 200) == pytest.approx(chi2.sf(usual * (n - 1) / n, 1))
    assert differ(5, 5, 10, 10) == 1.0
    assert differ(0, 0, 10, 10) == 1.0


def test_the_bound_on_depth_is_that_of_a_balanced_tree_for_alpha_one():
    assert probability_tree.depth_bound(1024, 1.0) == pytest.approx(12)
    assert probability_tree.depth_bound(1024, 0.5) > 19


def test_progressive_loss_is_that_of_rows_not_yet_learned():
    X, y = make_multiclass(200, 4, n_features=64)
    clf = probability_tree.tree(probability_tree.ONLINE, X, y, alpha=0.9).fit(X[:100], y[:100])
    asked = clf.label_proba(X[100:101], y[100:101])[0]
    found = probability_tree.progressive(clf, X[100:101], y[100:101])
    assert found["loss"] == pytest.approx((1 - asked) ** 2, abs=1e-6)
    assert clf.progress_.examples == 101


def test_each_row_keeps_one_of_its_tags():
    parts = probability_tree.one_tag(Made().parts("debtags"))
    given = Made().parts("debtags").y
    assert all(tag in tags for tag, tags in zip(parts.y, given, strict=True))
    assert {tag < 100 for tag in parts.y} == {True, False}  # now the first, now the second


def test_a_bounded_lomtree_keeps_to_its_nodes():
    X, y = make_multiclass(2000, 8, n_features=128, noise=0.6)

    def inner_nodes(clf):
        return clf.tree_.n_nodes - clf.tree_.n_leaves

    assert inner_nodes(lomtree.LOMTreeClassifier.published(random_state=0).fit(X, y)) > 15
    assert inner_nodes(lomtree.Bounded(factor=2, random_state=0).fit(X, y)) == 15


def test_a_small_problem_has_the_most_frequent_labels():
    X = np.arange(10).reshape(-1, 1)
    y = np.array([0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    small = most_frequent(Parts(X, y, X, y), labels=2, rows=3)
    assert small.y.tolist() == [2, 2, 2, 3, 3, 3]
    assert small.y_test.tolist() == [2, 3]


def test_ldsm_is_graded_by_both_propensities():
    parts = Made().parts("bibtex")
    best = np.array(parts.y_test, dtype=object)
    best = np.hstack([best, np.full((len(best), 3), None)])
    best[::2, 0] = None
    found = forests.grades(parts, best)
    for name, n in (("PSP", len(parts.y)), ("PSP, N of the test", len(parts.y_test))):
        p = propensities(parts.y, N=n)
        assert found[name][0] == pytest.approx(100 * psp_at_k(parts.y_test, best, 1, p))
    assert found["PSP"] != found["PSP, N of the test"]


def test_one_command_measures_resumes_and_writes_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "Files", lambda _: Made())
    arguments = ["--data", "none", "--out", str(tmp_path), "--only", "cpt-advertising"]
    command.main([*arguments, "lomtree-figure-4"])
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["cpt-advertising"]["complete"]

    assert "| **not measured yet** |" in (tmp_path / "index.md").read_text()
    page = (tmp_path / "lomtree.md").read_text()
    assert "**Verdict: holds.**" in page
    assert "--only lomtree-figure-4\n" in page
    assert (tmp_path / "cpt-advertising.svg").stat().st_size < 60_000
    assert "](cpt-advertising.svg)" in (tmp_path / "probability_tree.md").read_text()

    monkeypatch.setattr(
        probability_tree.Advertising, "learned", lambda *_: pytest.fail("measured again")
    )
    before = (tmp_path / "probability_tree.md").read_text()
    picture = (tmp_path / "cpt-advertising.svg").read_bytes()
    command.main(arguments)
    command.main(["--out", str(tmp_path), "--pages"])
    assert (tmp_path / "probability_tree.md").read_text() == before
    assert (tmp_path / "cpt-advertising.svg").read_bytes() == picture
    with pytest.raises(SystemExit):
        command.main(["--out", str(tmp_path)])


def test_the_pages_in_docs_are_those_of_the_results():
    results = json.loads((DOCS / "results.json").read_text())
    for name, page in report.pages(results).items():
        assert (DOCS / name).read_text(encoding="utf-8") == page, (
            f"docs/papers/{name}: write it anew by python -m bench.papers --out docs/papers --pages"
        )
    pictures = {path.stem for path in DOCS.glob("*.svg")}
    assert pictures <= set(command.experiments())
    assert all(path.stat().st_size < 60_000 for path in DOCS.glob("*.svg"))


def test_names_are_unique():
    names = [one.name for paper in PAPERS for one in paper.experiments]
    assert len(names) == len(set(names))
    assert all(
        isinstance(one, Experiment) or one.why for paper in PAPERS for one in paper.experiments
    )


def test_files_drop_the_rows_of_the_authors_split_that_have_no_labels(tmp_path):
    for part in ("train", "test"):
        import gzip

        with gzip.open(tmp_path / f"delicious_xc_{part}.txt.gz", "wt") as file:
            file.write("3 2 2\n0,1 0:1\n \n1 1:1\n")
    parts = Files(tmp_path).parts("delicious_xc")
    assert parts.X.shape[0] == parts.X_test.shape[0] == 2
    assert [list(labels) for labels in parts.y] == [[0, 1], [1]]


def test_the_papers_figures_are_as_printed():
    # One of each table, as a guard against slips of later edits.
    assert lomtree.ERRORS["Aloi"][lomtree.PUBLISHED] == 16.50
    assert probability_tree.ADVERTISING[probability_tree.TABLE] == (0.812, 10.11)
    assert forests.PAPER_FIGURES["delicious"]["PSP"] == (37.27, 38.32, 38.46)
    assert set(recall_tree.PAPER_SETS.values()) == {"ALOI", "Imagenet", "LTCB", "ODP"}
