from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.analysis import protecting

TABULATED = {}


@pytest.fixture(autouse=True)
def equal_records_are_tabulated_once(monkeypatch):
    """Tabulation takes most of the time of a call."""
    tabulate = protecting.tabulate

    def remembered(frame, by, **roles):
        key = frame.to_csv(), tuple((name, h.codes) for name, h in by.items()), tuple(sorted(roles.items()))
        if key not in TABULATED:
            TABULATED[key] = tabulate(frame, by, **roles)
        return TABULATED[key]

    monkeypatch.setattr(protecting, "tabulate", remembered)


@pytest.fixture(scope="package")
def firms() -> pd.DataFrame:
    """Forty firms with sites in two regions and three industries: some cells have one or two firms."""
    rng = np.random.default_rng(8)
    n = 60
    industry = pd.Categorical(
        rng.choice(["low", "mid", "top"], n, p=[0.6, 0.3, 0.1]), ["low", "mid", "top"], ordered=True
    )
    return pd.DataFrame(
        {
            "region": rng.choice(["North", "South", "West"], n),
            "industry": industry,
            "firm": [f"f{i % 40}" for i in range(n)],
            "group": [f"g{i % 40 // 10}" if i % 40 < 20 else None for i in range(n)],
            "turnover": np.round(rng.lognormal(4, 1, n), 1),
            "staff": rng.integers(1, 90, n),
        }
    )
