"""Where nothing is suppressed, tables are those of pandas: same numbers, labels and types."""

from __future__ import annotations

import inspect
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import discreet
from discreet.analysis import protecting, request
from discreet.data.table import Table
from discreet.errors import InputError

SAFE = "FREQ(1)"  # no cell is sensitive
CALLS = 200


def added_up(frame, by, response=None, **roles) -> Table:
    """Tabulation in a few lines, for small frames: the database engine takes most of the time of a call."""
    value, count = Counter(), Counter()
    places = [frame[name].map(h.index) for name, h in by.items()]
    amounts = frame[response] if response else np.ones(len(frame))
    for *leaves, amount in zip(*places, amounts, strict=True):
        for cell in product(*((0, leaf) for leaf in leaves)):
            value[cell] += amount
            count[cell] += 1
    codes, columns = np.array(list(value)).T, {"count": list(count.values()), "is_count": response is None}
    columns["magnitude"] = [frame[response].abs().sum() if response else value[cell] for cell in value]
    return Table.from_cells(by, codes, list(value.values()), response=response or "count", **columns)


@pytest.fixture
def quickly(monkeypatch):
    """Calls differ in their layout more than in their cells: equal tables are made once, and by a quick tabulation."""
    monkeypatch.setattr(protecting, "tabulate", added_up)
    made, found = request.protected_measures, {}

    def remembered(keys, counted, values, respondents, options, earlier):
        coded = tuple((key.dimension, *key.codes.values(), *key.coded()) for key in keys)
        key = coded, counted, tuple((name, *entries) for name, entries in values.items())
        if key not in found:
            found[key] = made(keys, counted, values, respondents, options, earlier)
        return found[key]

    monkeypatch.setattr(request, "protected_measures", remembered)


def frames(number: int) -> list[pd.DataFrame]:
    rng = np.random.default_rng(5)
    made = []
    for i in range(number):
        n = int(rng.integers(15, 40))
        size = pd.Categorical(rng.choice(["small", "large"], n), ["small", "medium", "large"], ordered=True)
        frame = pd.DataFrame(
            {
                "region": rng.choice(["North", "South", "East"], n),
                "size": size,
                "year": rng.choice([2023, 2024], n),
                "turnover": np.round(rng.lognormal(3, 1, n), 2),
                "profit": rng.integers(-50, 90, n),
            }
        )
        if i % 2:  # records without a region, which pandas leaves out
            frame["region"] = frame["region"].where(rng.random(n) > 0.1)
        made.append(frame)
    return made


def compared(mine: pd.DataFrame, theirs: pd.DataFrame) -> None:
    assert_frame_equal(mine, theirs, rtol=1e-9, atol=1e-9, check_categorical=False)


def has_gaps(frame) -> bool:
    return bool(frame["region"].isna().any())


def crosstab_agrees(rng, frame) -> None:
    (rows, columns) = [(["region"], ["size"]), (["year", "region"], ["size"])][rng.integers(2)]
    options = {"dropna": bool(rng.random() < 0.7) or has_gaps(frame), "margins": bool(rng.random() < 0.5)}
    if rng.random() < 0.5:
        options["normalize"] = [True, "index", "columns", 0, 1, "all"][rng.integers(6)]
    if rng.random() < 0.5:
        functions = ["sum", ["sum", "mean"], "mean", "count", len, np.sum]
        chosen = "sum" if "normalize" in options else functions[rng.integers(len(functions))]
        options |= {"values": frame["turnover"], "aggfunc": chosen}
    given = [frame[name] for name in rows], [frame[name] for name in columns]
    compared(discreet.crosstab(*given, **options, rules=SAFE).frame(), pd.crosstab(*given, **options))


