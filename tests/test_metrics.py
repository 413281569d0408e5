import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest

from labeltree.metrics import (
    Estimate,
    calibration_error,
    effective_labels,
    equivalent_labels,
    error,
    log_loss,
    ndcg_at_k,
    precision_at_k,
    propensities,
    psndcg_at_k,
    psp_at_k,
    reliability,
    squared_loss,
)

LOG3 = math.log2(3)  # the discount of the second rank is 1 / log2(3)
AT_K = [precision_at_k, ndcg_at_k]
PROPENSITY_SCORED = [psp_at_k, psndcg_at_k]


def indicator(label_sets, n_labels):
    pairs = [(row, label) for row, labels in enumerate(label_sets) for label in labels]
    y = sparse.lil_matrix((len(label_sets), n_labels))
    for row, label in pairs:
        y[row, label] = 1
    return y.tocsr()


# error


def test_error_is_the_share_of_wrong_predictions():
    assert error([1, 2, 3, 4], [1, 2, 3, 9]).value == 0.25


def test_interval_is_wilsons():
    # 3 wrong of 10, z^2 = 3.841459: (0.3 + 0.192073) / 1.384146 = 0.355507, plus and minus
    # 1.416010 sqrt(0.021 + 0.009604) = 0.247715.
    estimate = error(np.arange(10), np.r_[np.arange(7), [99, 99, 99]])
    assert estimate == pytest.approx((0.3, 0.107791, 0.603222), abs=1e-6)


