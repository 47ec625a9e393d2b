"""The fields of records are the same, and have the same faults, in a database engine and in memory."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from discreet.data.columns import Columns
from discreet.data.record_fields import EngineFields, MemoryFields
from discreet.data.records import open_records
from discreet.errors import InputError

COLUMNS = Columns(("a", "b"), "x", "w", ("e",), "firm", "group", "asked")
NUMBERS = ["1", "-2.5", "0", "1e3", "1e999", "-1e999", "12x", "", None, "nan", "(3)"]


def both(records: pd.DataFrame, columns: Columns = COLUMNS):
    with open_records(records, columns) as opened:
        queries = EngineFields.of(opened.rows, columns, opened, (), local=True)
        yield queries
        yield MemoryFields(queries.rows.to_pyarrow(), opened.engine)


def drawn(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    pick = lambda *values: rng.choice(np.array(values, dtype=object), 60)  # noqa: E731
    columns = {"a": pick("p", "q", None, " "), "b": pick("1", "01"), "x": pick(*NUMBERS), "w": pick("1", "2", "-1")}
    columns |= {"e": pick(1.5, -2.0, np.nan, np.inf, -np.inf).astype(float), "firm": pick("f", "g", None, "")}
    return pd.DataFrame(columns | {"group": pick("h", None), "asked": pick("1", "0", "", None)})


@pytest.mark.parametrize("seed", range(5))
def test_faults_are_counted_alike(seed):
    queries, in_memory = (fields.survey(COLUMNS) for fields in both(drawn(seed)))
    pd.testing.assert_frame_equal(queries, in_memory, check_dtype=False)
    assert {name for name in queries if queries[name].dtype.kind in "iuf" and queries[name].any()} >= {
        *("missing0", "text0", "missing2", "infinite2", "negative0", "negative1", "negative2", "nameless"),
        *("largest0", "largest1", "largest2", "records"),
    }


@pytest.mark.parametrize("column", [[1, 2, 3], [True, False, True], [0.5, 1.0, -0.0], ["1,5", "2", "3,25"]])
def test_numbers_of_any_type(column):
    columns = Columns(("a",), "x", None, (), None, None, None)
    queries, in_memory = (
        fields.survey(columns) for fields in both(pd.DataFrame({"a": list("ppq"), "x": column}), columns)
    )
    pd.testing.assert_frame_equal(queries, in_memory, check_dtype=False)


def test_names_are_merged_alike():
    records = drawn(1).assign(
        firm=[f"{name} {k}" for k, name in zip(range(60), itertools.cycle(["Ä", "ä", " Ä ", "b"]), strict=False)]
    )
    records["firm"] = records.firm.str.replace(r"\d+$", lambda found: str(int(found[0]) % 3), regex=True)
    merged = [
        fields.with_one_spelling({"unit": "firm"}, "merged").rows.unit.to_pandas().tolist() for fields in both(records)
    ]
    assert sorted(merged[0]) == sorted(merged[1])
    assert set(merged[0]) == {f"{name} {k}" for name in (" Ä ", "b") for k in range(3)}
    for fields in both(records):
        with pytest.raises(
            InputError, match=r"3 names in column 'firm' have several spellings.* in records \d+ and \d+\."
        ):
            fields.with_one_spelling({"unit": "firm"}, None)
