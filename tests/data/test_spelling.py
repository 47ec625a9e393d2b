"""Spellings of codes and names: what differs in nothing but its spelling is asked about, and settings answer."""

from __future__ import annotations

import re
from importlib import import_module

import ibis
import pandas as pd
import pytest

from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.reading import Reading
from discreet.data.records import distinct_codes
from discreet.data.spelling import Spelling, check_spellings, name_key, spellings, without_stray_blanks
from discreet.data.tabulate import tabulate
from discreet.errors import HierarchyError, InputError, TableError


@pytest.mark.parametrize(
    ("code", "other", "kind"),
    [
        ("West", "West ", "blanks or invisible characters"),
        ("New York", "New  York", "blanks or invisible characters"),
        ("New York", "New\u00a0York", "blanks or invisible characters"),
        ("West", "\ufeffWest", "blanks or invisible characters"),
        ("Süd", "Su\u0308d", "the way accents are stored"),
        ("West", "WEST", "capitals"),
        ("West", " west ", "capitals"),
        ("Straße", "STRASSE", "capitals"),
        ("01", "1", "the way a number is written"),
        ("7", "7.0", "the way a number is written"),
        ("01.1", "1.1", "the way a number is written"),
        ("A1", "А1", "characters that look alike"),  # Cyrillic
        ("OK", "ΟΚ", "characters that look alike"),  # Greek
        ("C10", "C1O", "characters that look alike"),
        ("Al", "AI", "characters that look alike"),
        ("A1", "Al", "characters that look alike"),
        ("10-49", "10–49", "characters that look alike"),
        ("m2", "m²", "forms of a character"),
        ("Köln", "Koeln", "umlauts written as two letters"),
        ("Großenkneten", "GROSSENKNETEN", "capitals"),
        ("Hørsholm", "Hoersholm", "umlauts written as two letters"),
        ("Köln", "Koln", "umlauts or accents"),
        ("Genève", "Geneve", "umlauts or accents"),
        ("Łódź", "Lodz", "umlauts or accents"),
    ],
)
def test_two_spellings_of_a_code(code, other, kind):
    assert list(spellings([code, "Total", other])) == [[code, other]]
    with pytest.raises(InputError, match=f"differ only in {kind}") as error:
        check_spellings("region", [code, other])
    assert error.value.offenders == [other]


@pytest.mark.parametrize(
    "codes",
    [
        ["AL", "AI", "IL", "LI"],  # countries
        ["1.1", "1.10", "1.11"],  # NACE
        ["1", "10", "100"],
        ["a", "á", "ä", "ae"],
        ["Åre", "Are"],  # short codes
        ["Baur", "Bauer"],
        ["Aabenraa", "Abenra"],
        ["1-9", "19", "1_9"],
        ["I", "II", "III", "IV"],
        ["", "0"],
    ],
)
def test_codes_that_differ(codes):
    assert list(spellings(codes)) == []
    check_spellings("region", codes)


def question(codes, given=None, **known):
    with pytest.raises(InputError) as error:
        check_spellings("region", codes, given or Spelling(), **known)
    return str(error.value)


def test_the_question_names_codes_and_settings():
    words = question(["West", "WEST", "West ", "01", "1"])
    assert "'West' and 'WEST' differ only in capitals" in words
    assert "strip = true if blanks do not distinguish codes" in words
    assert 'merge = {"WEST" = "West", "1" = "01"}' in words
    assert 'for one that is another code, "WEST" = "WEST"' in words
    assert "[dimensions.region]" in words
    assert "drop" not in words


def test_characters_that_look_alike_are_shown_by_their_numbers():
    words = question(["A1", "\u04101"])
    assert r"'A1' and '\u04101' differ" in words
    assert r'merge = {"\u04101" = "A1"}' in words


def test_the_known_spelling_is_proposed_and_known_codes_are_not_compared():
    assert '"WEST" = "West"' in question(["WEST"], known=["West", "west"])
    check_spellings("region", ["North"], known=["West", "WEST"])


