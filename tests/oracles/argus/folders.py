"""Random folders as an office has them: records, metadata, hierarchies, a priori files and a job, as Windows wrote them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random

TREE = {"Nö": ["N1", "N2"], "Sü": ["S1", "S2", "S3"], "W": ["W1"]}
INDUSTRIES = ["101", "102", "110", "201", "202"]  # by their digits: 1, then 1, then 1
REGIONS = [leaf for leaves in TREE.values() for leaf in leaves]
CODES = {"Year": ["21", "22", "99"], "Industry": INDUSTRIES, "Size": list("1234"), "Region": REGIONS}
TOTALS = {"Region": "All"}
FREQUENCY = "<FREQ>"
MISSING = "99"  # a year
SUPPRESSES = ("MOD", "OPT", "GH", "NET")
Cell = tuple[str, ...]
Call = tuple[str, tuple[float, ...]]


@dataclass(frozen=True)
class Record:
    codes: dict[str, str]
    weight: float
    group: str
    asked: str
    turnover: float
    staff: int
    key: float

    def amount(self, variable: str) -> float:
        return {FREQUENCY: 1.0, "Turnover": self.turnover, "Staff": float(self.staff)}[variable]


@dataclass
class Spec:
    """A table that a job asks for."""

    session: int
    number: int
    by: tuple[str, ...]
    response: str
    shadow: str
    rules: list[Call]
    groups: dict[str, dict[str, str]] = field(
        default_factory=dict
    )  # recodes: by dimension the new code of each old one
    closed: dict[str, int] = field(default_factory=dict)  # by dimension the level of the finest codes
    decisions: list[tuple[Cell, str, list[float]]] = field(default_factory=list)  # of a priori files
    suppressions: list[str] = field(default_factory=list)
    writes: list[tuple[int, str, str, int]] = field(
        default_factory=list
    )  # type, options, file, number of the suppression

    def calls(self, name: str) -> list[tuple[float, ...]]:
        return [numbers for one, numbers in self.rules if one == name]

    @property
    def weighted(self) -> bool:
        return bool(self.calls("WGT"))

    @property
    def decimals(self) -> int:
        return 1 if self.response == "Turnover" else 0

    def weight(self, record: Record) -> float:
        return record.weight if self.weighted else 1.0

    def value(self, members: Iterable[Record]) -> float:
        return sum(self.weight(r) * r.amount(self.response) for r in members)

    def lineage(self, dimension: str, code: str) -> list[str]:
        """The codes that a code of the records has here, from the total down."""
        total = TOTALS.get(dimension, "Total")
        if dimension in self.groups:
            return [total, self.groups[dimension].get(code, code)]
        above = {"Industry": [code[:1], code[:2]], "Region": [top for top, leaves in TREE.items() if code in leaves]}
        return [total, *above.get(dimension, []), code][: self.closed.get(dimension, 9) + 1]

    def cells(self, records: Iterable[Record]) -> dict[Cell, list[Record]]:
        found: dict[Cell, list[Record]] = {}
        for record in records:
            for cell in product(*(self.lineage(name, record.codes[name]) for name in self.by)):
                found.setdefault(cell, []).append(record)
        return found


@dataclass(frozen=True)
class Folder:
    path: Path
    records: list[Record]
    specs: list[Spec]


def drawn(path: Path, seed: int) -> Folder:
    """A folder with everything that a job needs."""
    draw = Random(seed)
    line_end, encoding = draw.choice([("\r\n", "latin-1"), ("\n", "utf-8"), ("\r\n", "cp1252"), ("\r\n", "utf-8-sig")])

    def put(name: str, lines: list[str]) -> None:
        (path / name).write_bytes((line_end.join(lines) + line_end).encode(encoding))

    records = _records(draw)
    _put_survey(put, records, draw)
    specs: list[Spec] = []
    lines = ["// Auftrag für Köln"] + (['<LOGBOOK> "D:\\logs\\Büro.log"'] if draw.random() < 0.3 else [])
    for session in range(1, draw.choice([1, 1, 1, 2, 2, 3]) + 1):
        lines += ["<CLEAR>"] if session > 1 else []
        lines += ['<OPENMICRODATA> "C:\\Daten\\Köln\\SURVEY.ASC"', '<OPENMETADATA> "survey.rda"']
        mine = [_spec(draw, session, number) for number in range(1, draw.choice([1, 1, 2, 2, 3]) + 1)]
        lines += [line for one in mine for line in _specified(draw, one)] + ["<READMICRODATA>"]
        lines += _recodes(draw, mine, session, put) + _decisions(draw, mine, records, put) + _suppressed(draw, mine)
        specs += mine
    put("job.arb", [*lines, "<GOINTERACTIVE>"])
    return Folder(path, records, specs)


def _records(draw: Random) -> list[Record]:
    weights = draw.choice([[1.0], [1.0, 1.0, 1.0, 2.0, 3.0], [1.0, 1.0, 2.5, 1.5]])
    return [
        Record(
            {name: draw.choice(codes) for name, codes in CODES.items()},
            draw.choice(weights),
            f"{group:03d}",
            draw.choice("000012"),
            round(draw.lognormvariate(4, 1.3), 1) if draw.random() > 0.07 else 0.0,
            draw.randrange(1, 300),
            round(draw.random(), 8),
        )
        for group in range(draw.choice([12, 25, 40, 70]))
        for _ in range(draw.choice([1, 1, 2, 3]))
    ]


def _put_survey(put, records: list[Record], draw: Random) -> None:
    separated, leader = draw.random() < 0.3, draw.choice(["@", "--", "%"])
    comma = separated and draw.random() < 0.5
    widths = (2, 3, 1, 3, 3, 3, 1, 8, 4, 10)
    rows = [
        (
            *(r.codes[name] for name in CODES),
            f"{r.weight:.1f}",
            r.group,
            r.asked,
            f"{r.turnover:.1f}",
            str(r.staff),
            f"{r.key:.8f}",
        )
        for r in records
    ]
    if separated:
        lines = [
            ";".join(f'"{text}"' if k == 3 else text.replace(".", ",") if comma else text for k, text in enumerate(row))
            for row in rows
        ]
    else:
        lines = [
            " ".join(
                text.ljust(width) if k < 4 else text.rjust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
    put("survey.asc", lines)
    starts = [sum(widths[:k]) + k + 1 for k in range(len(widths))]
    options = {
        "Year": ["<RECODEABLE>"],
        "Industry": ["<RECODEABLE>", "<HIERARCHICAL>", "<HIERLEVELS> 1 1 1"],
        "Size": ["<RECODEABLE>", "<DISTANCE> 1 5 9"],
        "Region": [
            *("<RECODEABLE>", '<TOTCODE> "All"', "<HIERARCHICAL>"),
            *('<HIERCODELIST> "C:\\Daten\\Köln\\REGION.HRC"', f'<HIERLEADSTRING> "{leader}"'),
        ],
        "Weight": ["<WEIGHT>", "<DECIMALS> 1"],
        "Group": ["<HOLDING>"],
        "Asked": ['<REQUEST> "1" "2"'],
        "Turnover": ["<NUMERIC>", "<DECIMALS> 1"],
        "Staff": ["<NUMERIC>"],
        "Key": ["<RECORDKEY>", "<DECIMALS> 8", '<PFILE> "ptable.txt"'],
    }
    layout = ['<SEPARATOR> ";"'] if separated else []
    for (name, of), start, width in zip(options.items(), starts, widths, strict=True):
        missing = f" {MISSING}" if name == "Year" else ""
        layout += [
            f"{name} {width}{missing}" if separated else f"{name} {start} {width}{missing}",
            *(f"  {one}" for one in of),
        ]
    put("Survey.rda", layout)
    put("region.hrc", [text for top, leaves in TREE.items() for text in (top, *(leader + leaf for leaf in leaves))])
    rows_of_table = ["0;0;1;0;1"]
    rows_of_table += [
        f"{i};{i + k};{p};{abs(k)};{end}" for i in (1, 2) for k, p, end in ((-1, 0.3, 0.3), (0, 0.4, 0.7), (1, 0.3, 1))
    ]
    put("ptable.txt", ["i;j;p;v;p_int_ub", *rows_of_table])


def _spec(draw: Random, session: int, number: int) -> Spec:
    by = tuple(draw.sample(list(CODES), draw.choice([1, 2, 2, 2, 3])))
    response = draw.choice(["Turnover", "Turnover", "Turnover", "Staff", FREQUENCY])
    shadow = "Staff" if response == "Turnover" and draw.random() < 0.2 else ""
    return Spec(session, number, by, response, shadow, _rules(draw, response))


def _rules(draw: Random, response: str) -> list[Call]:
    weighted: list[Call] = [("WGT", (1,))] if draw.random() < 0.2 else []
    if response == FREQUENCY:
        return [("FREQ", (draw.randrange(2, 5), draw.choice([10, 30]))), *weighted]
    p = draw.randrange(5, 45)
    rules = draw.choice(
        [
            [("P", (p, draw.choice([1, 2])))],
            [("P", (p, p + 20, 1))],
            [("NK", (draw.choice([1, 2]), draw.randrange(60, 95)))],
            [("P", (p,)), ("P", (0, 1)), ("P", (p + 5, 1))],
            [("NK", (0, 0)), ("NK", (0, 0)), ("NK", (1, 70))],
            [("FREQ", (3, 25))],
        ]
    )
    if draw.random() < 0.4 and rules[0][0] != "FREQ":
        rules.append(("FREQ", (draw.randrange(2, 4), draw.choice([15, 40]))))
    further = [
        ("REQ", (50, 30, 3, 25)),
        ("ZERO", (draw.choice([3, 10]),)),
        ("MIS", (1,)),
        ("MAN", (draw.choice([5, 30]),)),
    ]
    return [*rules, *(one for one in further if draw.random() < 0.2), *weighted]


def _specified(draw: Random, spec: Spec) -> list[str]:
    response = spec.response if spec.response == FREQUENCY else f'"{spec.response}"'
    cost = draw.choice(
        ["", "", "|-1", "|-2"]
        if spec.response == FREQUENCY
        else ["", "", "|-1", "|-2", "|-3", '|"Staff"', '|"Turnover"|0.5']
    )
    rules = "|".join(f"{name}({','.join(f'{x:g}' for x in numbers)})" for name, numbers in spec.rules)
    spanned = "".join(f'"{name}"' for name in spec.by)
    return [f'<SPECIFYTABLE> {spanned}|{response}|"{spec.shadow}"{cost}', f"<SAFETYRULE> {rules}"]


def _recodes(draw: Random, specs: list[Spec], session: int, put) -> list[str]:
    lines = []
    for name in dict.fromkeys(name for one in specs for name in one.by):
        if draw.random() > 0.25:
            continue
        concerned = [one for one in specs if name in one.by]
        if name in ("Size", "Year"):
            old = [code for code in CODES[name] if code != MISSING]
            draw.shuffle(old)
            cut = draw.randrange(1, len(old))
            groups = {"A": old[:cut]} | ({"B": old[cut:]} if draw.random() < 0.5 else {})
            file = f"r{session}{name}.grc"
            put(file, [f"{new}:{','.join(parts)}" for new, parts in groups.items()])
            lines.append(f'<RECODE> {concerned[0].number},"{name}","{file}"')
            for one in concerned:
                one.groups[name] = {code: new for new, parts in groups.items() for code in parts}
        else:
            level = 1 if name == "Region" else draw.choice([1, 2])
            lines.append(f'<RECODE> {concerned[0].number},"{name}",{level}')
            for one in concerned:
                one.closed[name] = level
    return lines


def _decisions(draw: Random, specs: list[Spec], records: list[Record], put) -> list[str]:
    lines = []
    for one in specs:
        if draw.random() > 0.35:
            continue
        known, rows = list(one.cells(records)), []
        for _ in range(draw.randrange(1, 6)):
            cell, word = draw.choice(known), draw.choice(["S", "U", "P", "M", "ML", "C", "PL", "PL"])
            numbers = [draw.randrange(0, 60)] * {"C": 1, "PL": 2}.get(word, 0)
            rows.append(";".join([*cell, word, *map(str, numbers)]))
            one.decisions.append((cell, word, [float(x) for x in numbers]))
        put(f"h{one.session}{one.number}.hst", rows)
        lines.append(f'<APRIORI> "C:\\x\\H{one.session}{one.number}.HST",{one.number},";"')
    return lines


def _suppressed(draw: Random, specs: list[Spec]) -> list[str]:
    lines = []
    same = len({(one.response, one.weighted) for one in specs}) == 1
    if len(specs) > 1 and same and draw.random() < 0.4:
        how = draw.choice(["MOD(0,5,0,0,0)", "MOD(0,5,1,1,0)", "GH(0,100,0,0)", "GH(0,60)"])
        lines.append(f"<SUPPRESS> {how}")
        for one in specs:
            one.suppressions.append(how)
    for one in specs:
        suppressing = ["MOD({0})", "MOD({0},5,1,1,0)", "GH({0},75)", "GH({0},100,0,0)", "OPT({0},1)", "NET({0})"]
        others = ["CTA({0})", "RND({0},2000)"] if one.response != FREQUENCY else ["CTA({0})", "RND({0},10)", "CKM({0})"]
        if one.decisions or one.weighted:
            others = []
        for _ in range(draw.choice([0 if one.suppressions else 1, 1, 1, 2])):
            how = draw.choice(suppressing + others).format(one.number)
            one.suppressions.append(how)
            lines += [f"<SUPPRESS> {how}", *_written(draw, one)]
        if not one.writes:
            lines += _written(draw, one)
    return lines


def _written(draw: Random, spec: Spec) -> list[str]:
    method, lines = spec.suppressions[-1].split("(")[0], []
    public = [1, 2, 3, 7] if method == "CKM" else [1, 2, 3]
    further = {"RND": [4, 5], "CTA": [6], "CKM": [6]}.get(method, [4, 5, 6])
    options = {
        1: ["QU"],
        2: ["AS", "SE", "QU"],
        3: ["AS", "SE", "QU", "FL"],
        4: ["HL"],
        5: ["SO", "AR", "SE"],
        6: ["TR"],
    }
    for k in range(draw.choice([1, 2, 2, 3])):
        kind = draw.choice(public + further * (k > 0))
        given = "".join(
            f"{one}{draw.choice('+-')}" for one in options.get(kind, ["AO", "AD", "AC", "SE"]) if draw.random() < 0.4
        )
        file = f"o{spec.session}{spec.number}{len(spec.writes)}.out"
        lines.append(f'<WRITETABLE> ({spec.number},{kind},{given},"{draw.choice(["", "D:" + chr(92)])}{file}")')
        spec.writes.append((kind, given, file, len(spec.suppressions) - 1))
    return lines
