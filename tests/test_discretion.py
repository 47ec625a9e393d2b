"""Objects that hold confidential values show their shape and verdict, in ``repr``, ``str`` and messages of tests."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import attacks, audit, audit_respondents, protect
from discreet.assess import assess
from discreet.attackers import Attacker
from discreet.compare import compare
from discreet.data.tabulate import tabulate
from discreet.protection import suppress

RECORDS = {
    "industry": ["mining"] * 3 + ["energy"] * 3 + ["mining"] * 3 + ["energy"] * 3,
    "region": ["north"] * 6 + ["south"] * 6,
    "turnover": [98765.0, 43.0, 21.0, 54321.0, 5432.0, 5433.0, 7654.0, 7655.0, 7656.0, 8765.0, 8766.0, 8767.0],
    "firm": ["Quarry Ltd", "B", "C", "Power Inc", "E", "F", "G", "H", "I", "J", "K", "L"],
}
SECRETS = ("98765", "98829", "98,765", "98,829", "54321", "54,321", "Quarry", "Power")


@pytest.fixture(scope="module")
def problem():
    import pandas as pd

    table = tabulate(pd.DataFrame(RECORDS), ["industry", "region"], "turnover", contributor="firm", top=3)
    return assess(table, "P(10)")


def shown(thing: object) -> str:
    html = getattr(thing, "_repr_html_", None)
    return repr(thing) + str(thing) + (str(html()) if html is not None else "")


def test_nothing_confidential_is_shown(problem):
    pattern = protect(problem)
    alone = suppress(problem, problem.status == 1)  # the sensitive cells, and nothing to protect them
    respondents = audit_respondents(problem, alone)
    report = attacks.run(alone, ["exact", "cycles"])
    compared = compare(problem, "kelly")
    known = Attacker("a bank", np.full(len(problem), 54321.0), np.full(len(problem), 98765.0))
    things = [
        *(problem, problem.table, pattern, pattern.report, audit(problem, alone), respondents, *respondents.exposed),
        *(one.aggregation for one in respondents.exposed),
        *(report, *report.scores, *(one.finding for one in report.scores), compared, *compared.outcomes, known),
        *(attacks.Knowledge(p=10.0, own={"mining × north": 98765.0}), attacks.Public.of(alone)),
    ]
    assert not respondents.passed
    for thing in things:
        text = shown(thing)
        assert not [secret for secret in SECRETS if secret in text], text
