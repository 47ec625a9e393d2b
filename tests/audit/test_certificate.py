"""Certificates: they prove what the audit said, need no solver to be checked, and no number in them can be changed."""

from __future__ import annotations

import copy
import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.audit.test_audit import PRIORS, SQUARE, TABLES, bare, case, random_protection, whole_problem
from tests.papers.test_serpell_004 import figure_1, figure_3, name  # noqa: F401  the figures are fixtures

from discreet.attackers import Attacker
from discreet.audit import Audit, CertificateError, audit, certificate, read_certificate, verify, write_certificate
from discreet.audit.proof import checksum
from discreet.cli import main as cli
from discreet.errors import FormatError, InputError, TableError
from discreet.inference import exact_simplex
from discreet.inference.deviations import Deviation, Evidence
from discreet.inference.exact_numbers import format_number, parse_number
from discreet.inference.exact_reach import ExactReach
from discreet.io import write_problem
from discreet.io.pattern import write_pattern
from discreet.methods import protect
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection, suppress
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, pose, random_problem, suppressing

Json = dict[str, Any]


pytestmark = pytest.mark.usefixtures("levels_alone")


def proven(problem: Problem, protection: Protection, **options: Any) -> Json:
    """The certificate of an audit, after it was checked."""
    checked = audit(problem, protection, certify=True, **options)
    found = certificate(checked, protection, options.get("attackers"))
    seen = verify(found, problem, protection, options.get("attackers"))
    assert seen.passed, seen.problems
    assert seen.safe == found["safe"] == checked.passed
    assert seen.counts["cells"] == len(checked.cell) + len(checked.other_suppressed)
    return found


def cells_of(found: Json) -> dict[str, Json]:
    return {entry["label"]: entry for entry in found["attackers"][0]["cells"]}


def plain(checked: Audit, protection: Protection) -> Evidence:
    """Evidence from one plain linear program a side, as another auditor might keep it."""
    problem = checked.problem
    (who,) = problem.attackers()
    low = np.maximum(protection.lower, who.lower) - problem.table.value
    high = np.minimum(protection.upper, who.upper) - problem.table.value
    tables, shown = [], np.full((2, len(checked.cell)), -1)
    for k, cell in enumerate(checked.cell.tolist()):
        for side, sign in enumerate((-1.0, 1.0)):
            goal = np.where(np.arange(len(low)) == cell, -sign, 0.0)
            near = np.clip(low, -1e5, None), np.clip(high, None, 1e5)
            rows = problem.table.relations
            solved = linprog(goal, A_eq=rows, b_eq=np.zeros(rows.shape[0]), bounds=np.stack(near, axis=1))
            if abs(solved.x[cell]) > 1e-7:
                shown[side, k] = len(tables)
                tables.append(Deviation(np.flatnonzero(solved.x), solved.x[np.flatnonzero(solved.x)]))
    return Evidence(tuple(tables), shown)


# -- certificates hold ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intervals", [True, False])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_every_verdict_and_every_end_of_an_interval_is_proven(kind, prior, intervals):
    problem, protection = case(kind, prior, seed=1)
    found = proven(problem, protection, intervals=intervals)
    checked = audit(problem, protection, intervals=intervals)
    assert found["confidential"] is True
    assert "confidential values" in found["note"]
    assert found["complete"]
    entries = found["attackers"][0]["cells"]
    assert [entry["cell"] for entry in entries] == problem.primaries.tolist()
    assert [entry["safe"] for entry in entries] == checked.safe.tolist()
    for row, entry in enumerate(entries):
        reach = [
            float("inf") if entry[s]["reach"] == "inf" else float(parse_number(entry[s]["reach"]))
            for s in ("lower", "upper")
        ]
        value = problem.table.value[entry["cell"]]
        if intervals:
            assert all(entry[s]["reach"] == "inf" or entry[s]["gap"] == "0" for s in ("lower", "upper"))
            assert value - reach[0] == pytest.approx(checked.lower[row], rel=1e-6, abs=1e-6)
            assert value + reach[1] == pytest.approx(checked.upper[row], rel=1e-6, abs=1e-6)
        assert ("missed" in entry) == ("words" in entry) == (not entry["safe"])
    assert found["exact"] or not intervals
    assert found["counts"]["open"] == 0


@pytest.mark.parametrize("kind", TABLES)
def test_evidence_of_another_auditor_does_as_well(kind):
    problem, protection = case(kind, "mixed", seed=2)
    for intervals in (True, False):
        checked = audit(problem, protection, intervals=intervals)
        found = certificate(replace(checked, evidence=(plain(checked, protection),)), protection)
        seen = verify(found, problem, protection)
        assert seen.passed, seen.problems
        assert seen.safe == checked.passed