def pivot_agrees(rng, frame) -> None:
    (rows, columns) = [(["region"], ["size"]), (["year", "region"], ["size"]), (["size", "year"], [])][rng.integers(3)]
    functions = ["sum", "mean", "count", ["sum", "count"], "mean", {"turnover": "sum", "profit": "mean"}]
    options = {
        "values": ["turnover", ["turnover"], ["turnover", "profit"]][rng.integers(3)],
        "aggfunc": functions[rng.integers(len(functions))],
        "index": rows,
        "columns": columns,
        "margins": bool(rng.random() < 0.5),
        "dropna": bool(rng.random() < 0.7) or has_gaps(frame),
        "observed": bool(rng.random() < 0.7),
        # Unsorted, pandas orders codes by their first record, also if that one is left out.
        "sort": bool(rng.random() < 0.8) or has_gaps(frame),
    }
    if isinstance(options["aggfunc"], dict):
        options["values"] = ["turnover", "profit"]
    if rng.random() < 0.3:
        options["fill_value"] = 0
    compared(discreet.pivot_table(frame, **options, rules=SAFE).frame(), pd.pivot_table(frame, **options))


@pytest.mark.usefixtures("quickly")
def test_random_calls_agree_with_pandas():
    pool = frames(2)
    for seed in range(CALLS):
        rng = np.random.default_rng(seed)
        (crosstab_agrees if seed % 2 else pivot_agrees)(rng, pool[rng.integers(len(pool))])


@pytest.mark.slow
def test_more_random_calls_agree_with_pandas():
    """On fresh records each."""
    for seed, frame in enumerate(frames(CALLS)):
        rng = np.random.default_rng(1000 + seed)
        (crosstab_agrees if rng.random() < 0.5 else pivot_agrees)(rng, frame)


def test_counts_of_records_agree_with_pandas():
    frame = frames(1)[0]
    given = {"index": "region", "columns": "size", "aggfunc": "size", "fill_value": 0}
    compared(discreet.pivot_table(frame, **given, rules=SAFE).frame(), pd.pivot_table(frame, **given))


def test_records_without_a_code_are_a_row_if_they_are_not_dropped():
    frame = frames(2)[1]
    given = frame["region"], frame["year"]
    mine = discreet.crosstab(*given, dropna=False, margins=True, rules=SAFE).frame()
    theirs = pd.crosstab(*given, dropna=False, margins=True)
    assert mine.index.isna().sum() == 1
    assert (mine.to_numpy() == theirs.to_numpy()).all()


def test_types_of_columns_are_those_of_pandas():
    """Numbers of single precision, nullable integers, intervals, dates, truth values and codes of mixed types."""
    frame = frames(1)[0]
    frame["single"], frame["nullable"] = frame["turnover"].astype("float32"), frame["profit"].astype("Int64")
    frame["class"] = pd.cut(frame["turnover"], [0, 15, 30, 10_000])
    frame["day"] = pd.to_datetime(frame["year"].astype(str) + "-01-01")
    frame["large"] = frame["size"] == "large"
    frame["mixed"] = [1 if large else "1" for large in frame["large"]]
    for key in ("class", "day", "large", "mixed"):
        compared(
            discreet.crosstab(frame[key], frame["size"], rules=SAFE).frame(), pd.crosstab(frame[key], frame["size"])
        )
    for values in ("single", "nullable"):
        given = {"values": values, "index": "region", "aggfunc": "sum"}
        mine, theirs = discreet.pivot_table(frame, **given, rules=SAFE).frame(), pd.pivot_table(frame, **given)
        assert np.allclose(mine.to_numpy(dtype=float), theirs.to_numpy(dtype=float), rtol=1e-6)


def test_a_layout_that_pandas_gets_wrong_is_refused():
    """pandas shows zeros for records without a code if there are several levels."""
    frame = frames(2)[1]
    with pytest.raises(InputError, match="pandas lays out 2 cells in another way than the audited table"):
        discreet.crosstab([frame["region"], frame["year"]], frame["size"], dropna=False, rules=SAFE)


def test_signatures_are_those_of_pandas():
    for mine, theirs in ((discreet.crosstab, pd.crosstab), (discreet.pivot_table, pd.pivot_table)):
        own = [p for p in inspect.signature(mine).parameters.values() if p.kind is not p.KEYWORD_ONLY]
        given = [p for p in inspect.signature(theirs).parameters.values() if p.kind is not p.VAR_KEYWORD]
        assert [(p.name, p.default) for p in own] == [(p.name, p.default) for p in given]
