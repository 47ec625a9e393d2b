"""A synthetic business survey for examples: skewed values, dominated cells, and holdings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from discreet.data.hierarchy import Hierarchy

# Agriculture, manufacturing, construction, trade, transport, hospitality, information, professions.
SECTIONS = "ACFGHIJM"
REGIONS = "NESWC"  # north, east, south, west, centre


@dataclass(frozen=True, repr=False)
class Survey:
    """Records ``firm, holding, industry, region, turnover, employees`` and the two classifications."""

    records: pd.DataFrame
    industry: Hierarchy
    region: Hierarchy


def business_survey(seed: int = 1, establishments: int = 40_000) -> Survey:
    """Establishments of firms by industry (section > division > class) and region (part > district).

    Turnover is lognormal with a heavy tail, classes and districts differ widely in size, one firm in twelve has several
    establishments, and about four in a hundred belong to a holding.
    """
    rng = np.random.default_rng(seed)
    industry = _tree({section: int(rng.integers(2, 5)) for section in SECTIONS}, lambda: int(rng.integers(2, 6)))
    region = _tree({part: int(rng.integers(4, 7)) for part in REGIONS}, None)
    classes = [code for code, leaf in zip(industry.codes, industry.is_leaf, strict=True) if leaf]
    districts = [code for code, leaf in zip(region.codes, region.is_leaf, strict=True) if leaf]
    firms = int(establishments / 1.25)
    home_class = rng.choice(len(classes), firms, p=_shares(rng, len(classes)))
    home_district = rng.choice(len(districts), firms, p=_shares(rng, len(districts)))
    size = np.exp(rng.normal(6.0, 1.7, firms)) * rng.choice([1.0, 12.0], firms, p=[0.97, 0.03])
    sites = 1 + np.where(rng.random(firms) < 1 / 12, rng.geometric(0.25, firms), 0)
    firm = np.repeat(np.arange(firms), sites)
    first = np.r_[True, firm[1:] != firm[:-1]]
    in_other_district = ~first & (rng.random(len(firm)) < 0.7)
    industry_of = np.where(
        ~first & (rng.random(len(firm)) < 0.3), rng.choice(len(classes), len(firm)), home_class[firm]
    )
    region_of = np.where(in_other_district, rng.choice(len(districts), len(firm)), home_district[firm])
    turnover = np.round(size[firm] * rng.dirichlet([1.0, 1.0], len(firm))[:, 0] * 2)
    holding_of = np.where(rng.random(firms) < 0.04, rng.integers(0, max(firms // 80, 1), firms), -1)
    records = pd.DataFrame(
        {
            "firm": [f"F{i:05d}" for i in firm],
            "holding": [f"H{h:03d}" if h >= 0 else None for h in holding_of[firm]],
            "industry": np.array(classes, dtype=object)[industry_of],
            "region": np.array(districts, dtype=object)[region_of],
            "turnover": turnover.astype(np.int64),
            "employees": np.maximum(1, np.round(turnover / 140 * rng.lognormal(0, 0.4, len(firm)))).astype(np.int64),
        }
    )
    return Survey(records.head(establishments), industry, region)


def _tree(groups: dict[str, int], branches: Callable[[], int] | None) -> Hierarchy:
    pairs: list[tuple[str, str | None]] = []
    for group, members in groups.items():
        pairs.append((group, "Total"))
        for i in range(1, members + 1):
            pairs.append((f"{group}{i}", group))
            if branches is not None:
                pairs.extend((f"{group}{i}{j}", f"{group}{i}") for j in range(1, branches() + 1))
    return Hierarchy.from_pairs(pairs)


def _shares(rng: np.random.Generator, n: int) -> np.ndarray:
    weight: np.ndarray = rng.lognormal(0.0, 0.9, n)
    return np.asarray(weight / weight.sum())