@pytest.mark.parametrize("kind", ["2-D", "3-D", "linked"])
def test_evidence_is_a_help_and_not_a_need(kind):
    problem, protection = case(kind, "sign", seed=3)
    checked = audit(problem, protection)
    nothing = Evidence((), np.full((2, len(checked.cell)), -1))
    assert verify(certificate(replace(checked, evidence=(nothing,)), protection), problem, protection).passed


@pytest.mark.parametrize("spread", [3, 6, 12])
def test_values_from_1_to_a_trillion(spread):
    rng = np.random.default_rng(spread)
    for _ in range(10):
        problem = whole_problem(rng, spread)
        protection = suppress(problem, (rng.random(len(problem)) < 0.5) | (problem.status == Status.PRIMARY))
        assert proven(problem, protection)["counts"]["open"] == 0


def test_values_from_a_thousandth_to_a_thousand_billions():
    table = cross_table("ab", "cd", [[0.001, 1e15], [12.35, 7.5e11]])
    problem = pose(table, {"a × c": 0.0005, "b × c": 1.1})
    found = cells_of(proven(problem, suppressing(problem, *SQUARE)))
    assert found["a × c"]["lower"]["reach"] == "0.001"
    assert found["a × c"]["upper"]["reach"] == "12.35"
    assert found["b × c"]["upper"]["reach"] == "0.001"
    assert not found["b × c"]["safe"]


@pytest.mark.parametrize("seed", range(6))
def test_eighteen_orders_of_magnitude_are_closed_to_the_last_digit(seed):
    """Floats cannot even add these up. Where the audit gives up on a cell for that, exact arithmetic does not."""
    rng = np.random.default_rng(seed)
    inner = [float(f"{size:.3g}") for size in 10 ** rng.uniform(-3, 15, 12)]
    table = cross_table("abc", "wxyz", np.reshape(inner, (3, 4)))
    problem = random_problem(rng, table, primaries=0.3, sliding=True, prior="mixed")
    protection = random_protection(rng, problem)
    checked = audit(problem, protection, certify=True)
    try:
        found = certificate(checked, protection)
    except CertificateError as error:
        found = error.certificate
    assert found is not None
    assert verify(found, problem, protection).passed
    assert found["exact"]
    assert found["counts"]["open"] == 0
    exactly_safe = [entry["safe"] for entry in found["attackers"][0]["cells"]]
    assert all(exact or not audited for exact, audited in zip(exactly_safe, checked.safe, strict=True))


def test_decimals_come_out_as_they_were_written():
    problem = pose(cross_table("ab", "cd", [[12.35, 6.1], [8.2, 17.45]]), {"a × c": (2.0, 3.0)})
    entry = cells_of(proven(problem, suppressing(problem, *SQUARE)))["a × c"]
    assert (entry["lower"]["bound"], entry["upper"]["bound"]) == ("12.35", "6.1")
    assert entry["needs"] == {"lower": "2", "upper": "3", "sliding": "0"}


def test_cells_without_end():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0}, lower=-np.inf)
    found = proven(problem, suppressing(problem, *SQUARE))
    entry = cells_of(found)["a × c"]
    assert entry["lower"]["reach"] == entry["upper"]["reach"] == "inf"
    assert found["exact"]
    assert found["counts"]["combinations"] == 0


def test_a_cell_outside_all_relations_moves_alone():
    problem = pose(bare([5, 3, 2, 9], [[-1, 1, 1, 0]]), {"s": 1.0, "q": 1.0})
    found = proven(problem, suppressing(problem, "r"))
    alone = found["attackers"][0]["tables"][cells_of(found)["s"]["upper"]["table"]]
    assert alone == {"cells": [3], "moves": ["1"]}
    assert (cells_of(found)["s"]["lower"]["reach"], cells_of(found)["s"]["upper"]["reach"]) == ("9", "inf")


def test_weights_other_than_one():
    problem = pose(bare([4, 10, 11], [[2, 0.3, -1]]), {"p": (1.0, 2.0)})
    entry = cells_of(proven(problem, suppressing(problem, "q")))["p"]
    assert (entry["lower"]["bound"], entry["upper"]["bound"]) == ("4", "1.5")
    assert entry["missed"] == ["upper"]
    assert entry["words"][1] == (
        "'p' is at most 5.5: 0.5 × [2 × 'p' + 0.3 × 'q' = 'r'] leaves 'p' = published cells − 0.15 × 'q', and 'q' is at least 0."
    )


