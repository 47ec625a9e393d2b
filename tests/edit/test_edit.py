"""The confidentiality edit: what must not change does not, whatever the records look like, and the report tells the truth."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.helpers.fixed import secret

from discreet.cli.main import cli
from discreet.edit import blank_and_impute, swap
from discreet.edit.record_codes import combined_by_unit
from discreet.edit.selection import Rates
from discreet.edit.swap import partners
from discreet.errors import DiscreetError, InputError

AREAS = ["region", "district", "block"]


def census(seed: int, records: int = 600, gaps: float = 0.0) -> pd.DataFrame:
    """People in blocks of very different size: some of one person, some of many."""
    rng = np.random.default_rng(seed)
    share = rng.lognormal(0, 1.5, 24)
    block = rng.choice(24, records, p=share / share.sum())
    frame = pd.DataFrame(
        {
            "person": np.arange(records),
            "region": np.where(block < 12, "R1", "R2"),
            "district": [f"D{b // 4}" for b in block],
            "block": [f"{b % 4:02d}" for b in block],  # blocks of different districts go by the same code
            "sex": rng.choice(["f", "m"], records),
            "age": rng.integers(0, 6, records),
            "tenure": rng.choice(["own", "rent"], records),
            "job": rng.choice(list("abcdefg"), records),
            "income": np.round(rng.lognormal(8, 1, records), 2),
        }
    ).astype({"region": object, "sex": object, "tenure": object})
    for name in ("block", "sex", "job"):
        frame.loc[rng.random(records) < gaps, name] = None
    return frame


def count(frame: pd.DataFrame, columns: Sequence[str]) -> Counter[tuple[str, ...]]:
    """A table, counted in the plainest way there is."""
    return Counter(map(tuple, plain(frame[list(columns)]).to_numpy().tolist()))


def plain(frame):
    """As text, so that what is missing is equal to what is missing."""
    return frame.astype(object).where(frame.notna(), "?").astype(str)


# -- swapping -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_swapping_changes_nothing_that_must_not_change(seed):
    frame = census(seed, gaps=0.03 * (seed % 3))
    areas, hold = AREAS[-1 - seed % 3 :], ["tenure"] if seed % 2 else []
    before = frame.copy(deep=True)
    edited, report = swap(frame, areas, ["sex", "age"], hold=hold, rate=0.2, small=0.5, secret=secret(seed))
    pd.testing.assert_frame_equal(frame, before)
    assert count(edited, [*areas, "sex", "age", *hold]) == count(frame, [*areas, "sex", "age", *hold])
    assert count(edited, areas) == count(frame, areas)
    others = [name for name in frame if name not in areas]
    pd.testing.assert_frame_equal(edited[others], frame[others])
    assert list(edited) == list(frame)
    assert report.kept
    assert set(others) <= set(report.untouched)
    moved = (plain(edited[areas]) != plain(frame[areas])).any(axis=1)
    assert moved.sum() == report.edited == report.changed_records > 0
    assert not moved[frame[areas].isna().any(axis=1)].any()
    assert report.without_area == frame[areas].isna().any(axis=1).sum()


def test_swapping_moves_records_only_to_where_their_partners_were():
    """With keys that two records share, the partner is known: it must be at the old place."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"area": rng.permutation(np.repeat(list("ABCD"), 50)), "pair": rng.permutation(np.arange(200) // 2)}
    )
    edited, report = swap(frame, "area", "pair", rate=1.0, small=1.0)
    for _, rows in frame.groupby("pair"):
        old, new = list(rows.area), list(edited.area[rows.index])
        assert new == old[::-1]
    same = frame.groupby("pair").area.nunique() == 1
    assert report.unmatched == 2 * same.sum()


