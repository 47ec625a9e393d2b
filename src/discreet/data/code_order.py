"""The order of codes without a hierarchy or a code list: that of a category type.

Codes of records have no order otherwise. That of the records is not used: in a file that is sorted by size, it would tell readers
which codes have the largest contributors. Programs also make categories in the order of the records: these are not used either,
unless the type says that it is ordered. The codes of a finished table are in the order of its file, unless sorted by size there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet


def category_order(data: Any, column: str) -> list[str] | None:
    """The codes of a column in the order of its category type, as text; None if it has none."""
    if isinstance(data, (str, Path)):
        return _of_parquet(Path(data), column) if str(data).lower().endswith((".parquet", ".pq")) else None
    if isinstance(data, pd.DataFrame):
        kind = data[column].dtype if column in data else None
        if not isinstance(kind, pd.CategoricalDtype):
            return None
        return _unless_of_records(list(map(str, kind.categories)), kind.ordered, data[column].dropna().unique())
    if isinstance(data, pa.Table):
        return _of_arrow(data[column]) if column in data.column_names else None
    if type(data).__module__.partition(".")[0] == "polars":
        kind = data.lazy().collect_schema().get(column)  # of its types with categories only Enum has an order
        return list(map(str, kind.categories)) if type(kind).__name__ == "Enum" else None
    return None


def _of_parquet(path: Path, column: str) -> list[str] | None:
    """The order of a column that was a category before it was written."""
    try:
        schema = parquet.read_schema(path)
        if column not in schema.names or not pa.types.is_dictionary(schema.field(column).type):
            return None
        return _of_arrow(parquet.read_table(path, columns=[column])[column])
    except (OSError, pa.ArrowException):  # reported when the file is read
        return None


def _of_arrow(column: pa.ChunkedArray) -> list[str] | None:
    if not pa.types.is_dictionary(column.type):
        return None
    listed = [str(code) for chunk in column.chunks for code in chunk.dictionary.to_pylist()]
    occurring = [code for chunk in column.chunks for code in chunk.drop_null().unique().to_pylist()]
    return _unless_of_records(list(dict.fromkeys(listed)), column.type.ordered, occurring)


def _unless_of_records(order: list[str], ordered: bool | None, records: Sequence[Any]) -> list[str] | None:
    """An order of categories; None if the codes occur in the same order in the records, and the type is not ordered."""
    occurring = list(dict.fromkeys(map(str, records)))
    return order if ordered or [code for code in order if code in set(occurring)] != occurring else None


def is_by_size(rows: pd.DataFrame, column: str, numbers: Sequence[str]) -> bool:
    """Whether the codes of a finished table stand in the order of one of its numbers.

    The numbers are those of the rows in which codes occur first, and the largest of each code, which are those of its totals.
    """
    codes = rows.groupby(column, sort=False)[list(numbers)]
    sizes = np.concatenate([codes.first().to_numpy(dtype=float), codes.max().to_numpy(dtype=float)], axis=1)
    steps = np.diff(sizes, axis=0)
    sorted_by = np.all(steps >= 0, axis=0) | np.all(steps <= 0, axis=0)
    return bool((sorted_by & np.any(steps != 0, axis=0)).any())


def by_category(codes: Sequence[str], order: Sequence[str] | None) -> list[str]:
    """Codes in the order of a category type; those that it does not have, and all codes without such a type, as they are."""
    if order is None:
        return list(codes)
    rank = {code: i for i, code in enumerate(order)}
    return sorted(codes, key=lambda code: rank.get(code, len(rank)))