def test_sliding_levels_are_proven_by_both_ends():
    table = cross_table("ab", "cd", [[5, 6], [6, 5]])
    for sliding, safe in [(11, True), (11.001, False)]:
        problem = pose(table, {"a × c": (0.0, 0.0, sliding)})
        for intervals in (True, False):
            entry = cells_of(proven(problem, suppressing(problem, *SQUARE), intervals=intervals))["a × c"]
            assert entry["safe"] is safe
            assert safe or entry["missed"] == ["sliding"]
            assert safe or entry["words"][0] == "'a × c' is known to within 11, but should be uncertain by 11.001."


def test_a_primary_published_as_it_is_is_exposed_by_that():
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 0.0})
    value = problem.table.value
    everything = replace(
        suppressing(problem),
        decision=np.full(len(value), Decision.PUBLISHED),
        published=value,
        lower=value,
        upper=value,
    )
    entry = cells_of(proven(problem, everything))["a × c"]
    assert entry["missed"] == ["published"]
    assert entry["words"] == ["'a × c' is sensitive, and published as it is."]


def test_a_level_counts_as_reached_when_a_ten_millionth_is_missing_and_no_more():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    for level, safe in [(6, True), (6.0000005, True), (6.0000007, False)]:
        problem = pose(table, {"a × c": (0.0, level)})
        assert cells_of(proven(problem, suppressing(problem, *SQUARE)))["a × c"]["safe"] is safe


def test_other_cells_than_the_sensitive_ones_and_nothing_at_all():
    problem, protection = case("2-D", "sign", seed=4)
    suppressed = np.flatnonzero(protection.suppressed)
    found = proven(problem, protection, cells=suppressed[:3])
    assert [entry["cell"] for entry in found["attackers"][0]["cells"]] == suppressed[:3].tolist()
    assert not found["complete"]
    assert not verify(found, problem, protection).complete
    empty = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {})
    assert proven(empty, suppressing(empty))["attackers"][0]["cells"] == []


def test_a_cell_audited_twice_is_certified_once():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    protection, cell = suppressing(problem, *SQUARE), problem.table.index("a × c")
    checked = audit(problem, protection, cells=[cell, cell], certify=True)
    found = certificate(checked, protection)
    assert len(found["attackers"][0]["cells"]) == 1
    assert verify(found, problem, protection).passed


def test_every_attacker_is_certified_with_what_they_know():
    table = cross_table("ab", "cd", [[10, 5], [7, 8]])
    problem = pose(table, {"a × c": 2.0})
    lower, upper = np.zeros(len(table)), np.full(len(table), np.inf)
    lower[table.index("a × d")] = 4.0
    everyone = [*problem.attackers(), Attacker("contributor", lower, upper)]
    found = proven(problem, suppressing(problem, *SQUARE), attackers=everyone)
    outsider, contributor = (part["cells"][0] for part in found["attackers"])
    assert (outsider["safe"], contributor["safe"]) == (True, False)
    assert contributor["upper"]["bound"] == "1"
    assert contributor["words"][1] == (
        "'a × c' is at most 11: ['a × c' + 'a × d' = 'a × Total'] leaves 'a × c' = published cells − 'a × d', "
        "and 'a × d' is at least 4."
    )
    assert not verify(found, problem, suppressing(problem, *SQUARE)).passed  # against the outsider alone


def test_one_table_proves_many_cells():
    rng = np.random.default_rng(0)
    table = cross_table([f"r{i}" for i in range(12)], [f"c{i}" for i in range(12)], rng.integers(20, 90, (12, 12)))
    labels = [f"r{i} × c{j}" for i in range(12) for j in ((i) % 12, (i + 1) % 12)]
    problem = pose(table, dict.fromkeys(labels, 5.0))
    found = proven(problem, suppressing(problem), intervals=False)
    assert found["counts"]["cells"] == 24
    assert found["counts"]["tables"] <= 4


@pytest.mark.parametrize("kind", ["2-D", "3-D"])
def test_protected_tables_are_proven_safe(kind):
    problem, _ = case(kind, "sign", seed=5)
    protection = protect(problem)
    for intervals in (True, False):
        assert proven(problem, protection, intervals=intervals)["safe"]


# -- words ----------------------------------------------------------------------------------------------------


