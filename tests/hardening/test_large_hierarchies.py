"""Hierarchies thousands of levels deep, and of a hundred thousand codes, take seconds and not hours."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from discreet import Hierarchy, tabulate
from discreet.errors import HierarchyError

DEEP, WIDE = 5_000, 100_000
SECONDS = 20  # of processor time, of which it needs one or two


@pytest.fixture
def in_seconds():
    begun = time.process_time()
    yield
    assert time.process_time() - begun < SECONDS


def test_five_thousand_levels_from_files(tmp_path, in_seconds):
    lines = [line for d in range(DEEP) for line in ("@" * d + f"g{d}", "@" * (d + 1) + f"leaf{d}")]
    (tmp_path / "h.hrc").write_text("\n".join(lines))
    deep = Hierarchy.from_hrc(tmp_path / "h.hrc")
    pairs = ((code, deep.codes[up] if up >= 0 else "") for code, up in zip(deep.codes, deep.parents[0], strict=True))
    (tmp_path / "h.csv").write_text("code,parent\n" + "".join(f"{code},{up}\n" for code, up in pairs))
    assert Hierarchy.from_csv(tmp_path / "h.csv") == deep
    assert deep.depth.max() == DEEP + 1
    assert deep.to_hrc().splitlines() == lines
    leaf, code = deep.ancestors
    assert len(leaf) == len(code) == sum(d + 3 for d in range(DEEP))


def test_a_hundred_thousand_levels(in_seconds):
    """Nothing walks up step by step."""
    chain = Hierarchy.from_pairs([(f"g{i}", f"g{i - 1}" if i else "Total") for i in range(WIDE)])
    assert chain.depth.tolist() == list(range(WIDE + 1))
    assert len(chain.ancestors[0]) == WIDE + 1


def test_circles_in_large_hierarchies(in_seconds):
    parents = np.r_[-1, np.arange(2, WIDE), 1]
    with pytest.raises(HierarchyError, match="their own ancestors"):
        Hierarchy(tuple(map(str, range(WIDE))), parents)


def test_a_hundred_thousand_codes(tmp_path, in_seconds):
    groups = 300
    text = "".join(f"g{g}\n" + "".join(f"@c{i}\n" for i in range(g, WIDE, groups)) for g in range(groups))
    (tmp_path / "h.hrc").write_text(text)
    wide = Hierarchy.from_hrc(tmp_path / "h.hrc")
    codes = [f"c{i}" for i in range(WIDE)]
    records = pd.DataFrame({"h": codes, "f": [f"F{i // 2}" for i in range(WIDE)], "v": 1})
    table = tabulate(records, {"h": wide}, "v", contributor="f")
    assert len(table) == WIDE + groups + 1
    assert table.value[0] == WIDE


def test_records_in_a_deep_hierarchy(in_seconds):
    """With contributors in several cells, whose levels are added up in portions."""
    levels = 600
    deep = Hierarchy.from_pairs(
        [(f"g{d}", f"g{d - 1}" if d else "Total") for d in range(levels)] + [(f"c{d}", f"g{d}") for d in range(levels)]
    )
    records = pd.DataFrame(
        {"h": [f"c{d}" for d in range(levels)] * 2, "f": [f"F{i % 7}" for i in range(2 * levels)], "v": 1}
    )
    table = tabulate(records, {"h": deep}, "v", contributor="f", top=3)
    assert table.count is not None
    assert (table.value[0], table.count[0]) == (2 * levels, 7)
    assert table.value[table.index("g300")] == 2 * (levels - 300)


@pytest.mark.parametrize("seed", range(20))
def test_depth_and_ancestors_step_by_step(seed):
    """The same as walking up one step at a time, in one tree and in several."""
    rng = np.random.default_rng(seed)
    parents = np.r_[-1, [rng.integers(0, i) for i in range(1, 40)]]
    tree = Hierarchy(tuple(f"c{i}" for i in range(40)), parents)
    regrouped = [(code, f"r{rng.integers(3)}") for code in np.array(tree.codes)[tree.is_leaf]]
    other = Hierarchy.from_pairs([*regrouped, *((group, "c0") for group in sorted({g for _, g in regrouped}))], "c0")
    for hierarchy in (tree, Hierarchy.join(tree, other)):
        expected = set()
        for leaf in np.flatnonzero(hierarchy.is_leaf).tolist():
            for parent in hierarchy.parents:
                at = leaf
                while at >= 0:
                    expected.add((leaf, at))
                    at = int(parent[at])
        assert set(zip(*map(np.ndarray.tolist, hierarchy.ancestors), strict=True)) == expected
        assert hierarchy.depth[0] == 0
        inner = hierarchy.parents[0] >= 0
        assert np.all(hierarchy.depth[inner] == hierarchy.depth[hierarchy.parents[0][inner]] + 1)