def test_totals_are_no_codes():
    words = question(["TOTAL"], total="Total")
    assert "'Total' is the total: leave records of totals out" in words
    assert 'merge = {"TOTAL" = "TOTAL"}' in words


@pytest.mark.parametrize("code", ["Summe", "Insgesamt", "GESAMT", "Grand Total", "razem", "Gesamtsumme:", " Summe"])
def test_records_of_totals_are_not_added_up_again(code):
    """A spreadsheet ends with a line of sums: tabulated as a code, it would double the total."""
    words = question(["North", "South", code], total="Total")
    assert "a usual name of totals" in words
    assert "delete records of totals" in words
    check_spellings("region", ["North", "South", code], Spelling(merge={code: code}), total="Total")
    check_spellings("region", ["North", "South", code])  # of a finished table
    check_spellings("region", ["North", code], total="Total", known=[code])  # of a hierarchy
    records = pd.DataFrame({"region": ["North", "South", code], "turnover": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError, match="a usual name of totals"):
        tabulate(records, "region", "turnover")


@pytest.mark.parametrize(
    ("codes", "given"),
    [
        (["West", "WEST"], Spelling(merge={"WEST": "WEST"})),
        (["West", "WEST"], Spelling(merge={"West": ""})),
        (["West", "West "], Spelling(strip=False)),
        (["West", "WEST", "west"], Spelling(merge={"WEST": "", "west": ""})),
    ],
)
def test_settled_codes(codes, given):
    check_spellings("region", codes, given)


def test_one_answer_answers_one_question():
    assert "'west'" in question(["West", "WEST", "west"], Spelling(merge={"WEST": ""}))
    assert "capitals" in question(["West", "WEST"], Spelling(strip=False))


def test_spelled_codes():
    given = Spelling(True, {"WEST": "West", "W": "West", "Ost": ""})
    assert [given.spelled(code) for code in (" WEST ", "W", " Ost", "West")] == ["West", "West", "Ost", "West"]
    assert given.recode(["West", "W", "Ost "]) == {"W": "West", "Ost ": "Ost"}
    assert without_stray_blanks(" a \t b\u200b ") == "a b"
    with pytest.raises(InputError, match="merge replaces 'a' by 'b', which is replaced itself"):
        Spelling(merge={"a": "b", "b": "c"})


def test_many_codes_are_compared_at_once():
    codes = [f"{i:06}" for i in range(20_000)]
    assert list(spellings([*codes, "7"])) == [["000007", "7"]]


# -- tables ----------------------------------------------------------------------------------------------------

RECORDS = pd.DataFrame(
    {
        "region": ["West", "West", "WEST", "West ", "Ost"],
        "firm": ["Acme", "ACME", "Bell", "Bell", "Cork"],
        "turnover": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)
ANSWERS = {"spelling": {"region": Spelling(True, {"WEST": "West"})}, "names": "merged"}


@pytest.mark.parametrize("wrap", [lambda f: f, ibis.memtable, lambda f: f.astype({"region": "category"})])
def test_records_with_spellings(wrap):
    with pytest.raises(InputError, match=r"'West' and 'WEST' differ only in capitals.*strip = true"):
        tabulate(wrap(RECORDS), "region", "turnover")
    table = tabulate(wrap(RECORDS), "region", "turnover", contributor="firm", **ANSWERS)
    assert set(table.dimensions["region"].codes) == {"Total", "Ost", "West"}
    assert table.value[table.index("West")] == 10
    assert table.count[table.index("West")] == 2
    assert table.contributors == ("ACME", "Bell", "Cork")


def test_records_and_a_hierarchy():
    hierarchy = Hierarchy.from_pairs([("DE", ""), ("US", ""), ("West", "DE"), ("Ost", "DE"), ("WEST", "US")])
    with pytest.raises(InputError, match=r"'West' and 'West ' differ only in blanks"):
        tabulate(RECORDS, {"region": hierarchy}, "turnover", unknown="drop")
    table = tabulate(RECORDS, {"region": hierarchy}, "turnover", spelling={"region": Spelling(True)})
    assert table.value[table.index("WEST")] == 3
    siblings = Hierarchy.flat(["West", "WEST", "Ost"])
    with pytest.raises(InputError, match="'West' and 'WEST' differ only in capitals"):
        tabulate(RECORDS, {"region": siblings}, "turnover", spelling={"region": Spelling(True)})


def test_codes_outside_a_hierarchy_are_never_to_be_dropped():
    with pytest.raises(HierarchyError, match="Did you mean 'West' for 'Wests'") as error:
        tabulate(RECORDS.assign(region="Wests"), {"region": Hierarchy.flat(["West"])}, "turnover")
    assert "drop" not in str(error.value)


def test_codes_are_spelled_before_they_are_recoded():
    recode = {"region": {"West": "W", "Ost": "O"}}
    table = tabulate(RECORDS, "region", "turnover", recode=recode, spelling=ANSWERS["spelling"])
    assert table.value[table.index("W")] == 10


@pytest.mark.parametrize("option", ["spelling", "recode"])
def test_settings_of_other_columns(option):
    with pytest.raises(InputError, match=f"{option}= is for the columns to classify by; 'size'"):
        tabulate(RECORDS, "region", "turnover", **{option: {"size": Spelling()}})


@pytest.mark.parametrize("most", [0, 100])
@pytest.mark.parametrize("column", ["contributor", "holding"])
def test_names_are_counted_and_never_shown(column, most, tmp_path, monkeypatch):
    """In the database and in memory."""
    monkeypatch.setattr(import_module("discreet.data.tabulate"), "MAX_RECORDS_IN_MEMORY", most)
    RECORDS.to_csv(tmp_path / "r.csv", index=False)
    spelling = ANSWERS["spelling"]
    with pytest.raises(
        InputError, match=r"1 name in column 'firm' has several.*in records 1 and 2\..*\[data\]"
    ) as error:
        tabulate(tmp_path / "r.csv", "region", "turnover", spelling=spelling, **{column: "firm"})
    assert not re.search("acme", str(error.value), re.IGNORECASE)
    exact = tabulate(tmp_path / "r.csv", "region", "turnover", spelling=spelling, names="exact", **{column: "firm"})
    assert exact.count[exact.index("Total")] == 4
    merged = tabulate(tmp_path / "r.csv", "region", "turnover", spelling=spelling, names="merged", **{column: "firm"})
    assert merged.count[merged.index("Total")] == 3
    with pytest.raises(InputError, match="names= is either 'exact' or 'merged'"):
        tabulate(RECORDS, "region", "turnover", names="same")


@pytest.mark.parametrize(
    ("name", "other"),
    [("Acme", " ACME "), ("A  B", "a\u00a0b"), ("007", "7"), ("0", "00"), ("Müller", "Mu\u0308ller"), ("A\tB", "a b")],
)
@pytest.mark.parametrize("most", [0, 100])
def test_names_in_the_database_are_compared_as_in_memory(name, other, most, monkeypatch):
    monkeypatch.setattr(import_module("discreet.data.tabulate"), "MAX_RECORDS_IN_MEMORY", most)
    frame = pd.DataFrame({"g": ["a", "a"], "firm": [name, other], "v": [1.0, 2.0]})
    with pytest.raises(InputError, match="1 name"):
        tabulate(frame, "g", "v", contributor="firm")
    assert name_key(name) == name_key(other)


def test_numbers_as_names_are_as_they_are():
    frame = pd.DataFrame({"g": ["a", "a"], "firm": [1, 10], "v": [1.0, 2.0]})
    assert tabulate(frame, "g", "v", contributor="firm").count.max() == 2


def test_blank_codes_and_names_are_missing():
    with pytest.raises(InputError, match="1 of 5 records have no code in column 'region'"):
        tabulate(RECORDS.assign(region=["  ", "a", "a", "a", "a"]), "region", "turnover")
    table = tabulate(
        RECORDS.assign(region="a", group=[" ", "  ", "G", None, ""]), "region", "turnover", holding="group"
    )
    assert table.count.max() == 5


UNKNOWN = Spelling(merge={"": "unknown"})
GAPS = pd.DataFrame({"region": ["N", None, "", "NA"], "branch": ["b", "b", "c", "c"], "x": [1.0, 2, 4, 8]})


def test_records_without_a_code_get_the_one_that_is_given(tmp_path):
    table = tabulate(GAPS, ["region", "branch"], "x", spelling={"region": UNKNOWN}, reading=Reading(missing=("NA",)))
    assert table.dimensions["region"].codes == ("Total", "N", "unknown")
    assert table.value[table.index("unknown × c")] == 12
    with pytest.raises(InputError, match=r'write merge = \{"" = "unknown"\} under \[dimensions.region\]'):
        tabulate(GAPS, ["region", "branch"], "x")
    GAPS.to_csv(tmp_path / "d.csv", index=False)
    found = distinct_codes(tmp_path / "d.csv", ["region"], Reading(missing=("NA",)), UNKNOWN)
    assert sorted(found.region) == ["N", "unknown"]
    one = tabulate(GAPS, "region", "x", spelling={"region": UNKNOWN})
    assert one.value[one.index("unknown")] == 6


def test_a_record_without_any_code_is_one_of_totals(tmp_path):
    """As a code of its own it would double the total."""
    both = {"region": UNKNOWN, "branch": UNKNOWN}
    GAPS.to_csv(tmp_path / "d.csv", index=False)
    with (tmp_path / "d.csv").open("a", encoding="utf-8") as file:
        file.write(",,15.0\n")
    message = (
        r"1 of 5 records have no code in any of the columns 'region', 'branch' \(line 6\)\. It is the last line, where"
    )
    with pytest.raises(InputError, match=message):
        tabulate(tmp_path / "d.csv", ["region", "branch"], "x", spelling=both)


def test_empty_codes_of_a_finished_table_may_be_totals():
    rollup = pd.DataFrame({"region": [None, "N", "S"], "x": [3, 1, 2]})
    message = (
        r'has 1 empty code, first in row 1\. If they mean.*add merge = \{"" = "Total"\} under \[dimensions.region\]'
    )
    with pytest.raises(TableError, match=message):
        read_table(rollup, ["region"], "x")
    table = read_table(rollup, ["region"], "x", spelling={"region": Spelling(merge={"": "Total"})})
    assert dict(zip(table.labels(), table.value, strict=True)) == {"Total": 3, "N": 1, "S": 2}


FINISHED = pd.DataFrame(
    {
        "region": ["West", "WEST", "Total", "total"],
        "size": ["s", "Total", "Total", "s"],
        "v": [1.0, 1.0, 1.0, 1.0],
        "one": [1.0, 1.0, 1.0, 1.0],
        "name": ["Acme", "ACME ", "Acme", "Acme"],
    }
)


def test_finished_tables():
    with pytest.raises(InputError, match=r"'Total' and 'total' differ only in capitals.*\"WEST\" = \"West\""):
        read_table(FINISHED, ["region", "size"], "v")
    spelling = {"region": Spelling(merge={"WEST": "West", "total": "Total"})}
    with pytest.raises(InputError, match=r"1 name in column 'name' has several.*\[table\]"):
        read_table(FINISHED, ["region", "size"], "v", top=["one"], who=["name"], spelling=spelling)
    table = read_table(FINISHED, ["region", "size"], "v", top=["one"], who=["name"], spelling=spelling, names="merged")
    assert table.contributors == ("ACME ",)
    assert len(table) == 4