def test_figure_3_of_serpell_in_words(figure_3):  # noqa: F811
    """No row or column alone gives A1 away; adding two rows and subtracting two columns does, or the other way round."""
    entry = cells_of(proven(figure_3, suppressing(figure_3)))[name("A1")]
    assert entry["missed"] == ["lower", "upper"]
    assert entry["words"][:2] == [
        "'A × 1' is at least 100, but should be possible down to 90.",
        "'A × 1' is at most 100, but should be possible up to 110.",
    ]
    ways = (
        "'A × 1' is exactly 100: ['A × 1' + 'A × 2' + 'A × 3' + 1 published = 'A × Total'] "
        "+ ['B × 2' + 'B × 3' + 2 published = 'B × Total'] − ['A × 2' + 'B × 2' + 2 published = 'Total × 2'] "
        "− ['A × 3' + 'B × 3' + 2 published = 'Total × 3'] leaves 'A × 1' = published cells.",
        "'A × 1' is exactly 100: ['A × 1' + 'C × 1' + 'D × 1' + 1 published = 'Total × 1'] "
        "+ ['C × 4' + 'D × 4' + 2 published = 'Total × 4'] − ['C × 1' + 'C × 4' + 2 published = 'C × Total'] "
        "− ['D × 1' + 'D × 4' + 2 published = 'D × Total'] leaves 'A × 1' = published cells.",
    )
    assert entry["words"][2] in ways
    others = [cell for label, cell in cells_of(proven(figure_3, suppressing(figure_3))).items() if label != name("A1")]
    assert all(cell["safe"] for cell in others)


def test_figure_1_of_serpell_in_words(figure_1):  # noqa: F811
    """B5 by its column and what A5 cannot be; C6 by its row less the column that gives C3."""
    found = cells_of(proven(figure_1, suppressing(figure_1)))
    assert {label for label, entry in found.items() if not entry["safe"]} == {
        name(cell) for cell in ("B2", "B5", "B6", "C3", "C6")
    }
    assert found[name("B5")]["words"] == [
        "'B × 5' is at most 48, but should be possible up to 49.5.",
        "'B × 5' is at most 48: ['A × 5' + 'B × 5' + 4 published = 'Total × 5'] leaves 'B × 5' = published cells "
        "− 'A × 5', and 'A × 5' is at least 0.",
    ]
    assert found[name("C6")]["words"][2] == (
        "'C × 6' is exactly 21: ['C × 3' + 'C × 6' + 4 published = 'C × Total'] "
        "− ['C × 3' + 5 published = 'Total × 3'] leaves 'C × 6' = published cells."
    )


def test_long_combinations_are_cut_short_politely():
    """Every row and column of the cycle takes part."""
    n = 10
    table = cross_table([f"r{i}" for i in range(n)], [f"c{i}" for i in range(n)], np.full((n, n), 50))
    labels = [f"r{i} × c{j}" for i in range(n) for j in (i, (i + 1) % n) if (i, j) != (n - 1, 0)]
    problem = pose(table, {"r0 × c1": 5.0})
    (entry,) = cells_of(proven(problem, suppressing(problem, *labels))).values()
    assert len(entry["upper"]["relations"]) > 0
    assert all(len(words) < 700 for words in entry["words"])
    wide = pose(table, {"r0 × c0": (0.0, 1e6)})
    (entry,) = cells_of(
        proven(wide, suppressing(wide, *(f"r0 × c{j}" for j in range(n)), *(f"r1 × c{j}" for j in range(n))))
    ).values()
    assert "and " in entry["words"][-1]


def test_a_bound_known_beforehand_is_named_as_such():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": (0.0, 9.0)})
    upper = problem.prior_upper.copy()
    upper[problem.table.index("a × c")] = 8.0
    problem = problem.with_columns(prior_upper=upper)
    (entry,) = cells_of(proven(problem, suppressing(problem, *SQUARE))).values()
    assert entry["words"][-1] == "'a × c' is at most 8: that is published, or known beforehand."


# -- certificates cannot be changed ---------------------------------------------------------------------------