@given(
    st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_interval_agrees_with_scipy(counts, confidence):
    n, wrong = counts
    estimate = error(np.zeros(n, int), np.arange(n) < wrong, confidence)
    expected = binomtest(wrong, n).proportion_ci(confidence, method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1


def test_no_error_still_has_an_interval():
    estimate = error(["a"] * 100, ["a"] * 100)
    assert estimate.value == estimate.low == 0
    assert 0.03 < estimate.high < 0.04


def test_equal_weights_change_nothing():
    y, p = [0, 1, 2, 3], [0, 1, 2, 0]
    assert error(y, p, sample_weight=[7.0] * 4) == pytest.approx(error(y, p))


def test_interval_of_weighted_error_uses_the_effective_number_of_examples():
    weighted = error([0, 0, 0], [0, 0, 1], sample_weight=[2, 2, 4])
    # (2 + 2 + 4)^2 / (4 + 4 + 16) = 64 / 24 examples at an error of one half.
    n, z = 64 / 24, 1.959963984540054
    half = z / (1 + z * z / n) * math.sqrt(0.25 / n + z * z / (4 * n * n))
    assert weighted == pytest.approx((0.5, 0.5 - half, 0.5 + half))


def test_zero_weight_drops_an_example():
    dropped = error([0, 1, 2], [0, 9, 9], sample_weight=[1, 1, 0])
    assert dropped == pytest.approx(error([0, 1], [0, 9]))


def test_any_of_several_labels_is_right_and_an_example_without_labels_is_wrong():
    assert error([["a", "b"], [], ["c"]], ["b", "a", "c"]).value == pytest.approx(1 / 3)


def test_error_of_indicator_takes_column_numbers():
    assert error(indicator([[0, 2], [1]], 3), [2, 2]).value == 0.5


def test_error_allows_the_label_minus_one():
    assert error([-1, 1, 1], [-1, -1, 1]).value == pytest.approx(1 / 3)


def test_mixed_labels_keep_their_types():
    assert error([1, "1", "a"], ["1", "1", "a"]).value == pytest.approx(1 / 3)


def test_missing_prediction_is_wrong():
    assert error(["a", "b"], [None, "b"]).value == 0.5


@pytest.mark.parametrize("n", [1000, np.uint64(2**63 + 5)])
def test_large_unsigned_labels_are_told_apart(n):
    labels = np.array([n, n + np.uint64(1)], dtype=np.uint64)
    assert error(labels, labels[::-1]).value == 1
    assert error(labels, labels).value == 0


# precision and nDCG at k


def test_precision_by_hand():
    y = [["a", "b", "c"], ["d"], ["e", "f"]]
    topk = [["a", "x", "c"], ["x", "y", "d"], ["x", "y", "z"]]
    assert precision_at_k(y, topk, 1) == pytest.approx(1 / 3)
    assert precision_at_k(y, topk, 2) == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert precision_at_k(y, topk, 3) == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)


def test_ndcg_by_hand():
    y = [["a", "b", "c"], ["d"], ["e", "f"]]
    topk = [["a", "x", "c"], ["x", "y", "d"], ["x", "e", "z"]]
    # Discounts: 1, 1 / log2(3), 1 / 2.
    first = (1 + 1 / 2) / (1 + 1 / LOG3 + 1 / 2)
    second = 1 / 2
    third = (1 / LOG3) / (1 + 1 / LOG3)
    assert ndcg_at_k(y, topk, 3) == pytest.approx((first + second + third) / 3)
    assert ndcg_at_k(y, topk, 1) == pytest.approx(precision_at_k(y, topk, 1))


def test_examples_without_labels_count_as_zero():
    y, topk = [["a"], []], [["a"], ["a"]]
    assert precision_at_k(y, topk, 1) == ndcg_at_k(y, topk, 1) == 0.5
    assert psp_at_k(y, topk, 1, {"a": 0.5}) == psndcg_at_k(y, topk, 1, {"a": 0.5}) == 1


def test_no_labels_at_all_is_zero():
    for y in ([[], []], sparse.csr_matrix((2, 3))):
        topk = np.array([[0], [1]])
        assert precision_at_k(y, topk, 1) == ndcg_at_k(y, topk, 1) == 0
        assert psp_at_k(y, topk, 1, np.ones(3)) == 0


@pytest.mark.parametrize(
    "topk",
    [
        np.array([["a", None], ["b", None]], dtype=object),
        [["a", None], ["b", None]],
        np.array([["a", ""], ["b", ""]]),
    ],
)
def test_missing_text_predictions_are_wrong(topk):
    assert precision_at_k(["a", "b"], topk, 2) == 0.5


@pytest.mark.parametrize("y", [[[3], [5]], np.array([3, 5]), indicator([[3], [5]], 6)])
@pytest.mark.parametrize(
    "topk", [np.array([[3, -1], [-1, -1]]), np.array([[3, None], [None, None]], dtype=object)]
)
def test_missing_numeric_predictions_are_wrong(y, topk):
    assert precision_at_k(y, topk, 2) == 0.25


def test_scores_are_ranked_with_ties_to_the_lower_column_and_only_stored_entries_count():
    scores = sparse.csr_matrix(
        # Row 0 stores a zero, which beats nothing but is a prediction; row 1 has a tie.
        (np.array([0.0, -1.0, 2.0, 2.0]), np.array([0, 1, 1, 3]), np.array([0, 2, 4, 4])),
        shape=(3, 4),
    )
    assert precision_at_k([0, 1, 2], scores, 1) == pytest.approx(2 / 3)
    assert precision_at_k([1, 3, 0], scores, 1) == 0
    assert precision_at_k([1, 3, 0], scores, 2) == pytest.approx(2 / 6)


def test_unsorted_scores_and_inputs_are_left_as_they_are():
    scores = sparse.csr_matrix(
        (np.array([2.0, 2.0]), np.array([3, 1]), np.array([0, 2])), shape=(1, 4)
    )
    assert precision_at_k([1], scores, 1) == 1
    assert scores.indices.tolist() == [3, 1]


def test_stored_zero_of_an_indicator_is_no_label():
    y = sparse.csr_matrix((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert precision_at_k(y, np.array([[0]]), 1) == 0
    assert precision_at_k(y, np.array([[1]]), 1) == 1


def test_repeated_true_labels_count_once():
    assert ndcg_at_k([["a", "a"]], [["a", "b"]], 2) == 1


# propensities


def test_propensities_by_hand():
    # N = 4, C = (log 4 - 1) 2.5^0.55 = 0.639405; 1 / (1 + C (N_l + 1.5)^-0.55)
    y = indicator([[0, 1], [0], [0], [0, 2]], 4)
    C = 0.386294361 * 1.655234
    by_hand = [1 / (1 + C * 0.391567), 1 / 1.386294361, 1 / 1.386294361, 1 / (1 + C * 0.800098)]
    assert propensities(y) == pytest.approx(by_hand, abs=1e-5)


def test_another_number_may_stand_for_the_training_examples_in_all_forms():
    lists = [[0, 1], [0], [0], [0]]
    by_hand = {0: 1 / (1 + (np.log(100) - 1) * 2.5**0.55 * 5.5**-0.55)}
    by_hand[1] = 1 / (1 + (np.log(100) - 1))  # (B + 1)^A / (1 + B)^A
    assert propensities(lists, N=100) == pytest.approx(by_hand)
    assert propensities(lists, N=100)["new"] < by_hand[1]
    assert propensities(indicator(lists, 2), N=100) == pytest.approx([by_hand[0], by_hand[1]])
    assert propensities([4, 1], n_examples=4, N=100) == pytest.approx([by_hand[0], by_hand[1]])
    assert propensities({0: 4, 1: 1}, n_examples=4, N=100) == pytest.approx(by_hand)
    assert propensities(lists, N=4) == propensities(lists)
    for wrong in (0, -1, np.nan, np.inf, "x", 10**400):
        with pytest.raises(ValueError, match=r"N is .*, expected how many examples"):
            propensities(lists, N=wrong)
        with pytest.raises(ValueError, match="n_examples is"):
            propensities([4, 1], n_examples=wrong)


def test_propensities_agree_over_all_forms():
    lists = [[0, 1], [0], [0], [0, 2]]
    array = propensities(indicator(lists, 4), 0.5, 0.4)
    mapping = propensities(lists, 0.5, 0.4)
    assert [mapping[label] for label in range(4)] == pytest.approx(array)
    assert mapping.unseen == pytest.approx(array[3])
    assert propensities([4, 1, 1, 0], 0.5, 0.4, n_examples=4) == pytest.approx(array)
    assert propensities({0: 4, 1: 1}, 0.5, 0.4, n_examples=4)[1] == pytest.approx(array[1])


def test_rare_labels_have_lower_propensity():
    p = propensities(np.arange(100), n_examples=1000)
    assert (np.diff(p) > 0).all()
    assert 0 < p[0] < p[-1] < 1


def test_psp_is_a_ratio_of_sums_over_examples():
    p = {"a": 0.5, "b": 0.25, "c": 1.0}  # weights 2, 4, 1
    y = [["a", "b"], ["c"]]
    topk = [["a", "x"], ["c", "x"]]
    assert psp_at_k(y, topk, 1, p) == pytest.approx((2 + 1) / (4 + 1))
    assert psp_at_k(y, topk, 2, p) == pytest.approx((2 + 1) / (4 + 2 + 1))


def test_psndcg_by_hand():
    p = {"a": 0.5, "b": 0.25, "c": 1.0}
    y = [["a", "b"], ["c"]]
    topk = [["a", "b"], ["x", "c"]]
    assert psndcg_at_k(y, topk, 1, p) == pytest.approx(2 / (4 + 1))
    reached = (2 + 4 / LOG3) + 1 / LOG3
    assert psndcg_at_k(y, topk, 2, p) == pytest.approx(reached / ((4 + 2 / LOG3) + 1))


def test_labels_unseen_in_training_have_the_propensity_of_a_zero_count():
    p = propensities(["a", "a", "b"])
    seen, unseen = 1 / p["b"], 1 / p.unseen
    assert psp_at_k(["b", "new"], [["b"], ["b"]], 1, p) == pytest.approx(seen / (seen + unseen))


def test_propensity_one_everywhere_makes_precision_over_best():
    y, topk = [[0, 1], [2]], np.array([[0, 3], [2, 3]])
    assert psp_at_k(y, topk, 2, np.ones(4)) == pytest.approx(2 / 3)


# all of them against slow, obvious versions


def slow_gains(y, topk, k, weight, discount):
    reached = [
        sum(weight[p] * discount(r) for r, p in enumerate(row[:k]) if p in labels)
        for labels, row in zip(y, topk, strict=True)
    ]
    best = [
        sum(w * discount(r) for r, w in enumerate(sorted(weight[v] for v in labels)[::-1][:k]))
        for labels in y
    ]
    return reached, best


@st.composite
def problems(draw):
    n_labels = draw(st.integers(1, 8))
    n = draw(st.integers(1, 6))
    k = draw(st.integers(1, n_labels))
    labels = st.integers(0, n_labels - 1)
    y = draw(st.lists(st.sets(labels), min_size=n, max_size=n))
    rows = [[*draw(st.lists(labels, unique=True)), *[-1] * n_labels][:n_labels] for _ in range(n)]
    p = draw(st.lists(st.floats(0.01, 1), min_size=n_labels, max_size=n_labels))
    return y, np.array(rows), k, np.array(p)


def other_forms(y, topk, p):
    """The same problem as indicator, with text labels, and with scores."""
    n_labels = len(p)
    yield y, topk, p
    yield indicator(y, n_labels), topk, p
    yield (
        [[f"l{label}" for label in labels] for labels in y],
        np.array([[None if v < 0 else f"l{v}" for v in row] for row in topk], dtype=object),
        {f"l{label}": value for label, value in enumerate(p)},
    )
    ranks = [(row, v, -r) for row, vs in enumerate(topk) for r, v in enumerate(vs) if v >= 0]
    rows, columns, scores = np.array(ranks, dtype=float).reshape(-1, 3).T
    yield (
        indicator(y, n_labels),
        sparse.csr_matrix((scores, (rows.astype(int), columns.astype(int))), (len(y), n_labels)),
        p,
    )


@given(problems())
def test_metrics_at_k_agree_with_the_obvious(problem):
    y, topk, k, p = problem
    ones = dict.fromkeys(range(-1, len(p)), 1.0)
    weight = dict(enumerate(1 / p))

    def discount(rank):
        return 1 / math.log2(rank + 2)

    hits, _ = slow_gains(y, topk, k, ones, lambda _: 1)
    gains, ideal = slow_gains(y, topk, k, ones, discount)
    expected = [
        np.mean(hits) / k,
        np.mean([g / i if i else 0 for g, i in zip(gains, ideal, strict=True)]),
    ]
    for rule in (lambda _: 1, discount):
        reached, best = slow_gains(y, topk, k, weight, rule)
        expected.append(sum(reached) / sum(best) if sum(best) else 0)
    for y_form, topk_form, p_form in other_forms(y, topk, p):
        computed = [metric(y_form, topk_form, k) for metric in AT_K]
        computed += [metric(y_form, topk_form, k, p_form) for metric in PROPENSITY_SCORED]
        assert computed == pytest.approx(expected)


@given(problems())
def test_predicting_the_rarest_true_labels_is_the_best_attainable(problem):
    y, _, k, p = problem
    best = [sorted(labels, key=lambda label: p[label])[:k] for labels in y]
    topk = np.array([row + [-1] * (k - len(row)) for row in best])
    for metric in PROPENSITY_SCORED:
        assert metric(y, topk, k, p) == pytest.approx(1.0 if any(y) else 0.0)


# losses of probabilities


def test_squared_loss_by_hand():
    estimate = squared_loss([1.0, 0.5, 0.0, 0.5] * 100)
    half = math.sqrt(math.log(2 / 0.05) / 800)
    assert estimate == pytest.approx((0.375, 0.375 - half, 0.375 + half))


def test_hoeffding_interval_is_cut_at_zero_and_one():
    assert squared_loss([1.0]) == Estimate(0, 0, 1)
    assert squared_loss([0.0]) == Estimate(1, 0, 1)


def test_hoeffding_interval_narrows_with_the_root_of_n():
    wide, narrow = (squared_loss(np.full(n, 0.5)) for n in (1_000, 100_000))
    assert (wide.high - wide.low) == pytest.approx(10 * (narrow.high - narrow.low))


def test_log_loss_by_hand():
    assert log_loss([0.5, 0.25]) == pytest.approx(1.5 * math.log(2))
    assert log_loss([1.0]) == 0


def test_log_loss_of_an_impossible_label_is_that_of_eps():
    assert log_loss([0.0]) == pytest.approx(-math.log(1e-15))
    assert log_loss([0.0], eps=0.01) == pytest.approx(math.log(100))


def test_probabilities_may_exceed_one_by_rounding_only():
    assert squared_loss([1 + 1e-7]).value == 0
    with pytest.raises(ValueError, match=r"between 0 and 1, but example 1 has 1\.1"):
        squared_loss([0.5, 1.1])


# how many labels


def test_equally_likely_labels_are_all_effective():
    assert effective_labels(range(50)) == pytest.approx(50)


def test_effective_labels_by_hand():
    # H = 1/2 log 2 + 2 (1/4 log 4) = 1.5 log 2
    for y in (["a", "a", "b", "c"], [["a", "b"], ["a"], [], ["c"]]):
        assert effective_labels(y) == pytest.approx(2**1.5)
    assert effective_labels(indicator([[0, 1], [0], [], [3]], 9)) == pytest.approx(2**1.5)
    assert effective_labels([[]]) == 0


def test_equivalent_labels_gives_the_numbers_of_the_probability_tree_paper():
    losses = [0.812, 0.7742, 0.7725, 0.7632, 0.665]
    printed = [10.11, 8.32, 8.25, 7.91, 5.42]
    assert [equivalent_labels(loss) for loss in losses] == pytest.approx(printed, abs=0.02)
    assert equivalent_labels(1.0) == math.inf


# cost


def test_memory_stays_far_below_an_examples_by_labels_array():
    n, n_labels, rng = 20_000, 100_000, np.random.default_rng(0)
    columns = rng.integers(0, n_labels, (n, 5))
    y = sparse.csr_matrix(
        (np.ones(5 * n), columns.ravel(), np.arange(0, 5 * n + 1, 5)), shape=(n, n_labels)
    )
    topk = columns[:, :1] + np.arange(5) * 7 % n_labels
    topk %= n_labels
    p = propensities(y)
    tracemalloc.start()
    try:
        for predictions in (topk, y):
            psndcg_at_k(y, predictions, 5, p)
            ndcg_at_k(y, predictions, 5)
        error(y, topk[:, 0])
        effective_labels(y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50e6  # one bit for every pair would take 250e6


# calibration


def test_reliability_by_hand():
    # [0, 0.25): 0.125 wrong; [0.25, 0.5): 0.25 right and 0.375 wrong; [0.75, 1]: 0.75 and 1 right.
    y = list("abcde")
    topk = [["x"], ["b"], ["x"], ["d"], ["e"]]
    table = reliability(y, topk, [[0.125], [0.25], [0.375], [0.75], [1.0]], bins=4)
    assert [tuple(b) for b in table.bins] == [
        (0.0, 0.25, 0.125, 0.0, 1),
        (0.25, 0.5, 0.3125, 0.5, 2),
        (0.75, 1.0, 0.875, 1.0, 2),
    ]
    # (1 x 0.125 + 2 x 0.1875 + 2 x 0.125) / 5
    assert table.error == pytest.approx(0.15)
    assert calibration_error(
        y, topk, [[0.125], [0.25], [0.375], [0.75], [1.0]], bins=4
    ) == pytest.approx(0.15)


def test_single_labels_are_judged_by_their_best_prediction():
    topk, p = [["a", "b"], ["a", "b"]], [[0.75, 0.25], [0.75, 0.25]]
    assert calibration_error(["a", "b"], topk, p) == pytest.approx(0.25)
    assert [b.predictions for b in reliability(["a", "b"], topk, p).bins] == [2]


def test_label_sets_are_judged_by_all_predictions_above_the_threshold():
    y, topk = [["a", "b"], []], [["a", "b"], ["a", "c"]]
    p = [[0.75, 0.75], [0.75, 0.25]]
    # At 0.75 two of three are right, at 0.25 none of one: (3 x |0.75 - 2/3| + 0.25) / 4.
    assert calibration_error(y, topk, p) == pytest.approx(0.125)
    assert calibration_error(y, topk, p, threshold=0.5) == pytest.approx(0.75 - 2 / 3)
    assert calibration_error(y, topk, p, threshold=0.75) == pytest.approx(0.75 - 2 / 3)


def test_calibration_agrees_over_all_forms_of_sets():
    y = [[0, 1], [2], []]
    topk, p = np.array([[0, 2], [2, 1], [1, 0]]), np.array([[0.9, 0.3], [0.6, 0.4], [0.2, 0.1]])
    expected = reliability(y, topk, p)
    assert reliability(indicator(y, 3), topk, p) == expected
    assert reliability(indicator(y, 3), topk.astype(object), p) == expected
    assert (
        reliability([[str(label) for label in row] for row in y], topk.astype(str), p) == expected
    )


@pytest.mark.parametrize("y", [[[1, 2]], indicator([[1, 2]], 4)])
def test_what_is_not_predicted_has_no_probability(y):
    for topk in (np.array([[1, -1]]), np.array([[1, None]])):
        assert calibration_error(y, topk, [[0.75, NAN]]) == pytest.approx(0.25)
    assert calibration_error(y, np.array([[1, 3]]), [[0.75, 0.75]]) == pytest.approx(0.25)


def test_bins_have_their_lower_bounds():
    p = np.arange(11)[:, np.newaxis] / 10
    table = reliability(["a"] * 11, [["a"]] * 11, p, bins=10)
    assert [b.predictions for b in table.bins] == [1] * 9 + [2]
    np.testing.assert_array_equal([b.low for b in table.bins], p[:-1, 0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_calibration_error_agrees_with_the_obvious(seed, bins):
    rng = np.random.default_rng(seed)
    p, right = rng.random(40), rng.random(40) < 0.5
    expected = 0.0
    for i in range(bins):
        chosen = (p >= i / bins) & (p < (i + 1) / bins)
        if chosen.any():
            expected += chosen.mean() * abs(p[chosen].mean() - right[chosen].mean())
    topk = np.where(right, "a", "b")[:, np.newaxis]
    found = calibration_error(["a"] * 40, topk, p[:, np.newaxis], bins=bins)
    assert found == pytest.approx(expected)


# what is refused

NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: error([1, 2], [1]), "y_true has 2 examples but the predictions have 1"),
        (lambda: error([], []), "y_true is empty"),
        (lambda: error([1], [[1]]), r"y_pred must be 1-d.*\(1, 1\)"),
        (lambda: error([1.0, NAN], [1, 2]), "y_true holds None or NaN"),
        (lambda: error(["a", None], ["a", "b"]), "y_true holds None or NaN"),
        (lambda: error([1.0], [NAN]), "predictions hold NaN"),
        (lambda: error(["1"], [1]), "no type in common"),
        (lambda: error([[1], 2], [1, 2]), "mixes single labels and collections"),
        (lambda: error(["a"] * 2, [["a"], ["a", "b"]]), "predictions hold collections"),
        (lambda: error(np.eye(2), [0, 1]), r"shape \(2, 2\).*csr_array"),
        (lambda: error([1], [1], confidence=95), "confidence must be between 0 and 1"),
        (lambda: error([1], [1], sample_weight=[1, 2]), r"shape \(1,\).*shape \(2,\)"),
        (lambda: error([1, 2], [1, 2], sample_weight=[1, NAN]), "sample_weight must be finite"),
        (lambda: error([1], [1], sample_weight=[0]), "not all zero"),
        (lambda: error(indicator([[0]], 2), ["a"]), "must be its column numbers"),
        (lambda: error(indicator([[0]], 2), [2]), "column numbers below 2"),
        (lambda: error(sparse.csr_matrix([[NAN]]), [0]), "y_true holds NaN"),
        (lambda: precision_at_k([1], [[1]], 0), "k must be at least 1, but is 0"),
        (lambda: precision_at_k([1], [[1]], 2), "k is 2 but topk has 1 predictions"),
        (lambda: precision_at_k([1], [1], 1), r"shape \(examples, k\)"),
        (lambda: precision_at_k([1], [[2, 3], [1]], 1), r"shape \(examples, k\)"),
        (lambda: precision_at_k([1], np.array([[0.1, 0.9]]), 1), "must hold labels"),
        (lambda: precision_at_k([1], [[1, 1]], 2), "twice for example 0"),
        (lambda: precision_at_k([-1], np.array([[-1]]), 1), "label -1, which in an integer topk"),
        (lambda: precision_at_k([0], sparse.csr_matrix([[1.0]]), 2), "scores have 1 columns"),
        (lambda: precision_at_k([0], sparse.csr_matrix([[NAN]]), 1), "scores hold NaN"),
        (lambda: precision_at_k([7], sparse.csr_matrix([[1.0]]), 1), "not numbers of these"),
        (
            lambda: precision_at_k(indicator([[0]], 2), sparse.csr_matrix([[1.0]]), 1),
            "scores have 1 columns",
        ),
        (lambda: psp_at_k([3], [[3]], 1, np.ones(3)), "3 values.*range from 3 to 3"),
        (lambda: psp_at_k(["a"], [["a"]], 1, np.ones(3)), "not integers"),
        (lambda: psp_at_k(["a"], [["a"]], 1, {"b": 0.5}), "no entry for the label 'a'"),
        (lambda: psp_at_k([0], np.array([[0]]), 1, [[1.0]]), "1-d array"),
        (lambda: psp_at_k([0], np.array([[0]]), 1, [4.0]), "inverse propensities"),
        (lambda: psp_at_k([0], np.array([[0]]), 1, [NAN]), "above 0 and at most 1"),
        (lambda: propensities([1, 2]), "at least 3 training examples"),
        (lambda: propensities([1, 2, 3], A=-1), "A and B must be positive"),
        (lambda: propensities([9], n_examples=5), "label counts between 0 and n_examples=5"),
        (lambda: squared_loss([NAN]), "example 0 has nan"),
        (lambda: squared_loss([]), "non-empty 1-d"),
        (lambda: log_loss([[0.5]]), r"shape \(1, 1\)"),
        (lambda: log_loss([0.5], eps=0), "eps must be between"),
        (lambda: equivalent_labels(1.5), "between 0 and 1, but is 1.5"),
        (lambda: calibration_error([1], [1], [1.0]), r"shape \(examples, k\)"),
        (lambda: calibration_error([1], [[1]], [1.0]), r"shape of topk, \(1, 1\),.*\(1,\)"),
        (
            lambda: calibration_error([1, 2], [[1]], [[1.0]]),
            "2 examples but the predictions have 1",
        ),
        (lambda: calibration_error([1, 2], [[1], [1]], [[1.0], [1.5]]), "example 1 has 1.5"),
        (lambda: calibration_error([1], [[1]], [[NAN]]), "example 0 has nan"),
        (lambda: calibration_error([[1]], [[1, 1]], [[0.5, 0.5]]), "twice for example 0"),
        (
            lambda: calibration_error([1], [[1]], [[1.0]], bins=0),
            "bins must be at least 1, but is 0",
        ),
        (lambda: calibration_error([1], [[1]], [[1.0]], threshold=2), "threshold must be between"),
        (lambda: calibration_error([1], [[1]], [[0.5]], threshold=0.9), "at least 0.9"),
        (lambda: calibration_error([1], [[None]], [[0.5]]), "nothing to compare"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_k_must_be_an_integer():
    with pytest.raises(TypeError, match=r"k must be an integer, but is 1\.5"):
        precision_at_k([1], [[1]], 1.5)


def test_bins_must_be_an_integer():
    with pytest.raises(TypeError, match=r"bins must be an integer, but is 1\.5"):
        calibration_error([1], [[1]], [[1.0]], bins=1.5)


def test_an_indicator_needs_one_propensity_a_column():
    y = indicator([[0], [1]], 3)
    for wrong in (np.ones(2), np.ones(4)):
        with pytest.raises(ValueError, match=f"{len(wrong)} values"):
            psp_at_k(y, np.array([[0], [1]]), 1, wrong)
