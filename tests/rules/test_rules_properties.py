"""Rules against plain exact arithmetic on lists of contributions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.rule_tables import table_of

from discreet.errors import RuleError
from discreet.rules import Dominance, Percent, PriorPosterior, Request, Threshold, WeightedThreshold, Zero, combine

BOUNDARIES = ("strict", "inclusive")
amounts = st.integers(-60, 60) | st.integers(-2000, 2000)
cell = st.lists(amounts, max_size=6)
cells_of_a_table = st.lists(cell, min_size=1, max_size=6)
percents = st.integers(1, 99)


@st.composite
def rules(draw):
    """A P, PQ or NK rule, and the ratio w and function that say the same in exact numbers."""
    kind = draw(st.sampled_from(["P", "PQ", "NK"]))
    boundary = draw(st.sampled_from(BOUNDARIES))
    coalition = draw(st.integers(1, 3))
    p = draw(percents)
    if kind == "P":
        return Percent(p, coalition, boundary=boundary), Fraction(100, p)
    if kind == "PQ":
        q = draw(st.integers(p + 1, 100))
        return PriorPosterior(p, q, coalition, boundary=boundary), Fraction(q, p)
    return Dominance(coalition, p, boundary=boundary), Fraction(p, 100 - p)


def measure(rule, weight, contributions, waived=()):
    """The largest S over all targets and all coalitions, by enumeration; None if there is no target."""
    sizes = [abs(x) for x in contributions]
    scores = []
    for t, x in enumerate(sizes):
        if t in waived:
            continue
        others = sizes[:t] + sizes[t + 1 :]
        for pool in combinations(others, min(rule.depth - 1, len(others))):
            rest = sum(sizes) - x - sum(pool)
            exposed = x + sum(pool) if isinstance(rule, Dominance) else x
            scores.append(exposed - weight * rest)
    return max(scores, default=None)


def expected(rule, weight, contributions, waived=()):
    """Sensitive or not, and the protection level."""
    score = measure(rule, weight, contributions, waived)
    if score is None:
        return False, 0.0
    sensitive = score > 0 or (score == 0 and rule.boundary == "inclusive")
    return sensitive, float(score / weight) if sensitive else 0.0


@given(rules(), cells_of_a_table)
@settings(max_examples=300)
def test_rules_agree_with_trying_every_target_and_coalition(rule_and_weight, cells):
    rule, weight = rule_and_weight
    verdict = rule(table_of(cells, top=rule.depth))
    for i, contributions in enumerate(cells):
        sensitive, level = expected(rule, weight, contributions)
        assert verdict.sensitive[i] == sensitive
        assert verdict.lower[i] == verdict.upper[i] == pytest.approx(level)
        if contributions:
            assert verdict.score[i] == pytest.approx(float(measure(rule, weight, contributions)), rel=1e-9, abs=1e-9)


@st.composite
def cells_with_waivers(draw):
    """Contributions, largest first, and who of them consented."""
    cells = [sorted(c, key=abs, reverse=True) for c in draw(cells_of_a_table)]
    return cells, [{i for i in range(len(c)) if draw(st.booleans())} for c in cells]


def flags(consents, top):
    return np.array([[i in consented for i in range(top)] for consented in consents], dtype=bool)


@given(rules(), cells_with_waivers())
@settings(max_examples=300)
def test_waivers_take_respondents_out_as_targets_but_not_as_attackers(rule_and_weight, data):
    (rule, weight), (cells, consents) = rule_and_weight, data
    verdict = rule(table_of(cells, top=6), flags(consents, 6))
    for i, contributions in enumerate(cells):
        sensitive, level = expected(rule, weight, contributions, consents[i])
        assert verdict.sensitive[i] == sensitive
        assert verdict.upper[i] == pytest.approx(level)


@given(rules(), cells_with_waivers(), st.integers(0, 2), st.booleans())
@settings(max_examples=300)
def test_waivers_never_under_protect_whoever_is_not_stored(rule_and_weight, data, more, counted):
    (rule, weight), (cells, consents) = rule_and_weight, data
    top = rule.depth + more
    verdict = rule(table_of(cells, top=top, count=counted), flags(consents, top))
    for i, contributions in enumerate(cells):
        sensitive, level = expected(rule, weight, contributions, consents[i])
        assert verdict.sensitive[i] >= sensitive
        assert verdict.upper[i] >= level - 1e-9


@given(rules(), cell, cell)
@settings(max_examples=300)
def test_scores_are_subadditive_on_cells_without_common_respondents(rule_and_weight, one, other):
    """Cox (1981): the weights do not increase, so the union of cells that are not sensitive is not sensitive."""
    rule, _ = rule_and_weight
    cells = table_of([one, other, one + other], top=rule.depth)
    for verdict in (rule(cells), combine([rule(cells), Percent(10)(table_of([one, other, one + other], top=2))])):
        first, second, union = verdict.score
        assert union <= first + second + 1e-9 * (abs(first) + abs(second) + 1)
    if not rule(cells).sensitive[:2].any():
        assert not rule(cells).sensitive[2]


@given(cells_of_a_table, st.lists(st.floats(0.01, 99), min_size=2, max_size=2).map(sorted), st.integers(1, 3))
def test_a_larger_p_asks_for_more_and_a_larger_k_for_less(cells, percentages, n):
    small, large = percentages
    table = table_of(cells, top=n + 2)
    for more, less in (
        (Percent(large, n), Percent(small, n)),
        (PriorPosterior(large, 99.5, n), PriorPosterior(small, 99.5, n)),
        (Dominance(n, small), Dominance(n, large)),
        (PriorPosterior(small, 99.5, n), Percent(small, n)),
        (Percent(small, n + 1), Percent(small, n)),
    ):
        assert (more(table).sensitive >= less(table).sensitive).all()
        assert (more(table).upper >= less(table).upper - 1e-9).all()


@given(cells_of_a_table, percents)
def test_q_of_100_is_the_percent_rule(cells, p):
    table = table_of(cells, top=2)
    one, other = PriorPosterior(p, 100)(table), Percent(p)(table)
    assert np.array_equal(one.sensitive, other.sensitive)
    assert np.allclose(one.upper, other.upper)


@given(cells_of_a_table, percents, st.integers(1, 99))
def test_the_level_is_how_much_larger_the_cell_must_be_to_be_safe(cells, p, by):
    """Cox: adding r in small contributions brings the cell to the boundary, adding less does not."""
    table = table_of(cells, top=2)
    for rule in (Percent(p), PriorPosterior(p, 100), Dominance(2, p), Dominance(1, p)):
        before = rule(table)
        full = rule(table.with_columns(magnitude=table.magnitude + before.upper))
        part = rule(table.with_columns(magnitude=table.magnitude + before.upper * by / 100))
        assert not full.sensitive.any()
        assert np.array_equal(part.sensitive, before.sensitive)


@pytest.mark.parametrize("scale", [1, 0.1, 1 / 3, 1e-9, 7e11, np.pi])
def test_float_noise_does_not_decide_on_the_boundary(scale):
    cells = [[100, 50, *parts] for parts in ([10], [3, 7], [1] * 10, [0.1] * 100, [1 / 3] * 30)]
    table = table_of([[x * scale for x in c] for c in cells], top=3)
    dominated = table_of([[x * scale for x in (60, 25, *parts)] for parts in ([15], [0.3] * 50, [1 / 7] * 105)], top=2)
    for on, rules_on_it in (
        (table, [Percent(10), PriorPosterior(5, 50)]),
        (dominated, [Dominance(2, 85), Dominance(1, 60)]),
    ):
        for rule in rules_on_it:
            strict, inclusive = rule(on), type(rule)(**{**vars(rule), "boundary": "inclusive"})(on)
            assert not strict.sensitive.any()
            assert inclusive.sensitive.all()
            assert not inclusive.upper.any()
            assert not inclusive.score.any()


def test_a_small_target_beside_a_huge_respondent_who_consented_stays_protected():
    """The target is a tiny share of the cell, but its only contributor: the rounding of T must not matter."""
    targets = [1.0, 0.01, 0.013, 0.02, 1 / 3]
    table = table_of([[1e14, x] for x in targets], top=2)
    table = table.with_columns(magnitude=np.nextafter(table.magnitude, np.inf))  # summed in another order
    verdict = Percent(10)(table, np.array([[True, False]] * len(targets)))
    assert verdict.sensitive.all()
    assert verdict.upper.tolist() == pytest.approx([x / 10 for x in targets])


def test_a_count_that_forgets_somebody_does_not_expose_them():
    table = table_of([[100.0, 5.0]], top=2).with_columns(count=np.array([0]))
    for rule in (Percent(10), PriorPosterior(10, 50), Dominance(1, 75)):
        assert rule(table).sensitive.all()


def test_sampling_weights_protect():
    """Reported 100, 50 and 2 with weights 1, 1 and 10: the remainder is 20, not 2."""
    unweighted = table_of([[100, 50, 2]], top=2)
    weighted = unweighted.with_columns(magnitude=np.array([170.0]), value=np.array([170.0]))
    assert Percent(10)(unweighted).upper.tolist() == [8]
    assert not Percent(10)(weighted).sensitive.any()
    # The two largest stand for themselves only, whatever their own weights are.
    assert Dominance(2, 85)(weighted).score[0] == pytest.approx(150 - 85 / 15 * 20)


def test_hidden_targets_are_taken_to_be_as_large_as_the_smallest_stored():
    table = table_of([[50, 30, 10, 10]], top=2)
    all_stored_consent = np.ones((1, 2), dtype=bool)
    verdict = Percent(90)(table, all_stored_consent)  # target 30, attacker 50, remainder 20
    assert verdict.upper[0] == pytest.approx(27 - 20)
    assert Dominance(2, 70)(table, all_stored_consent).upper[0] == pytest.approx(80 / 0.7 - 100)


# -- threshold ----------------------------------------------------------------------------------------------


@given(cells_of_a_table, st.integers(1, 7), st.integers(0, 100))
def test_threshold_counts_contributors(cells, n, margin):
    verdict = Threshold(n, margin)(table_of(cells, top=None))
    for i, contributions in enumerate(cells):
        sensitive = 0 < len(contributions) < n
        assert verdict.sensitive[i] == sensitive
        level = margin / 100 * sum(map(abs, contributions)) if sensitive else 0
        assert verdict.lower[i] == verdict.upper[i] == pytest.approx(level)


def test_threshold_on_counts_hides_where_between_0_and_n_the_count_lies():
    """Cox, Vulnerability: the unsafe interval of the 5-threshold rule is (0, 5)."""
    cells = table_of([[1] * n for n in (0, 1, 4, 5, 9)], top=None, is_count=True)
    verdict = Threshold(5)(cells)
    assert verdict.sensitive.tolist() == [False, True, True, False, False]
    assert (cells.value - verdict.lower).tolist() == [0, 0, 0, 5, 9]
    assert (cells.value + verdict.upper).tolist() == [0, 5, 5, 5, 9]


def test_threshold_on_weighted_counts_protects_them_as_magnitudes():
    """One respondent who stands for ten: the interval from 0 to 5 says nothing about a count of 10."""
    cells = table_of([[1] * n for n in (0, 1, 4, 5, 9)], top=None, is_count=True)
    weighted = Threshold(5, 20)(cells.with_columns(value=cells.value * 10, magnitude=cells.magnitude * 10))
    assert weighted.lower.tolist() == [0, 2, 8, 0, 0]
    assert weighted.upper.tolist() == [0, 2, 8, 0, 0]


def test_the_weighted_threshold_counts_whom_contributors_stand_for():
    """One who stands for five passes, two who stand for less than two do not; an empty cell is never sensitive."""
    cells = table_of([[7.0], [5.0, 4.0], []], top=None, weighted_count=np.array([5.0, 1.5, 0.0]))
    assert WeightedThreshold(3)(cells).sensitive.tolist() == [False, True, False]
    assert Threshold(3)(cells).sensitive.tolist() == [True, True, False]
    assert WeightedThreshold(3)(cells).upper.tolist() == pytest.approx([0, 1.8, 0])


def test_zeros_that_were_reported_are_told_from_cells_without_contributors():
    cells = table_of([[0.0, 0.0], [0.0], [], [1e-9], [5.0, -5.0]], top=2)
    verdict = Zero(10)(cells)
    assert verdict.sensitive.tolist() == [True, True, False, False, False]
    assert verdict.upper.tolist() == [10, 10, 0, 0, 0]
    assert not verdict.lower.any()


def test_a_zero_is_let_go_where_everybody_consented():
    cells = table_of([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0, 0.0]], top=2)
    waived = np.array([[True, True], [True, False], [True, True]])
    assert Zero(10)(cells, waived).sensitive.tolist() == [False, True, True]


def test_threshold_lets_go_of_cells_where_everybody_consented():
    table = table_of([[5, 4], [5, 4], [5, 4, 3], [5]], top=2)
    waived = np.array([[True, True], [True, False], [True, True], [True, False]])
    assert Threshold(4)(table, waived).sensitive.tolist() == [False, True, True, False]


# -- request ------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(amounts, max_size=4), min_size=1, max_size=5), percents, st.data())
def test_request_protects_those_who_asked_and_are_large(cells, share, data):
    cells = [sorted(c, key=abs, reverse=True) for c in cells]
    shape = (len(cells), 4)
    asked = np.array(data.draw(st.lists(st.booleans(), min_size=4 * len(cells), max_size=4 * len(cells)))).reshape(
        shape
    )
    waived = np.array(data.draw(st.lists(st.booleans(), min_size=4 * len(cells), max_size=4 * len(cells)))).reshape(
        shape
    )
    verdict = Request(share, 30)(table_of(cells, top=4, requested=asked), waived)
    for i, contributions in enumerate(cells):
        total = sum(map(abs, contributions))
        sensitive = any(
            asked[i, j] and not waived[i, j] and abs(x) * 100 > share * total for j, x in enumerate(contributions)
        )
        assert verdict.sensitive[i] == sensitive
        assert verdict.upper[i] == verdict.lower[i] == pytest.approx(0.3 * total if sensitive else 0)


@given(
    st.lists(st.lists(amounts, max_size=4), min_size=1, max_size=5),
    percents,
    st.integers(0, 5),
    st.integers(0, 2),
    st.data(),
)
def test_request_of_a_kind_and_of_one_among_few(cells, share, minimum, kind, data):
    """REQ of τ-ARGUS: one percentage for each of two codes, and a minimum of contributors."""
    cells = [sorted(c, key=abs, reverse=True) for c in cells]
    n = 4 * len(cells)
    asked = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))).reshape(-1, 4)
    verdict = Request(share, 30, minimum, kind)(table_of(cells, top=4, requested=asked))
    for i, contributions in enumerate(cells):
        total = sum(map(abs, contributions))
        own = [abs(x) for j, x in enumerate(contributions) if asked[i, j] & (kind or 3)]
        sensitive = any(x * 100 > share * total for x in own) or (bool(own) and len(contributions) < minimum)
        assert verdict.sensitive[i] == sensitive
        assert verdict.upper[i] == verdict.lower[i] == pytest.approx(0.3 * total if sensitive else 0)


def test_a_minimum_of_contributors_alone():
    table = table_of([[60, 40], [50, 30, 20], [9]], top=2, requested=np.array([[0, 1], [1, 0], [0, 0]]))
    assert Request(100, minimum=3)(table).sensitive.tolist() == [True, False, False]
    assert Request(100, minimum=3).depth == 2
    with pytest.raises(RuleError, match="needs the number of contributors"):
        Request(100, minimum=3)(table.with_columns(count=None))


def test_request_looks_at_more_than_the_largest():
    requested = np.array([[False, True]])
    assert Request(30)(table_of([[60, 40]], top=2, requested=requested)).sensitive.all()
    with pytest.raises(RuleError, match="top=3"):  # three can have more than 30 percent each
        Request(30)(table_of([[60, 40, 1, 1]], top=2, requested=requested))
    assert Request(40)(table_of([[55, 42, 3]], top=2, requested=requested)).sensitive.all()
    assert not Request(45)(table_of([[55, 42, 3]], top=2, requested=requested)).sensitive.any()


@pytest.mark.parametrize(("share", "depth"), [(99, 1), (70, 1), (50, 1), (49, 2), (30, 3), (20, 4)])
def test_request_needs_as_many_contributions_as_can_exceed_the_share(share, depth):
    assert Request(share).depth == depth