def leaves(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(part, dict | list):
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            yield from leaves(item, (*path, key))
    else:
        yield path, part


def changes(leaf: Any) -> list[Any]:
    if isinstance(leaf, bool):
        return [not leaf, int(leaf), None]
    if isinstance(leaf, int):
        return [leaf + 1, leaf - 1, -leaf - 1, 0 if leaf else 7, float(leaf), 10**9]
    try:
        n = parse_number(leaf)
    except ValueError:
        return [leaf + "x", "", leaf[:-1] + ("0" if leaf[-1:] != "0" else "1")]
    return [
        format_number(n + 1),
        format_number(-n) if n else "1/3",
        format_number(2 * n) if n else "-1",
        leaf + ".0",
        "inf",
        None,
        float(n),
    ]


def put(found: Json, path: tuple[Any, ...], leaf: Any, *, sign: bool) -> Json:
    changed = copy.deepcopy(found)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = leaf
    if sign:
        changed["checksum"] = checksum(changed)
    return changed


@pytest.fixture(scope="module")
def mixed() -> tuple[Problem, Protection]:
    """Safe and exposed cells, unbounded ones, sliding levels, a cell outside all relations."""
    problem = pose(
        bare([20, 5, 8, 7, 30, 9, 4, 40], [[-1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 0, -1, 1, 1, 0.5]]).with_columns(
            rhs=np.array([0.0, 8.0])
        ),
        {"q": (2.0, 2.0), "t": (1.0, 1.0, 30.0), "r": (3.0, 20.0), "w": (0.0, 9.0)},
    )
    return problem, suppressing(problem, "q", "r", "u", "w")


@pytest.mark.parametrize("intervals", [True, False])
def test_no_number_and_no_word_can_be_changed(mixed, intervals):
    """Neither by an accident, which the checksum finds, nor on purpose, with a checksum that fits."""
    problem, protection = mixed
    found = proven(problem, protection, intervals=intervals)
    states = [entry["safe"] for entry in cells_of(found).values()]
    assert {True, False} == set(states)
    for path, leaf in leaves(found):
        for other in changes(leaf):
            for sign in (False, True):
                changed = put(found, path, other, sign=sign and path != ("checksum",))
                assert not verify(changed, problem, protection).passed, (path, leaf, other, sign)


@pytest.mark.parametrize("kind", ["2-D", "linked"])
def test_no_number_of_a_proof_can_be_changed_in_larger_certificates(kind):
    problem, protection = case(kind, "mixed", seed=1)
    found = proven(problem, protection)
    rng = np.random.default_rng(1)
    every = [(path, other) for path, leaf in leaves(found["attackers"]) for other in changes(leaf)]
    for k in rng.choice(len(every), 150, replace=False):
        changed = put(found, ("attackers", *every[k][0]), every[k][1], sign=True)
        assert not verify(changed, problem, protection).passed, every[k]


def containers(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(part, dict | list):
        yield path, part
        for key, item in part.items() if isinstance(part, dict) else enumerate(part):
            yield from containers(item, (*path, key))


def test_nothing_can_be_left_out_or_added(mixed):
    problem, protection = mixed
    found = proven(problem, protection)
    for path, part in containers(found):
        keys = list(part) if isinstance(part, dict) else range(len(part))
        for key in keys:
            changed = copy.deepcopy(found)
            at = changed
            for step in path:
                at = at[step]
            del at[key]
            if "checksum" in changed:
                changed["checksum"] = checksum(changed)
            assert not verify(changed, problem, protection).passed, (path, key)
        more = [*part, part[0] if part else 0] if isinstance(part, list) else {**part, "more": 1}
        if path:
            assert not verify(put(found, path, more, sign=True), problem, protection).passed, path


def test_what_is_wrong_is_told_without_values(mixed):
    problem, protection = mixed
    found = proven(problem, protection)
    tables = ("attackers", 0, "tables")
    bent = put(found, (*tables, 0, "moves", 0), "123456", sign=True)
    assert "is not congruent: the relation of" in verify(bent, problem, protection).problems[0]
    claims = {**found, "safe": True}
    claims["checksum"] = checksum(claims)
    assert verify(claims, problem, protection).problems == ["Not what the proofs show: the certificate, 'safe'."]
    bold = put(found, ("attackers", 0, "cells", 0, "upper", "reach"), "123456", sign=True)
    assert verify(bold, problem, protection).problems == ["Not what the proofs show: 'q', 'upper', 'reach'."]


@pytest.mark.parametrize("damaged", [{}, {"attackers": 3}, {"attackers": [3]}, {"attackers": []}, {"tables": None}])
def test_damaged_certificates_are_wrong_and_not_a_crash(mixed, damaged):
    problem, protection = mixed
    found = proven(problem, protection)
    broken = {**found, **damaged} if damaged else {}
    broken["checksum"] = checksum(broken)
    assert not verify(broken, problem, protection).passed


def test_a_certificate_speaks_for_one_problem_one_pattern_and_one_set_of_attackers():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    one, other = pose(table, {"a × c": 4.0}), pose(table, {"a × c": 4.5})
    found = proven(one, suppressing(one, *SQUARE))
    assert verify(found, other, suppressing(other, *SQUARE)).problems == ["The certificate is about another problem."]
    wider = suppressing(one, *SQUARE, "Total × c")
    assert verify(found, one, wider).problems == [
        "The certificate is about another pattern or protection of this problem."
    ]
    reader = Attacker("reader", np.full(len(table), -np.inf), np.full(len(table), np.inf))
    assert verify(found, one, suppressing(one, *SQUARE), [reader]).problems == [
        "The certificate is about other attackers."
    ]


def test_no_solver_is_needed_to_check(mixed, monkeypatch):
    problem, protection = mixed
    found = proven(problem, protection)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("a solver was asked")

    monkeypatch.setattr(HighsModel, "solve", never)
    monkeypatch.setattr(HighsModel, "load", never)
    assert verify(found, problem, protection).passed


# -- when the audit was wrong ---------------------------------------------------------------------------------


def test_a_wrong_verdict_is_contradicted_and_the_certificate_has_the_right_one():
    problem, protection = case("2-D", "sign", seed=1)
    for intervals in (True, False):
        checked = audit(problem, protection, intervals=intervals, certify=True)
        wrong = replace(checked, safe=~checked.safe)
        with pytest.raises(CertificateError, match="Exact arithmetic contradicts the audit about") as caught:
            certificate(wrong, protection)
        assert caught.value.offenders == problem.table.labels(checked.cell)
        found = caught.value.certificate
        assert [entry["safe"] for entry in found["attackers"][0]["cells"]] == checked.safe.tolist()
        assert verify(found, problem, protection).passed


def test_a_relation_given_twice_once_in_thirds_is_the_same_relation():
    """As decimals 0.3333333333333333 and 0.6666666666666666 are no multiples of 1 and 2, and would pin the cells."""
    for weights in ([1.0, 2.0, -3.0], [0.7, 0.2, -0.9]):
        table = bare([3, 3, 3], [weights, [weight / 3 for weight in weights]])
        need, none = np.array([1.0, 0, 0]), np.zeros(3)
        problem = Problem(table, np.array([1, 0, 0]), np.ones(3), need, need, none, none, np.full(3, np.inf))
        for intervals in (True, False):
            found = proven(problem, suppress(problem, np.ones(3, dtype=bool)), intervals=intervals)
            assert found["safe"]
            assert cells_of(found)["p"]["upper"]["reach"] == "inf"


def test_a_wrong_interval_is_contradicted():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    protection = suppressing(problem, *SQUARE)
    checked = audit(problem, protection, certify=True)
    with pytest.raises(CertificateError, match=r"contradicts no verdict, but the intervals of 1 cells, e\.g\. 'a × c'"):
        certificate(replace(checked, upper=checked.upper - 0.01), protection)


def test_certificates_nested_without_end_are_damaged(tmp_path):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    protection = suppressing(problem, *SQUARE)
    found = certificate(audit(problem, protection, certify=True), protection)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    seen = verify({**found, "note": deep}, problem, protection)
    assert not seen.passed
    assert seen.problems == ["The certificate is damaged: its entries are nested deeper than in any certificate."]
    while deep:  # so that taking it down is no recursion either
        deep = deep.pop()
    (tmp_path / "c.json").write_text('{"note": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(FormatError, match="is not a certificate"):
        read_certificate(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda part: part.pop("tables"), "'tables' is missing"),
        (lambda part: part.update(tables={}), "'tables' is of the wrong type"),
        (lambda part: part["tables"][0]["moves"].__setitem__(0, "1e5"), "'moves' has entries that are not numbers"),
        (
            lambda part: part["tables"][0]["cells"].__setitem__(0, 99),
            "'cells' has entries that do not exist, or occur twice",
        ),
        (lambda part: part["tables"][0]["cells"].pop(), "'cells' and 'moves' are not of the same length"),
        (lambda part: part["tables"][0]["cells"].reverse(), "'cells' are not in order, or 'moves' are zero"),
        (lambda part: part["cells"][0]["lower"].update(sign=2), "'sign' is neither 1 nor -1"),
    ],
)
def test_what_is_damaged_in_a_certificate_is_named(change, fault):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    protection = suppressing(problem, *SQUARE)
    found = certificate(audit(problem, protection, certify=True), protection)
    change(found["attackers"][0])
    found["checksum"] = checksum(found)
    assert verify(found, problem, protection).problems == [f"The certificate is damaged: {fault}."]


def test_what_is_no_certificate_at_all_is_called_so():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    assert verify({}, problem, suppressing(problem, *SQUARE)).problems == [
        "It is not a discreet certificate of version 1."
    ]


def give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No solver finds anything, and no table is small enough for exact arithmetic."""
    monkeypatch.setattr(ExactReach, "solutions", lambda *_: iter(()))
    monkeypatch.setattr(exact_simplex, "MAX_EXACT_RELATIONS", 0)


@pytest.mark.parametrize("kind", ["2-D", "2-D, negative", "4-D", "not nested"])
def test_where_the_solver_gives_up_exact_arithmetic_goes_on(kind, monkeypatch):
    problem, protection = case(kind, "mixed", seed=2)
    checked = audit(problem, protection)
    monkeypatch.setattr(ExactReach, "solutions", lambda *_: iter(()))
    nothing = Evidence((), np.full((2, len(checked.cell)), -1))
    found = certificate(replace(checked, evidence=(nothing,)), protection)
    assert verify(found, problem, protection).passed
    assert found["exact"]
    assert found["counts"]["open"] == 0


def test_what_cannot_be_proven_is_named(monkeypatch):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    protection = suppressing(problem, *SQUARE)
    checked = audit(problem, protection, certify=True)
    nothing = Evidence((), np.full((2, 1), -1))
    give_up(monkeypatch)
    with pytest.raises(
        CertificateError,
        match=r"The audit cannot be proven in exact arithmetic. 'a × c' is neither shown to be safe nor to be exposed",
    ):
        certificate(replace(checked, evidence=(nothing,)), protection)


def test_an_end_that_cannot_be_closed_is_said_to_be_open(monkeypatch):
    """One cycle shows 5 up and 5 down, which is enough to be safe; the cell's row proves that it cannot be more than 10."""
    problem = pose(cross_table("abc", "def", [[10, 5, 5], [5, 10, 10], [5, 10, 10]]), {"a × d": (4.0, 4.0)})
    protection = suppressing(problem, *(f"{r} × {c}" for r in "abc" for c in "def"))
    checked = audit(problem, protection, certify=True)
    assert checked.interval("a × d") == (0, 20)
    cycle = [problem.table.index(label) for label in ("a × d", "a × e", "b × d", "b × e")]
    evidence = Evidence((Deviation(np.array(cycle), np.array([5.0, -5.0, -5.0, 5.0])),), np.zeros((2, 1), dtype=int))
    give_up(monkeypatch)
    found = certificate(replace(checked, evidence=(evidence,)), protection)
    upper = cells_of(found)["a × d"]["upper"]
    assert (upper["reach"], upper["bound"], upper["gap"]) == ("5", "10", "5")
    assert found["counts"]["open"] == 1
    assert verify(found, problem, protection).passed


def test_certificates_need_evidence_and_the_things_that_were_audited():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    protection = suppressing(problem, *SQUARE)
    with pytest.raises(InputError, match=r"The audit kept no evidence: make it with audit\(…, certify=True"):
        certificate(audit(problem, protection), protection)
    checked = audit(problem, protection, certify=True)
    with pytest.raises(TableError, match=r"The audit is about another protection. Certify"):
        certificate(checked, suppressing(problem, *SQUARE, "Total × c"))
    reader = Attacker("reader", np.full(len(problem), -np.inf), np.full(len(problem), np.inf))
    with pytest.raises(InputError, match="The audit is about other attackers"):
        certificate(checked, protection, [reader])


def test_progress_ends_where_it_said_it_would():
    seen = []

    class Recorder:
        def stage(self, name: str, total: int) -> None:
            seen.append((name, total))

        def update(self, done: int, note: str = "") -> None:
            seen.append(done)

    problem, protection = case("2-D", "sign", seed=1)
    certificate(audit(problem, protection, certify=True), protection, progress=Recorder())
    n = len(problem.primaries)
    assert seen == [("certify", n), *range(1, n + 1)]


# -- files and the command line -------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["certificate.json", "certificate.json.gz"])
def test_certificates_are_read_back_as_they_were_written(mixed, tmp_path, file):
    problem, protection = mixed
    found = proven(problem, protection)
    write_certificate(found, tmp_path / file)
    assert read_certificate(tmp_path / file) == found
    first = (tmp_path / file).read_bytes()
    write_certificate(found, tmp_path / file)
    assert (tmp_path / file).read_bytes() == first


def test_one_line_a_table_and_a_cell(mixed, tmp_path):
    problem, protection = mixed
    found = proven(problem, protection)
    write_certificate(found, tmp_path / "c.json")
    lines = (tmp_path / "c.json").read_text(encoding="utf-8").splitlines()
    assert sum(line.startswith('{"cells"') for line in lines) == found["counts"]["tables"]
    assert sum(line.startswith('{"cell":') for line in lines) == found["counts"]["cells"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("c.json", b"", "not JSON, or damaged"),
        ("c.json", b"{", "not JSON, or damaged"),
        ("c.json", b"\xff\xfe", "not JSON, or damaged"),
        ("c.json", b"[" * 100_000, "not JSON, or damaged"),
        ("c.json.gz", b"{}", "not JSON, or damaged"),
        ("c.json.gz", gzip.compress(b"{}", mtime=0)[:-4], "not JSON, or damaged"),
        ("c.json", b"[]", "does not contain 'format'"),
        ("c.json", b'{"format": "something else"}', "does not contain 'format'"),
        ("c.json", b'{"format": "discreet certificate", "version": 99}', "another version. Write it"),
    ],
)
def test_other_files_are_refused(tmp_path, file, content, message):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_certificate(tmp_path / file)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        read_certificate(tmp_path / "c.json")


