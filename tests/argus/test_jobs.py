"""Jobs of τ-ARGUS with every command and every type of output: primaries and levels are those of the manual's rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.argus_survey import (
    OPEN,
    REGIONS,
    Cells,
    Record,
    as_often_as_weights,
    by_holding,
    cells,
    dominance,
    percent_rule,
    survey,
)

from discreet.argus.run import ArgusResult, run_batch
from discreet.data.hierarchy import Hierarchy
from discreet.io import read_problem
from discreet.io.argus.results import ResultCell, read_result
from discreet.io.argus.statuses import ArgusStatus
from discreet.protection import Decision

Expected = dict[tuple[str, ...], tuple[ArgusStatus, float, float]]


@pytest.fixture
def records(tmp_path: Path) -> list[Record]:
    return survey(tmp_path)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., ArgusResult]:
    def run(text: str, **options: object) -> ArgusResult:
        (tmp_path / "job.arb").write_text(text, encoding="utf-8")
        return run_batch(tmp_path / "job.arb", **options)  # type: ignore[arg-type]

    return run


def region() -> Hierarchy:
    pairs = [(top, "All") for top in REGIONS] + [(leaf, top) for top, leaves in REGIONS.items() for leaf in leaves]
    return Hierarchy.from_pairs(pairs, "All")


def dimensions(*by: str) -> dict[str, Hierarchy]:
    known = {
        "Size": Hierarchy.flat("1234"),
        "Year": Hierarchy.flat(["21", "22", "99"]),
        "Region": region(),
        "Industry": Hierarchy.from_levels(["101", "102", "110", "201", "202"], [1, 1, 1]),
    }
    return {name: known[name] for name in by}


def read(path: Path, *by: str) -> dict[tuple[str, ...], ResultCell]:
    return {cell.codes: cell for cell in read_result(path, dimensions(*by))}


def judged(
    found: Cells,
    rules: list[tuple[ArgusStatus, Callable[[list[Record]], float | None]]],
    value: Callable[[list[Record]], float],
) -> Expected:
    """The status and the levels of each cell: a rule says how much of the value is needed, the first that applies decides."""
    expected: Expected = {}
    for codes, members in found.items():
        expected[codes] = (ArgusStatus.SAFE, 0.0, 0.0)
        for status, rule in rules:
            need = rule(members)
            if need is not None:
                down = 0.0 if value(members) == 0 else max(need, 0.1)
                expected[codes] = (status, down, max(need, 0.1) if value(members) else need)
                break
    return expected


def check(path: Path, expected: Expected, *by: str, tolerance: float = 0.11) -> None:
    """The letters and levels in an intermediate table are the expected ones; all other cells are empty."""
    found = read(path, *by)
    assert {codes for codes, cell in found.items() if cell.status is not ArgusStatus.EMPTY} == set(expected)
    for codes, (status, lower, upper) in expected.items():
        cell = found[codes]
        assert cell.status.letter == status.letter, codes
        if status.is_primary:
            assert [float(text) for text in cell.rest[-2:]] == pytest.approx([lower, upper], abs=tolerance), codes


def turnover(members: list[Record]) -> float:
    return sum(record.turnover for record in members)


def amounts(members: list[Record]) -> list[float]:
    return sorted((record.turnover for record in members), reverse=True)


def few(minimum: int, percent: float) -> Callable[[list[Record]], float | None]:
    return lambda members: percent / 100 * turnover(members) if len(members) < minimum else None


# -- the jobs ---------------------------------------------------------------------------------------------------------


def test_1_modular_with_singletons_and_a_release_as_csv(records, run, tmp_path):
    result = run(
        "// the first job\n<COMMENT> of ten\n<SILENT>\n"
        '<LOGBOOK> "log.txt"\n<VERSIONINFO> "version.txt"\n<SOLVER> CPLEX,"licence.lic"\n'
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|"Turnover"\n<SAFETYRULE> P(20,2)|FREQ(3,30)|MAN(15)\n<READMICRODATA>\n'
        '<WRITETABLE> (1,5,SO+,"levels.tab")\n<SUPPRESS> MOD(1,5,1,1,0)\n'
        '<WRITETABLE> (1,1,,"release.csv")\n<WRITETABLE> (1,3,FL+SE+QU-,"release.txt")\n<GOINTERACTIVE>\n'
    )
    rules = [
        (ArgusStatus.UNSAFE_RULE, lambda m: percent_rule(amounts(m), turnover(m), 20, 2)),
        (ArgusStatus.UNSAFE_FREQUENCY, few(3, 30)),
    ]
    check(tmp_path / "levels.tab", judged(cells(records, "Size", "Region"), rules, turnover), "Size", "Region")
    assert result.passed
    (work,) = result.works
    assert work.respondents is not None  # singleton options protect every respondent
    suppressed = {work.views.table.label(i) for i in range(len(work.views.table)) if work.protection.suppressed[i]}
    crossed, listed = read(tmp_path / "release.csv", "Size", "Region"), read(tmp_path / "release.txt", "Size", "Region")
    for found in (crossed, listed):
        assert {" × ".join(codes) for codes, cell in found.items() if cell.suppressed} == suppressed
        for codes, members in cells(records, "Size", "Region").items():
            assert found[codes].suppressed or found[codes].value == pytest.approx(turnover(members), abs=0.051)
    assert {codes for codes, cell in crossed.items() if cell.status is ArgusStatus.EMPTY}.isdisjoint(listed)
    assert (tmp_path / "release.txt").read_text().startswith("Size,Region,Turnover\n")
    log = (tmp_path / "log.txt").read_text(encoding="utf-8")
    for said in ("<SILENT> skipped", "CPLEX", "MOD → modular", "audit: safe", "<GOINTERACTIVE> skipped"):
        assert said in log
    assert (tmp_path / "version.txt").read_text().startswith("discreet ")


def test_2_optimal_and_dominance_with_a_pivot_table(records, run, tmp_path):
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Industry""Size"|"Turnover"||-1\n<SAFETYRULE> NK(2,75)|NK(0,0)\n<READMICRODATA>\n'
        '<WRITETABLE> (1,5,SO+QU-,"levels.tab")\n<SUPPRESS> OPT(1,5)\n<WRITETABLE> (1,2,AS+,"pivot.csv")\n'
        '<WRITETABLE> (1,5,AR+SE+,"audit.tab")\n'
    )
    rules = [(ArgusStatus.UNSAFE_RULE, lambda m: dominance(amounts(m), turnover(m), 2, 75))]
    expected = judged(cells(records, "Industry", "Size"), rules, turnover)
    check(tmp_path / "levels.tab", expected, "Industry", "Size")
    assert result.passed
    (work,) = result.works
    assert work.protection.report.status == "optimal"
    assert work.problem.cost.tolist() == work.views.table.count.tolist()
    pivot, audited = read(tmp_path / "pivot.csv", "Industry", "Size"), read(tmp_path / "audit.tab", "Industry", "Size")
    for codes, members in cells(records, "Industry", "Size").items():
        i = work.views.table.index(codes)
        assert pivot[codes].value == pytest.approx(turnover(members), abs=0.051)
        assert pivot[codes].suppressed == audited[codes].suppressed == bool(work.protection.suppressed[i])
        assert pivot[codes].status.is_primary == expected[codes][0].is_primary
        if expected[codes][0].is_primary:  # the audit interval reaches the levels
            low, high = (float(text) for text in audited[codes].rest[-6:-4])
            assert low <= audited[codes].value - expected[codes][1] + 0.11
            assert high >= audited[codes].value + expected[codes][2] - 0.11


def test_3_holdings_by_hypercube_with_an_sbs_file(records, run, tmp_path):
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|"Turnover"|"Turnover"|-2\n'
        "<SAFETYRULE> P(10,1)|P(0,1)|P(25,1)|FREQ(2,10)|FREQ(3,40)\n<READMICRODATA>\n"
        '<WRITETABLE> (1,5,SO+,"levels.tab")\n<SUPPRESS> GH(1,75,0,0)\n<WRITETABLE> (1,4,HL+QU-,"table.sbs")\n'
        '<WRITETABLE> (1,5,HI+,"holdings.tab")\n'
    )

    def rule(m: list[Record]) -> float | None:
        held = by_holding(m, lambda r: r.turnover)
        needs = [percent_rule(amounts(m), turnover(m), 10), percent_rule(held, turnover(m), 25)]
        return max((need for need in needs if need is not None), default=None)

    def frequency(m: list[Record]) -> float | None:
        unsafe = len(m) < 2 or len({r.group for r in m}) < 3
        return 0.4 * turnover(m) if unsafe else None  # the larger range applies to both

    rules = [(ArgusStatus.UNSAFE_RULE, rule), (ArgusStatus.UNSAFE_FREQUENCY, frequency)]
    expected = judged(cells(records, "Size", "Region"), rules, turnover)
    check(tmp_path / "levels.tab", expected, "Size", "Region")
    assert result.passed
    lines = [line.split(",") for line in (tmp_path / "table.sbs").read_text().splitlines()]
    (work,) = result.works
    for size, level1, code, level2, value, frequency_, flag, *shares in lines:
        members = cells(records, "Size", "Region")[size, code]
        held = by_holding(members, lambda r: r.turnover)
        depth = 0 if code == "All" else 1 if code in REGIONS else 2
        assert (int(level1), int(level2), int(frequency_)) == (0, depth, len(held))
        assert float(value) == pytest.approx(turnover(members), abs=0.051)
        status = expected[size, code][0]
        letters = {ArgusStatus.UNSAFE_RULE: "F", ArgusStatus.UNSAFE_FREQUENCY: "A"}
        suppressed = bool(work.protection.suppressed[work.views.table.index((size, code))])
        assert flag == letters.get(status, "D" if suppressed else "V")
        if flag == "F":
            pair = [100 * x / turnover(members) for x in (*held, 0.0)][:2]
            assert [float(share) for share in shares] == pytest.approx(pair, abs=0.051)
    holdings = read(tmp_path / "holdings.tab", "Size", "Region")
    for codes, members in cells(records, "Size", "Region").items():
        assert int(holdings[codes].rest[0]) == len({r.group for r in members})


def test_4_weights_on_networks_with_a_jj_file(records, run, tmp_path):
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Size""Year"|"Turnover"\n<SAFETYRULE> P(15)|NK(3,80)|FREQ(5,20)|WGT(1)\n<READMICRODATA>\n'
        '<WRITETABLE> (1,5,SO+,"levels.tab")\n<SUPPRESS> NET(1)\n<WRITETABLE> (1,6,,"table.jj")\n'
    )

    def weighted(m: list[Record]) -> float:
        return sum(r.weight * r.turnover for r in m)

    def rule(m: list[Record]) -> float | None:
        units = as_often_as_weights(m, 3)
        needs = [percent_rule(units, weighted(m), 15), dominance(units, weighted(m), 3, 80)]
        return max((need for need in needs if need is not None), default=None)

    def frequency(m: list[Record]) -> float | None:
        return 0.2 * weighted(m) if sum(r.weight for r in m) < 5 else None

    rules = [(ArgusStatus.UNSAFE_RULE, rule), (ArgusStatus.UNSAFE_FREQUENCY, frequency)]
    expected = judged(cells(records, "Size", "Year"), rules, weighted)
    check(tmp_path / "levels.tab", expected, "Size", "Year")
    assert result.passed
    (work,) = result.works
    problem = read_problem(tmp_path / "table.jj")
    assert problem.table.value.tolist() == pytest.approx(work.views.table.value.tolist())
    assert len(problem.primaries) == sum(status.is_primary for status, _, _ in expected.values())
    secondary = (work.protection.decision == Decision.SECONDARY).sum()
    assert (problem.status == 3).sum() == secondary


def test_5_counts_rounded(records, run, tmp_path):
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|<FREQ>\n<SAFETYRULE> FREQ(3,50)\n<READMICRODATA>\n'
        '<WRITETABLE> (1,5,,"levels.tab")\n<SUPPRESS> RND(1,5,0,5,0,3)\n<WRITETABLE> (1,3,AS+,"both.txt")\n'
        '<WRITETABLE> (1,1,,"release.csv")\n'
    )
    found = cells(records, "Size", "Region")
    expected = {
        codes: (ArgusStatus.UNSAFE_FREQUENCY, max(len(m) / 2, 1), max(len(m) / 2, 1))
        if len(m) < 3
        else (ArgusStatus.SAFE, 0.0, 0.0)
        for codes, m in found.items()
    }
    check(tmp_path / "levels.tab", expected, "Size", "Region", tolerance=0.6)
    release = read(tmp_path / "release.csv", "Size", "Region")
    rows = [line.split(",") for line in (tmp_path / "both.txt").read_text().replace('"', "").splitlines()]
    for size, code, rounded, original in rows:
        count = len(found.get((size, code), []))
        assert (original if original != "-" else "0") == str(count)
        if count:
            assert int(rounded) % 5 == 0
            assert abs(int(rounded) - count) < 5
            assert release[size, code].value == int(rounded)
        else:  # an empty cell looks like one that is rounded to zero
            assert release[size, code].value == 0
    assert result.passed


def test_6_adjusted_values(records, run, tmp_path):
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Size""Year"|"Turnover"\n<SAFETYRULE> NK(1,60)\n<READMICRODATA>\n'
        '<WRITETABLE> (1,5,SO+,"levels.tab")\n<SUPPRESS> CTA(1)\n<WRITETABLE> (1,3,AS+FL+,"adjusted.txt")\n'
    )
    rules = [(ArgusStatus.UNSAFE_RULE, lambda m: dominance(amounts(m), turnover(m), 1, 60))]
    expected = judged(cells(records, "Size", "Year"), rules, turnover)
    check(tmp_path / "levels.tab", expected, "Size", "Year")
    header, *rows = (tmp_path / "adjusted.txt").read_text().replace('"', "").splitlines()
    assert header == "Size,Year,Turnover_CTA,Turnover_Orig,Status"
    for row in rows:
        size, year, adjusted, original, status = row.split(",")
        if original == "-":
            continue
        assert float(original) == pytest.approx(turnover(cells(records, "Size", "Year")[size, year]), abs=0.051)
        _, lower, upper = expected[size, year]
        if int(status) == ArgusStatus.UNSAFE_RULE:
            assert not -lower + 0.11 < float(adjusted) - float(original) < upper - 0.11
    assert result.passed


PTABLE = """\
i;j;p;v;p_int_ub
0;0;1;0;1
1;0;0.4;-1;0.4
1;1;0.3;0;0.7
1;2;0.2;1;0.9
1;3;0.1;2;1
2;0;0.1;-2;0.1
2;1;0.25;-1;0.35
2;2;0.3;0;0.65
2;3;0.25;1;0.9
2;4;0.1;2;1
"""


def test_7_counts_with_cell_keys(records, run, tmp_path):
    (tmp_path / "ptable.txt").write_text(PTABLE)
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|<FREQ>\n<SAFETYRULE> FREQ(1,0)\n<READMICRODATA>\n<SUPPRESS> CKM(1)\n'
        '<WRITETABLE> (1,7,AO+AD+AC+SE+QU-,"keys.txt")\n<WRITETABLE> (1,7,,"release.txt")\n'
    )
    rows = [row.split(";") for row in PTABLE.splitlines()[1:]]
    found = cells(records, "Size", "Region")
    seen = set()
    for line in (tmp_path / "keys.txt").read_text().splitlines():
        size, code, shown, original, difference, key = line.split(";")
        members = found[size, code]
        share = round(sum(r.key for r in members) % 1, 8)
        assert float(key) == pytest.approx(share, abs=1e-9)
        row = min(len(members), 2)
        change = next(int(v) for i, _, _, v, bound in rows if int(i) == row and share < float(bound))
        assert (int(original), int(difference), int(shown)) == (len(members), change, len(members) + change)
        seen.add((size, code))
    assert seen == set(found)
    assert result.passed
    assert len((tmp_path / "release.txt").read_text().splitlines()) == 5 * 10  # empty cells, too, as 0


def test_8_linked_tables_and_a_second_session(records, run, tmp_path):
    result = run(
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|"Turnover"\n<SAFETYRULE> P(25)\n'
        '<SPECIFYTABLE> "Size""Year"|"Turnover"\n<SAFETYRULE> P(25)\n<READMICRODATA>\n'
        '<WRITETABLE> (2,5,SO+,"levels.tab")\n<SUPPRESS> MOD(0,5,0,0,0)\n'
        '<WRITETABLE> (1,3,AS+,"one.txt")\n<WRITETABLE> (2,3,AS+,"two.txt")\n<CLEAR>\n'
        f'{OPEN}<SPECIFYTABLE> "Industry"|"Turnover"\n<SAFETYRULE> P(5)\n<READMICRODATA>\n<SUPPRESS> GH(1)\n'
        '<WRITETABLE> (1,1,QU-,"third.csv")\n'
    )
    rules = [(ArgusStatus.UNSAFE_RULE, lambda m: percent_rule(amounts(m), turnover(m), 25))]
    check(tmp_path / "levels.tab", judged(cells(records, "Size", "Year"), rules, turnover), "Size", "Year")
    assert result.passed
    one, two = read(tmp_path / "one.txt", "Size", "Region"), read(tmp_path / "two.txt", "Size", "Year")
    for size in ("Total", "1", "2", "3", "4"):  # the cells that both tables have
        assert one[size, "All"].suppressed == two[size, "Total"].suppressed
        assert one[size, "All"].value == two[size, "Total"].value
    assert [work.number for work in result.works] == [1, 2, 1]
    assert (tmp_path / "third.csv").read_text().startswith(",Total,1,10,101,102,11,110,2,20,201,202\n,")


def test_9_requests_zeros_missing_codes_costs_and_decisions(records, run, tmp_path):
    found = cells(records, "Year", "Region")
    rules = [
        (ArgusStatus.UNSAFE_REQUEST, _request),
        (ArgusStatus.UNSAFE_ZERO, lambda m: 7.0 if turnover(m) == 0 else None),
    ]
    expected = judged(found, rules, turnover)
    missing = {codes for codes in found if codes[0] == "99"}
    safe = sorted(
        codes
        for codes in expected
        if codes not in missing and not expected[codes][0].is_primary and "W" not in codes[1]
    )
    unsafe = sorted(
        codes for codes in expected if codes not in missing and expected[codes][0].is_primary and turnover(found[codes])
    )
    assert any(expected[codes][0].is_primary for codes in missing)
    by_hand, protected, dear = safe[1], safe[2], safe[3]
    (tmp_path / "hand.hst").write_text(
        f"{';'.join(by_hand)};u\n{';'.join(protected)};P\n{';'.join(dear)};c;77,5\n"
        f"{';'.join(unsafe[0])};PL;3;4\n{';'.join(unsafe[1])};s\n22;W;U\n22;nowhere;U\n"
    )
    run(
        f'{OPEN}<SPECIFYTABLE> "Year""Region"|"Turnover"||"Staff",0.5\n'
        "<SAFETYRULE> REQ(60,30,4,35)|ZERO(7)|MIS(1)|MAN(12)\n<READMICRODATA>\n"
        '<APRIORI> "hand.hst",1,";",1,1\n<WRITETABLE> (1,5,SO+,"levels.tab")\n'
    )
    staff = {codes: sum(r.staff for r in m) for codes, m in found.items()}
    for codes in missing:
        expected[codes] = (ArgusStatus.SAFE, 0.0, 0.0)
    expected[by_hand] = (ArgusStatus.UNSAFE_MANUAL, *[0.12 * turnover(found[by_hand])] * 2)
    expected[protected] = (ArgusStatus.PROTECTED, 0.0, 0.0)
    expected[unsafe[0]] = (expected[unsafe[0]][0], 3.0, 4.0)
    expected[unsafe[1]] = (ArgusStatus.SAFE_MANUAL, 0.0, 0.0)
    for code in ("W", "W1"):  # the same cell twice: a trivial level
        if not expected["22", code][0].is_primary:
            expected["22", code] = (ArgusStatus.UNSAFE_MANUAL, *[0.12 * turnover(found["22", code])] * 2)
    check(tmp_path / "levels.tab", expected, "Year", "Region")
    for codes, cell in read(tmp_path / "levels.tab", "Year", "Region").items():
        if codes in found:
            assert float(cell.rest[1]) == pytest.approx(77.5 if codes == dear else staff[codes] ** 0.5, abs=0.051)


def _request(m: list[Record]) -> float | None:
    """More than 60 % by one with the code 1, or 30 % with the code 2; or any request among fewer than four."""
    unsafe = any(
        max((r.turnover for r in m if r.asked == code), default=0.0) > share * turnover(m)
        for code, share in (("1", 0.6), ("2", 0.3))
    )
    unsafe |= len(m) < 4 and any(r.asked in "12" for r in m)
    # A cell of zeros has the level of zeros.
    return (0.35 * turnover(m) if turnover(m) else 7.0) if unsafe else None


def test_10_recodes_a_shadow_variable_and_the_table_read_again(records, run, tmp_path):
    (tmp_path / "size.grc").write_text("<MISSING> 9\nA: 1, 2\nB: 3-\n")
    (tmp_path / "tree.grc").write_text("<TREERECODE>\nS\n")
    run(
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|"Turnover"|"Staff"|-3\n<SAFETYRULE> P(85,90,1)|NK(1,25)\n<READMICRODATA>\n'
        '<RECODE> 1, Size, "size.grc"\n<RECODE> 1, Region, "tree.grc"\n<RECODE> 1, Region, 1\n'
        '<WRITETABLE> (1,5,,"first.tab")\n'
    )

    def recoded(record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
        top = next(top for top, leaves in REGIONS.items() if record.region in leaves)
        return ("Total", "A" if record.size in "12" else "B"), ("All", top)

    found: Cells = {}
    for record in records:
        sizes, regions = recoded(record)
        for size in sizes:
            for code in regions:
                found.setdefault((size, code), []).append(record)
    listed = {"Size": Hierarchy.flat("AB"), "Region": Hierarchy.flat("NSW", "All")}
    first = {cell.codes: cell for cell in read_result(tmp_path / "first.tab", listed)}
    assert set(first) == set(found)
    for codes, members in found.items():
        staff = sorted((float(r.staff) for r in members), reverse=True)
        needs = [percent_rule(staff, sum(staff), 85, 1, 90), dominance(staff, sum(staff), 1, 25)]
        need = max((need for need in needs if need is not None), default=None)
        assert first[codes].status.is_primary == (need is not None)
        if need is not None:  # the same percentage of the published value
            level = max(need / sum(staff) * turnover(members), 0.1)
            assert [float(text) for text in first[codes].rest[-2:]] == pytest.approx([level, level], abs=0.11)
    assert 1 < sum(cell.status.is_primary for cell in first.values()) < len(first)
    text = (tmp_path / "first.tab").read_text()
    comma = "\n".join(line.replace(".", ",") for line in text.splitlines() if not line.startswith('"A";"All"')) + "\n"
    (tmp_path / "first.tab").write_bytes(comma.replace("\n", "\r\n").encode("latin-1"))
    again = run(
        '<OPENTABLEDATA> "first.tab"\n<OPENMETADATA> "first.rda"\n<SPECIFYTABLE> "Size""Region"|"Turnover"|"Shadow"|"Cost"\n'
        '<SAFETYRULE>\n<READTABLE> 1T\n<WRITETABLE> (1,5,,"again.tab")\n'
    )
    second = {cell.codes: cell for cell in read_result(tmp_path / "again.tab", listed)}
    for codes, cell in first.items():
        assert second[codes].value == pytest.approx(cell.value, abs=0.11)
        # The total that the file leaves out has no status: it is computed.
        if codes != ("A", "All"):
            assert (second[codes].status, second[codes].rest[-2:]) == (cell.status, cell.rest[-2:])
    (work,) = again.works
    assert work.found.status[work.views.table.index(("A", "All"))] != ArgusStatus.EMPTY