@pytest.mark.parametrize("seed", range(8))
def test_as_many_as_possible_find_a_partner(seed):
    """If all are chosen, a group is left with one record if their number is odd, or with what its largest area has too many."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"area": rng.choice(list("ABCDE"), 300, p=[0.5, 0.2, 0.1, 0.1, 0.1]), "key": rng.integers(0, 60, 300)}
    )
    _, report = swap(frame, "area", "key", rate=1.0, secret=secret(seed))
    left = 0
    for _, rows in frame.groupby("key"):
        most = rows.area.value_counts().max()
        left += max(2 * most - len(rows), len(rows) % 2)
    assert report.unmatched == left
    assert report.edited == 300 - left


def test_those_who_are_not_chosen_help_out_and_the_risky_come_first():
    """Five of area A are chosen, and two of their group who were not are elsewhere: these go to the two at risk."""
    area = np.array([0, 0, 0, 0, 0, 1, 2, 3])
    group = np.array([0, 0, 0, 0, 0, 0, 0, 1])
    chosen = np.array([True] * 5 + [False] * 3)
    risky = np.array([False, True, False, True, False, False, False, False])
    for seed in range(10):
        left, right = partners(group, area, chosen, risky, np.random.default_rng(seed))
        assert sorted(left) == [1, 3]
        assert sorted(right) == [5, 6]


def test_a_rate_of_nothing_changes_nothing():
    frame = census(3)
    edited, report = swap(frame, AREAS, ["sex", "age"], rate=0.0)
    assert (report.chosen, report.edited, report.changed_records) == (0, 0, 0)
    pd.testing.assert_frame_equal(edited, frame)


def test_partners_are_of_the_same_coarser_area_if_there_are_any():
    frame = pd.DataFrame(
        {
            "region": ["R1"] * 4 + ["R2"] * 2,
            "block": ["a", "a", "b", "b", "c", "d"],
            "key": ["k", "k", "k", "k", "k", "z"],
        }
    )
    edited, report = swap(frame, ["region", "block"], "key", rate=1.0)
    assert list(edited.block) == ["b", "b", "a", "a", "c", "d"]
    assert report.within == {"region": 4, "anywhere": 0}
    assert report.unmatched == 2
    lonely = pd.DataFrame({"region": ["R1", "R2"], "block": ["a", "a"], "key": ["k", "k"], "x": [1, 2]})
    edited, report = swap(lonely, ["region", "block"], "key", rate=1.0)
    assert list(edited.region) == ["R2", "R1"]
    assert report.within == {"region": 0, "anywhere": 2}


def test_areas_of_one_record_and_records_without_partner():
    frame = pd.DataFrame({"area": list("ABCDE"), "key": list("kkkkz")})
    edited, report = swap(frame, "area", "key", rate=1.0)
    assert (report.risky, report.chosen, report.edited, report.unmatched) == (5, 5, 4, 1)
    assert sorted(edited.area[:4]) == list("ABCD")
    assert (edited.area[:4] != frame.area[:4]).all()


def test_a_large_share_is_chosen_in_small_areas_and_the_rate_in_large_ones():
    size = {"tiny": 10, "small": 100, "middle": 250, "large": 5000}
    frame = pd.DataFrame({"area": np.repeat(list(size), list(size.values())), "key": 0})
    _, report = swap(frame, "area", "key", rate=0.05, small=0.3, small_area=100)
    chosen = report.areas.set_index("area").chosen
    assert chosen.to_dict() == {"tiny": 3, "small": 30, "middle": 30, "large": 250}
    assert Rates(0.05).of(np.array([1, 100, 200, 400, 10_000])).tolist() == [0.2, 0.2, 0.1, 0.05, 0.05]
    expected = np.arange(1, 5000) * Rates(0.05, 0.3).of(np.arange(1, 5000))
    assert (np.diff(expected) > -1e-9).all()


def test_shares_are_right_on_average_where_areas_are_tiny():
    frame = pd.DataFrame({"area": np.repeat(np.arange(4000), 3), "key": 0})
    _, report = swap(frame, "area", "key", rate=0.05, small=0.2)
    assert report.chosen == pytest.approx(0.2 * 12_000, rel=0.05)
    assert set(report.areas.chosen) <= {0, 1}


def test_who_is_alone_with_their_keys_is_chosen_by_the_odds():
    """One in ten is alone; drawn first with odds 5 to 1, so it is 5/14 of the first draw. Few draws: about that of all."""
    frame = pd.DataFrame(
        {"area": np.repeat(np.arange(3000), 10), "key": np.tile([0] * 9 + [1], 3000), "id": np.arange(30_000)}
    )
    for risk, expected in ((1.0, 1 / 10), (5.0, 5 / 14)):
        _, report = swap(frame, "area", "key", rate=0.1, small=0.1, risk=risk, secret=secret(1), tables=[])
        assert report.risky == 3000
        edited, _ = swap(frame, "area", "key", rate=0.1, small=0.1, risk=risk, secret=secret(1), tables=[])
        moved = frame[edited.area != frame.area]
        assert (moved.key == 1).mean() == pytest.approx(expected, abs=0.05)


def test_the_same_secret_gives_the_same_edit_whatever_the_records_come_in(tmp_path):
    frame = census(1)
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    words = {"areas": AREAS, "keys": ["sex", "age"], "secret": secret(5)}
    first, report = swap(frame, **words)
    assert report.secret == secret(5)
    again, _ = swap(frame.set_index(np.zeros(len(frame))).astype({"region": "category"}), **words)
    from_csv, _ = swap(tmp_path / "people.csv", **words)
    from_parquet, _ = swap(str(tmp_path / "people.parquet"), **words)
    other, _ = swap(frame, **{**words, "secret": secret(6)})
    for edited in (again, from_csv, from_parquet):
        assert edited[AREAS].astype(str).to_numpy().tolist() == first[AREAS].to_numpy().tolist()
    assert (other[AREAS].to_numpy() != first[AREAS].to_numpy()).any()
    assert again.region.dtype == "category"


def test_the_report_is_what_one_counts_oneself():
    frame = census(7, gaps=0.02)
    edited, report = swap(frame, AREAS, ["sex", "age"], rate=0.2, tables=[["district", "job"], ["job"]])
    assert list(report.tables.table) == ["region × district × block × sex × age", "district × job", "job"]
    assert list(report.tables.promised) == [True, False, False]
    for row in report.tables.itertuples():
        columns = row.table.split(" × ")
        before, after = count(frame, columns), count(edited, columns)
        moves = [abs(before[cell] - after[cell]) for cell in before | after]
        assert row.cells == len(moves)
        assert row.changed == sum(move > 0 for move in moves)
        assert row.share == pytest.approx(row.changed / row.cells)
        assert row.largest == max(moves)
        assert row.mean == pytest.approx(np.mean(moves))
    assert report.tables.changed.iloc[1] > 0
    assert set(report.unchanged) == set(report.tables.table[report.tables.changed == 0])
    whole = frame.dropna(subset=AREAS)
    sizes = whole.groupby(AREAS).size()
    assert report.areas.set_index(AREAS).units.to_dict() == sizes.to_dict()
    keys = whole.assign(sex=whole.sex.fillna("?"))
    alone = ~keys.duplicated([*AREAS, "sex", "age"], keep=False)
    assert report.areas.set_index(AREAS).risky.to_dict() == alone.groupby([whole[a] for a in AREAS]).sum().to_dict()
    moved = (plain(edited[AREAS]) != plain(frame[AREAS])).any(axis=1)
    assert report.areas.edited.sum() == moved.sum()
    assert report.areas.chosen.sum() == report.chosen
    json.dumps(report.as_dict())


def test_without_tables_asked_for_columns_with_few_codes_are_compared_by_area():
    _, report = swap(census(2), AREAS, ["sex", "age"])
    assert list(report.tables.table[1:]) == ["region × district × block × tenure", "region × district × block × job"]


# -- units ----------------------------------------------------------------------------------------------------------


def households(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 4, 300)
    of = np.repeat(np.arange(300), size)
    block = rng.integers(0, 12, 300)[of]
    frame = pd.DataFrame({"house": of, "region": block // 4, "block": block, "sex": rng.choice(["f", "m"], len(of))})
    frame["age"], frame["job"] = rng.integers(0, 2, len(of)), rng.integers(0, 9, len(of))
    return frame.sample(frac=1, random_state=seed, ignore_index=True)


@pytest.mark.parametrize("seed", range(4))
def test_households_move_as_a_whole_with_households_like_them(seed):
    frame = households(seed)
    edited, report = swap(frame, ["region", "block"], ["sex", "age"], unit="house", rate=0.3, secret=secret(seed))
    assert report.kept
    assert report.units == 300
    assert 0 < report.edited < 300
    assert (edited.groupby("house").block.nunique() == 1).all()

    def kinds(data: pd.DataFrame) -> Counter[tuple[object, ...]]:
        return Counter((h.block.iloc[0], *sorted(zip(h.sex, h.age, strict=True))) for _, h in data.groupby("house"))

    assert kinds(edited) == kinds(frame)
    assert report.changed_records == (edited.block != frame.block).sum()


def test_what_records_are_together_does_not_depend_on_their_order():
    rng = np.random.default_rng(0)
    unit, code = rng.permutation(np.repeat(np.arange(200), rng.integers(1, 5, 200))), None
    code = rng.integers(0, 2, len(unit))
    ids = combined_by_unit(code, unit)
    what = [tuple(sorted(code[unit == u])) for u in range(200)]
    for u in range(200):
        for v in range(u):
            assert (ids[u] == ids[v]) == (what[u] == what[v])


def test_units_in_several_areas_or_none_are_refused():
    frame = households(1)
    with pytest.raises(InputError, match="1 units in column 'house' have records in several areas"):
        swap(
            frame.assign(block=np.where(frame.index == frame.index[frame.house.duplicated()][0], 99, frame.block)),
            "block",
            "sex",
            unit="house",
        )
    with pytest.raises(InputError, match="1 records have no entry in column 'house'"):
        swap(frame.assign(house=frame.house.where(frame.index > 0)), "block", "sex", unit="house")


def test_areas_that_are_called_like_columns_of_the_report_are_refused():
    with pytest.raises(InputError, match="An area cannot be called 'chosen'"):
        swap(households(1).rename(columns={"block": "chosen"}), "chosen", "sex", unit="house")


@pytest.mark.parametrize("backend", ["numpy", "pyarrow"])
def test_columns_of_lists_stay_as_they_are(backend, tmp_path):
    records = census(0).assign(visits=lambda frame: [[1, 2]] * len(frame))
    records.to_parquet(tmp_path / "records.parquet")
    options = {} if backend == "numpy" else {"dtype_backend": backend}
    frame = pd.read_parquet(tmp_path / "records.parquet", **options)
    edited, _ = swap(frame, "region", "sex")
    assert [list(one) for one in edited["visits"]] == [[1, 2]] * len(frame)


# -- blank and impute ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_exchanged_values_keep_their_marginals(seed):
    frame = census(seed, gaps=0.02)
    by = [["sex"], [], ["region", "age"]][seed % 3]
    edited, report = blank_and_impute(
        frame, ["job", "income"], areas=AREAS, keys=["sex", "age", "job"], by=by, rate=0.1, secret=secret(seed)
    )
    assert count(edited, [*by, "job", "income"]) == count(frame, [*by, "job", "income"])
    others = [name for name in frame if name not in ("job", "income")]
    pd.testing.assert_frame_equal(edited[others], frame[others])
    assert report.kept
    assert set(others) <= set(report.untouched)
    changed = (edited.income != frame.income).sum()
    assert 0 < changed <= report.edited
    assert report.chosen <= report.edited + report.unmatched
    assert report.changed_records == ((edited.income != frame.income) | (plain(edited.job) != plain(frame.job))).sum()


def test_values_come_from_another_record_of_the_class():
    frame = pd.DataFrame({"area": [1] * 6, "key": range(6), "group": list("aaabbc"), "value": range(6)})
    given = np.array([True, True, False, True, False, True])
    for seed in range(20):
        edited, report = blank_and_impute(
            frame, "value", areas="area", keys="key", by="group", records=given, secret=secret(seed)
        )
        assert edited.value.tolist() == [1, 0, 2, 4, 3, 5]  # two exchange, one is joined by another, one has no partner
        assert (report.chosen, report.edited, report.unmatched) == (4, 4, 1)
        copied, report = blank_and_impute(
            frame, "value", areas="area", keys="key", by="group", records=given, donors="copy", secret=secret(seed)
        )
        assert copied.value.tolist() == [2, 2, 2, 4, 4, 5]
        assert (report.chosen, report.edited, report.unmatched) == (4, 3, 1)
        assert not report.tables.promised.any()


def test_donors_differ():
    """A donor is drawn anew for each record, and each one may be it."""
    frame = pd.DataFrame({"area": 1, "key": 0, "value": range(40)})
    copied, _ = blank_and_impute(frame, "value", areas="area", keys="key", records=np.arange(40) < 30, donors="copy")
    assert set(copied.value[:30]) <= set(range(30, 40))
    assert copied.value[:30].nunique() > 5


# -- what cannot be done ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"areas": "regoin", "keys": "sex"}, "no column 'regoin'. Did you mean 'region'"),
        ({"areas": "block", "keys": "block"}, "'block' is given twice, as areas= and as keys="),
        ({"areas": "block", "keys": "sex", "hold": ["sex"]}, "given twice"),
        ({"areas": [], "keys": "sex"}, "at least one column with areas"),
        ({"areas": "block", "keys": []}, "at least one column with areas"),
        ({"areas": "block", "keys": "sex", "rate": 1.5}, "rate is a share"),
        ({"areas": "block", "keys": "sex", "rate": 0.3, "small": 0.1}, "small is a share from the rate"),
        ({"areas": "block", "keys": "sex", "small_area": 0}, "small_area is a number"),
        ({"areas": "block", "keys": "sex", "risk": 0.5}, "risk is a factor"),
        ({"areas": "block", "keys": "sex", "secret": "20261116"}, "at least 32 hexadecimal digits"),
        ({"areas": "block", "keys": "sex", "tables": [["jop"]]}, "no column 'jop'. Did you mean 'job'"),
    ],
)
def test_bad_requests_are_refused(words, says):
    with pytest.raises(InputError, match=says):
        swap(census(1), **words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            {"columns": "block", "areas": "block", "keys": "sex"},
            "'block' is to be blanked, and is also given as an area",
        ),
        ({"columns": "job", "areas": "block", "keys": "sex", "by": "job"}, "'job' is to be blanked"),
        ({"columns": [], "areas": "block", "keys": "sex"}, "at least one column to blank"),
        ({"columns": "job", "areas": "block", "keys": "sex", "donors": "buy"}, "donors is 'exchange' or 'copy'"),
        (
            {"columns": "job", "areas": "block", "keys": "sex", "records": [1, 2]},
            "records= is an array of 600 values true or false",
        ),
    ],
)
def test_bad_imputations_are_refused(words, says):
    with pytest.raises(InputError, match=says):
        blank_and_impute(census(1), **words)


def test_records_that_are_none(tmp_path):
    with pytest.raises(InputError, match="There are no records to edit"):
        swap(census(1).head(0), "block", "sex")
    with pytest.raises(InputError, match=r"Cannot edit list. Pass a pandas data frame"):
        swap([1, 2], "block", "sex")
    with pytest.raises(InputError, match="does not exist"):
        swap(tmp_path / "no.csv", "block", "sex")
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(InputError, match="several columns called 'a'"):
        swap(tmp_path / "twice.csv", "a", "b")
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(InputError, match="cannot be read"):
        swap(tmp_path / "bad.parquet", "a", "b")


# -- on the command line -----------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    census(4, gaps=0.01).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: object) -> tuple[int, str]:
    """What a command prints, and its exit code, as main() makes it of errors."""
    try:
        done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)
    except DiscreetError as error:
        return error.exit_code, str(error)
    except click.ClickException as error:
        return 2, error.format_message()
    return int(done.return_value or 0), done.output


SWAP = ["edit", "people.csv", "--area", "region", "--area", "district", "--key", "sex", "--key", "age"]


def test_records_are_swapped_from_file_to_file(here):
    Path("secret.txt").write_text(secret(2) + "\n", encoding="ascii")
    code, output = run(
        *SWAP,
        "--hold",
        "tenure",
        "--rate",
        0.1,
        "--small",
        0.3,
        "--secret",
        "secret.txt",
        "--out",
        "e.csv",
        "--report",
        "e.json",
    )
    assert code == 0
    frame, edited = (pd.read_csv(name, dtype=str, keep_default_na=False) for name in ("people.csv", "e.csv"))
    columns = ["region", "district", "sex", "age", "tenure"]
    assert count(edited, columns) == count(frame, columns)
    assert (edited.block == frame.block).all()  # the 01 of a code keeps its zero
    report = json.loads(Path("e.json").read_text(encoding="utf-8"))
    assert report["kept"] is True
    assert report["edited"] == (edited.district != frame.district).sum() > 0
    assert report["secret"] == secret(2)
    for figure in ("records", "risky", "chosen", "edited"):
        assert f"{report[figure]:,}" in output
    assert output.count("confidential") == 2
    again = run(*SWAP, "--hold", "tenure", "--rate", 0.1, "--small", 0.3, "--secret", "secret.txt", "--out", "f.csv")
    assert again[0] == 0
    assert Path("e.csv").read_bytes() == Path("f.csv").read_bytes()


@pytest.mark.parametrize("name", ["e.csv.gz", "e.parquet"])
def test_values_are_blanked_and_imputed_from_file_to_file(here, name):
    words = ["--method", "impute", "--column", "job", "--by", "sex", "--table", "district,job"]
    code, output = run(*SWAP, *words, "--out", name)
    assert code == 0
    assert "district × job" in output
    frame = pd.read_csv("people.csv", dtype=str)
    edited = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name, dtype=str)
    assert count(edited, ["sex", "job"]) == count(frame, ["sex", "job"])
    assert (plain(edited.job) != plain(frame.job)).any()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([*SWAP, "--column", "job", "--out", "e.csv"], "--column is not for --method swap"),
        ([*SWAP, "--method", "impute", "--hold", "job", "--out", "e.csv"], "--hold is not for --method impute"),
        ([*SWAP, "--method", "impute", "--out", "e.csv"], "at least one column to blank"),
        ([*SWAP, "--out", "people.csv"], "given twice"),
        ([*SWAP, "--out", "e.xlsx"], "must end in .csv or"),
        ([*SWAP, "--key", "agee", "--out", "e.csv"], "Did you mean 'age'"),
        ([*SWAP, "--rate", 0.5, "--small", 0.2, "--out", "e.csv"], "small is a share from the rate"),
    ],
)
def test_bad_commands_end_with_2_and_write_nothing(here, words, says):
    code, output = run(*words)
    assert code == 2
    assert says in output
    assert [file.name for file in here.iterdir()] == ["people.csv"]


@pytest.mark.slow
def test_a_million_records_take_well_under_a_minute():
    rng = np.random.default_rng(1)
    block = rng.integers(0, 10_000, 1_000_000)
    frame = pd.DataFrame({"region": block // 1000, "district": block // 50, "block": block})
    for name, codes in (("sex", 2), ("age", 18), ("job", 60)):
        frame[name] = rng.integers(0, codes, len(frame))
    start = time.process_time()
    _, report = swap(frame, AREAS, ["sex", "age"])
    assert time.process_time() - start < 30
    assert report.kept