def discreet(*arguments: object) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    return int(stopped.value.code or 0)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})
    write_problem(problem, tmp_path / "problem.discreet")
    write_pattern(suppressing(problem, *SQUARE), tmp_path / "safe.csv")
    write_pattern(suppressing(problem, "a × d"), tmp_path / "exposed.csv")
    names = ("problem.discreet", "safe.csv", "exposed.csv", "c.json", "i.csv", "c.json.gz")
    return {name: tmp_path / name for name in names}


def test_audit_writes_a_certificate_and_verify_checks_it(files, capsys):
    problem, pattern = files["problem.discreet"], files["safe.csv"]
    assert discreet("audit", problem, "--pattern", pattern, "--certificate", files["c.json"]) == 0
    assert not read_certificate(files["c.json"])["exact"]
    capsys.readouterr()
    assert discreet("verify", files["c.json"], "--problem", problem, "--pattern", pattern) == 0
    assert capsys.readouterr().out == (
        "certificate holds: 1 cells safe, 1 congruent tables, checked in exact arithmetic\n"
    )
    with_intervals = ("--intervals", files["i.csv"], "--certificate", files["c.json.gz"])
    assert discreet("audit", problem, "--pattern", pattern, *with_intervals) == 0
    assert read_certificate(files["c.json.gz"])["exact"]
    assert discreet("verify", files["c.json.gz"], "--problem", problem, "--pattern", pattern) == 0


