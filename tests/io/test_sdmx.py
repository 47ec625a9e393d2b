"""SDMX: pysdmx reads what is written, flags and structures are read, and what cannot be an identifier is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pysdmx.io import get_datasets, read_sdmx
from tests.helpers.published import cells, released, results

from discreet import Presentation, ReleaseMetadata, Sdmx, assess, audit, protect, read_table, tabulate, write_release
from discreet.data.hierarchy import Hierarchy
from discreet.errors import FormatError, InputError, NotSafeError
from discreet.io import write_transmission
from discreet.io.sdmx import csv2
from discreet.io.sdmx.code_lists import read_hierarchy
from discreet.io.sdmx.flags import read_flags
from discreet.io.sdmx.observations import identifiers, read_ids
from discreet.io.sdmx.transmission import reason_codes, transmission
from discreet.release import Release

MESSAGES = (".sdmx.csv", ".sdmx1.csv", ".sdmx.xml")


@pytest.mark.parametrize("suffix", MESSAGES)
@pytest.mark.parametrize("method", ["kelly", "intervals"])
def test_pysdmx_reads_the_values_and_flags(tmp_path, suffix, method):
    release = released(method=method, accept_symmetric=True)
    write_release(release, tmp_path / f"r{suffix}")
    (dataset,) = read_sdmx(tmp_path / f"r{suffix}", validate=True).data
    assert dataset.short_urn == "Dataflow=XX:TURNOVER(1.2)"
    ids = identifiers(release)
    assert ids.codes["size"] == {"Total": "_T", "0-9": "0-9", "10+": "10PLUS"}
    frame = dataset.data
    names = list(ids.columns.values())
    for row, (cell, value) in zip(frame.to_dict("records"), cells(release).items(), strict=True):
        expected = [ids.codes[name][code] for name, code in zip(release.codes, cell, strict=True)]
        assert [row[name] for name in names] == expected
        if np.isnan(value):
            assert (row["OBS_VALUE"] in ("", None), row["OBS_STATUS"], row["CONF_STATUS"]) == (True, "Q", "N")
        else:
            assert (float(row["OBS_VALUE"]), row["OBS_STATUS"], row["CONF_STATUS"]) == (value, "A", "F")
    assert ("OBS_LOWER" in frame) == (method == "intervals")


def test_structures_have_labels_in_all_languages_and_levels(tmp_path):
    release = released(lang="de")
    write_release(release, tmp_path / "r.sdmx-structure.xml")
    message = read_sdmx(tmp_path / "r.sdmx-structure.xml", validate=True)
    assert [one.id for one in message.get_codelists()] == ["CL_branch", "CL_size", "CL_OBS_STATUS", "CL_CONF_STATUS"]
    tree = read_hierarchy(tmp_path / "r.sdmx-structure.xml", "CL_branch")
    assert tree.codes == ("_T", "I", "10", "20", "S", "45", "47")
    assert tree.parents.tolist() == [[-1, 0, 1, 1, 0, 4, 4]]
    assert [tree.label(code, "de") for code in ("_T", "10", "20")] == ["Insgesamt", "Nahrung", "Chemicals"]
    write_release(release, tmp_path / "r.sdmx.xml")
    (dataset,) = get_datasets(tmp_path / "r.sdmx.xml", tmp_path / "r.sdmx-structure.xml")
    assert [one.id for one in dataset.structure.components.dimensions] == ["branch", "size"]


def test_structures_leave_out_what_xml_cannot_hold(tmp_path):
    labels = Hierarchy.flat("a").with_labels({"": {"a": "x\x0b<&\x00y"}})
    told = Presentation(ReleaseMetadata(agency="XX", dataflow="D"))
    write_release(
        Release({"d": ("a",)}, "v", np.ones(1), hierarchies={"d": labels}, presentation=told),
        tmp_path / "r.sdmx-structure.xml",
    )
    assert read_hierarchy(tmp_path / "r.sdmx-structure.xml", "CL_d").label("a") == "x<&y"


def test_what_cannot_be_an_identifier_is_refused_with_advice(tmp_path):
    told = Presentation(ReleaseMetadata(agency="XX", dataflow="D"))

    def release(codes: dict[str, tuple[str, ...]], presentation: Presentation = told) -> Release:
        return Release(codes, "v", np.ones(2), presentation=presentation)

    for wrong, says in (
        (release({"d": ("a b", "c")}), r"Codes of column 'd' cannot be identifiers.*'a b'.*\[sdmx\] ids"),
        (release({"my column": ("a", "c")}), r"Columns cannot be identifiers in SDMX: 'my column'"),
        (release({"OBS_VALUE": ("a", "c")}), r"Columns cannot be identifiers in SDMX: 'OBS_VALUE'"),
        (
            release({"d": ("a", "b")}, replace(told, ids={"d": {"a": "b"}})),
            r"Codes of column 'd' have the same identifier",
        ),
        (release({"d": ("a", "b")}, replace(told, ids={"e": {}})), r"ids: there is no column 'e'"),
        (
            release({"d": ("a", "b")}, Presentation()),
            r"SDMX needs the agency and the dataflow: state agency and dataflow",
        ),
    ):
        with pytest.raises(FormatError, match=says):
            write_release(wrong, tmp_path / "r.sdmx.csv")
    assert list(tmp_path.iterdir()) == []


def test_identifiers_from_a_file(tmp_path):
    (tmp_path / "ids.csv").write_text("column;code;id\nsize;;SIZE_CLASS\nsize;10+;10PLUS\n")
    assert read_ids(tmp_path / "ids.csv") == {"size": {"": "SIZE_CLASS", "10+": "10PLUS"}}
    (tmp_path / "ids.csv").write_text("column,code,id\nsize,a,b\nsize,a,c\n")
    with pytest.raises(FormatError, match=r"line 3: code 'a' of column 'size' occurs a second time"):
        read_ids(tmp_path / "ids.csv")


def test_a_message_with_another_flag_is_refused(tmp_path, monkeypatch):
    release, write = released(), csv2.write_observations

    def other(frame, told, path):
        write(frame.assign(CONF_STATUS=["C" if flag == "N" else flag for flag in frame.CONF_STATUS]), told, path)

    monkeypatch.setattr(csv2, "write_observations", other)
    with pytest.raises(NotSafeError, match="as written the release has other flags"):
        write_release(release, tmp_path / "r.sdmx.csv")
    assert list(tmp_path.iterdir()) == []


# -- the transmission edition ----------------------------------------------------------------------------------------

FIRMS = pd.DataFrame(
    [
        *[("few", 10.0), ("few", 11.0), ("one", 900.0), *[("one", 1.0)] * 9, ("two", 500.0), ("two", 450.0)],
        *[("two", 1.0)] * 9,
        *[("close", 300.0), ("close", 290.0), *[("close", 40.0)] * 5, *[("free", 5.0)] * 50],
    ],
    columns=["branch", "v"],
)


def flagged(rules: list[str], **sdmx: object) -> dict[str, str]:
    problem = assess(tabulate(FIRMS, "branch", "v", top=3), rules, zeros="published")
    codes = reason_codes(problem, protect(problem), Sdmx(**sdmx))  # type: ignore[arg-type]
    return {problem.table.label(i): str(code) for i, code in enumerate(codes)}


def test_reasons_follow_from_the_rule():
    assert flagged(["FREQ(3)"])["few"] == "A"
    assert flagged(["NK(1,80)"])["one"] == "O"
    assert flagged(["NK(2,85)"])["two"] == "T"
    both = flagged(["NK(1,80)", "NK(2,85)"])
    assert (both["one"], both["two"]) == ("G", "T")
    assert flagged(["NK(3,75)"])["two"] == "M"
    assert flagged(["P(80)"])["close"] == "M"
    assert flagged(["FREQ(3)"])["Total"] == "F"
    assert flagged(["FREQ(3)", "P(99)"])["few"] == "A", "the first rule decides"


def test_code_lists_are_configurable():
    basic = flagged(["FREQ(3)"], conf_list="basic")
    assert basic["few"] == "C"
    assert set(basic.values()) == {"C", "D", "F"}
    mine = flagged(["FREQ(3)"], reasons={"FREQ": "B", "secondary": "S"}, free="X")
    assert set(mine.values()) == {"B", "S", "X"}
    with pytest.raises(InputError, match=r"reasons: there is no rule 'FREK'"):
        flagged(["FREQ(3)"], reasons={"FREK": "A"})


@pytest.mark.parametrize("suffix", MESSAGES)
def test_the_transmission_edition_is_read_by_pysdmx(tmp_path, suffix):
    problem, protection = results()
    release = released()
    write_transmission(problem, protection, release, tmp_path / f"t{suffix}")
    (dataset,) = read_sdmx(tmp_path / f"t{suffix}", validate=True).data
    flags = set(dataset.data["CONF_STATUS"])
    assert "D" in flags
    assert flags & {"A", "T", "M"}
    empty = dataset.data["OBS_VALUE"].isin(["", None])
    assert empty.tolist() == release.suppressed.tolist()
    assert (tmp_path / f"t{suffix}").stat().st_mode & 0o777 == 0o600


def test_values_of_suppressed_cells_are_transmitted_on_request_only():
    problem, protection = results()
    for values in (False, True):
        release = released(sdmx=Sdmx(values=values))
        frame = transmission(problem, protection, release)
        given = [float(text) if text else np.nan for text in frame.OBS_VALUE]
        expected = np.where(release.suppressed & (not values), np.nan, problem.table.value)
        np.testing.assert_allclose(given, expected)
        assert (frame.OBS_STATUS == "Q").tolist() == (release.suppressed & (not values)).tolist()


def test_a_transmission_edition_is_of_its_release(tmp_path):
    problem, protection = results()
    other = assess(problem.table, "FREQ(1)")
    with pytest.raises(InputError, match="of another protection"):
        write_transmission(other, protect(other), released(), tmp_path / "t.sdmx.csv")
    with pytest.raises(FormatError, match=r"transmission edition ends in one of '\.sdmx\.csv'"):
        write_transmission(problem, protection, released(), tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


# -- reading ---------------------------------------------------------------------------------------------------------


def test_flags_become_statuses(tmp_path):
    flags = (("a", "x", "F"), ("a", "y", "O"), ("b", "x", "D"), ("b", "y", "N"), ("c", "x", ""))
    text = "STRUCTURE,STRUCTURE_ID,ACTION,row,column,OBS_VALUE,CONF_STATUS\n"
    text += "".join(f"dataflow,A:B(1.0),I,{row},{column},1,{flag}\n" for row, column, flag in flags)
    (tmp_path / "t.csv").write_text(text)
    found = {cell: status for cell, (status, _) in read_flags(tmp_path / "t.csv", ["row", "column"]).items()}
    assert found == {"a × y": "primary", "b × x": "suppressed", "b × y": "suppressed"}
    assert "b × x" not in read_flags(tmp_path / "t.csv", ["row", "column"], secondary="free")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("I,b", "D,b"), r"line 3: an observation to be deleted"),
        (("B(1.0),I,b", "C(1.0),I,b"), r"line 3: a second dataflow, 'A:C\(1.0\)'"),
        ((",O", ",Z"), r"line 2: CONF_STATUS has no code 'Z'"),
        (("CONF_STATUS", "FLAG"), r"line 1: there is no column 'CONF_STATUS'"),
    ],
)
def test_faulty_flags(tmp_path, change, says):
    text = "STRUCTURE,STRUCTURE_ID,ACTION,row,VALUE,CONF_STATUS\n"
    text += "dataflow,A:B(1.0),I,a,1,O\ndataflow,A:B(1.0),I,b,1,F\n"
    (tmp_path / "t.csv").write_text(text.replace(*change))
    with pytest.raises(FormatError, match=says):
        read_flags(tmp_path / "t.csv", ["row"])


def test_sdmx_csv_is_a_finished_table(tmp_path):
    """What was sent comes back: the same values, and the flags as statuses."""
    problem, protection = results()
    release = released(sdmx=Sdmx(values=True))
    write_transmission(problem, protection, release, tmp_path / "t.sdmx.csv")
    tree = problem.table.dimensions["branch"]
    renamed = Hierarchy(("_T", *tree.codes[1:]), tree.parents)
    table = read_table(tmp_path / "t.sdmx.csv", {"branch": renamed, "size": None}, "OBS_VALUE", total="_T")
    again = assess(table, [], statuses=read_flags(tmp_path / "t.sdmx.csv", ["branch", "size"]))
    assert len(again.primaries) == protection.report.n_primary
    assert np.isclose(table.value[0], problem.table.value[0])
    assert audit(again, protect(again)).passed


SDMX_30 = """<?xml version="1.0"?>
<m:Structure xmlns:m="m" xmlns:s="s" xmlns:c="c"><m:Structures><s:Codelists><s:Codelist id="CL_AREA">
<s:Code id="EU"><c:Name xml:lang="en">Union</c:Name><c:Name xml:lang="fr">Union (fr)</c:Name></s:Code>
<s:Code id="FR"><c:Name>France</c:Name><s:Parent>EU</s:Parent></s:Code><s:Code id="ES"><s:Parent>EU</s:Parent></s:Code>
</s:Codelist></s:Codelists><s:Hierarchies><s:Hierarchy id="H_AREA"><s:HierarchicalCode id="1">
<s:Code>urn:sdmx:org.sdmx.infomodel.codelist.Code=A:CL_AREA(1.0).EU</s:Code>
<s:HierarchicalCode id="2"><s:Code>urn:sdmx:org.sdmx.infomodel.codelist.Code=A:CL_AREA(1.0).ES</s:Code></s:HierarchicalCode>
</s:HierarchicalCode></s:Hierarchy></s:Hierarchies></m:Structures></m:Structure>"""


def test_hierarchies_from_structures_of_version_3(tmp_path):
    (tmp_path / "s.xml").write_text(SDMX_30)
    tree = read_hierarchy(tmp_path / "s.xml", "CL_AREA")
    assert (tree.codes, tree.parents.tolist()) == (("EU", "FR", "ES"), [[-1, 0, 0]])
    assert [tree.label("EU", "fr"), tree.label("FR"), tree.label("ES")] == ["Union (fr)", "France", "ES"]
    nested = read_hierarchy(tmp_path / "s.xml", "H_AREA")
    assert nested.codes == ("EU", "ES")
    assert nested.label("EU") == "Union"
    assert read_hierarchy(tmp_path / "s.xml") == nested, "the only hierarchy"
    with pytest.raises(FormatError, match=r"no code list 'X': name one of 'CL_AREA', 'H_AREA'"):
        read_hierarchy(tmp_path / "s.xml", "X")


def test_structures_that_are_not_read(tmp_path):
    for text in ("<a/>", "no xml", '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'):
        (tmp_path / "s.xml").write_text(text)
        with pytest.raises(FormatError):
            read_hierarchy(tmp_path / "s.xml")