def test_a_right_certificate_of_exposure_is_no_success(files, capsys):
    problem, pattern = files["problem.discreet"], files["exposed.csv"]
    assert discreet("audit", problem, "--pattern", pattern, "--certificate", files["c.json"]) == 1
    capsys.readouterr()
    assert discreet("verify", files["c.json"], "--problem", problem, "--pattern", pattern) == 1
    assert capsys.readouterr().out == (
        "certificate holds: 1 of 1 cells exposed, 0 congruent tables, checked in exact arithmetic\n"
    )


def test_wrong_certificates_and_bad_files_on_the_command_line(files, capsys):
    problem, pattern = files["problem.discreet"], files["safe.csv"]
    discreet("audit", problem, "--pattern", files["exposed.csv"], "--certificate", files["c.json"])
    capsys.readouterr()
    assert discreet("verify", files["c.json"], "--problem", problem, "--pattern", pattern) == 1
    assert "certificate does not hold:\n  The certificate is about another pattern" in capsys.readouterr().out
    forged = json.loads(files["c.json"].read_text(encoding="utf-8"))
    forged["safe"] = True
    files["c.json"].write_text(json.dumps(forged), encoding="utf-8")
    assert discreet("verify", files["c.json"], "--problem", problem, "--pattern", files["exposed.csv"]) == 1
    assert "its checksum is wrong" in capsys.readouterr().out
    assert discreet("verify", pattern, "--problem", problem, "--pattern", pattern) == 2
    assert "is not a certificate" in capsys.readouterr().err
    assert discreet("audit", problem, "--pattern", pattern, "--certificate", files["i.csv"]) == 2


def test_a_certificate_of_some_cells_only_is_no_success(files, capsys):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0, "b × d": 1.0})
    protection = suppressing(problem, *SQUARE)
    write_problem(problem, files["problem.discreet"])
    some = audit(problem, protection, cells=problem.primaries[:1], certify=True)
    write_certificate(certificate(some, protection), files["c.json"])
    assert (
        discreet("verify", files["c.json"], "--problem", files["problem.discreet"], "--pattern", files["safe.csv"]) == 1
    )
    assert "does not cover all protected cells" in capsys.readouterr().out


def test_a_contradiction_on_the_command_line_says_what_to_do(files, capsys, monkeypatch):
    """There the certificate that comes with the error is out of reach."""
    monkeypatch.setattr("discreet.jobs.job.audit", lambda *a, **k: (lambda c: replace(c, safe=~c.safe))(audit(*a, **k)))
    problem, pattern = files["problem.discreet"], files["safe.csv"]
    assert discreet("audit", problem, "--pattern", pattern, "--certificate", files["c.json"]) == 1
    said = capsys.readouterr().err
    assert "about 1 cells, e.g. 'a × c'. Treat them as exposed, and do not publish." in said
    assert "round values, levels and bounds, then audit again. No certificate was written" in said
    assert not files["c.json"].exists()
