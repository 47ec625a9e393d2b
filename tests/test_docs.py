"""The documentation is complete, its links lead somewhere, and what it tells readers to type works."""

from __future__ import annotations

import inspect
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

import click
import docs_tables
import pytest
from tests.test_layers import MODULES, ROOMS, SOURCE

import discreet
from discreet import errors
from discreet.attacks import ATTACKS
from discreet.cli import main as cli
from discreet.costs import COSTS
from discreet.io import FORMATS
from discreet.jobs import job_file
from discreet.jobs.demo import write_demo
from discreet.methods import METHODS, options_of
from discreet.methods.context import Run
from discreet.methods.respondents.construct import ForRespondents
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.rules import RULES, usage

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
EXAMPLE = ROOT / "examples" / "turnover"
ROOT_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")]
PAGES = [*ROOT_PAGES, *sorted(DOCS.rglob("*.md"))]
RUNNABLE = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def reference(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    found = re.search(rf"^(#+) `?{re.escape(heading)}`?$", text, flags=re.M)
    assert found, f"there is no heading {heading!r}"
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, flags=re.M)
    return rest[: end.start()] if end else rest


# -- the reference is complete ------------------------------------------------------------------------------------


def commands() -> list[tuple[str, click.Parameter]]:
    listed = [("discreet", parameter) for parameter in cli.cli.params]
    for name in cli.COMMANDS:
        listed += [(f"discreet {name}", parameter) for parameter in cli.command(name).params]
    return listed


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_every_command_has_a_section(command: str) -> None:
    assert section(reference("cli.md"), f"discreet {command}").strip()


@pytest.mark.parametrize(("command", "parameter"), commands(), ids=lambda p: getattr(p, "name", p))
def test_every_option_and_argument_is_described_with_its_command(command: str, parameter: click.Parameter) -> None:
    text = section(reference("cli.md"), command)
    names = parameter.opts if isinstance(parameter, click.Option) else [parameter.human_readable_name.upper()]
    assert any(f"`{name}" in text for name in names), f"{names} is missing in the section {command!r}"


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_and_its_parameters_are_described(rule: str) -> None:
    text = section(reference("rules.md"), usage(rule))
    for field in fields(RULES[rule]):
        assert f"`{field.name}`" in text


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", text, flags=re.M)


@pytest.mark.parametrize("cost", COSTS)
def test_every_cost_is_described(cost: str) -> None:
    assert re.search(rf"`{cost}[`(]", section(reference("rules.md"), "Costs"))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_section_with_its_options(method: str) -> None:
    assert f"<!-- options of {method} -->" in section(reference("methods.md"), method)


@pytest.mark.parametrize("page", docs_tables.PAGES)
def test_tables_of_options_and_parameters_are_those_of_the_source(page: str) -> None:
    assert reference(page) == docs_tables.with_tables(reference(page)), "run `make tables`"


@pytest.mark.parametrize("method", METHODS)
def test_every_option_has_a_type_and_a_meaning_in_words(method: str) -> None:
    for option in options_of(METHODS[method]):
        assert option.type
        assert option.meaning


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_is_described(attack: str) -> None:
    text = (DOCS / "explanation" / "intruder.md").read_text(encoding="utf-8")
    names = [
        name
        for heading in headings(section(text, "The attacks"))
        for name in re.findall(r"[\w-]+", heading.split(":")[0])
    ]
    assert attack in names


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_file_suffix_is_described(suffix: str) -> None:
    assert f"`{suffix}`" in reference("formats.md")


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("[data]", job_file.Data),
        ("[table]", job_file.Finished),
        ("[dimensions.NAME]", job_file.Dimension),
        ("[rules]", job_file.Rules),
        ("[protect]", job_file.Protect),
        ("[output]", job_file.Output),
        ("[metadata]", job_file.ReleaseMetadata),
        ("[workbook]", job_file.Layout),
        ("[sdmx]", job_file.Sdmx),
    ],
)
def test_every_entry_of_a_job_file_is_described(heading: str, kind: type) -> None:
    text = section(reference("job-file.md"), heading)
    missing = [field.name for field in fields(kind) if f"`{field.name}`" not in text]
    assert not missing


def test_every_part_of_a_job_file_is_described() -> None:
    text = reference("job-file.md")
    parts = [field.name for field in fields(job_file.Job) if field.name != "path"]
    assert not [part for part in parts if f"`{part}`" not in text and f"[{part}" not in text]


def test_the_job_with_everything_is_valid_and_has_every_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = (block for block in blocks(REFERENCE / "job-file.md") if block.language == "toml")
    (tmp_path / "job.toml").write_text(block.text, encoding="utf-8")
    for file in re.findall(r'"([^"]+\.(?:parquet|hrc|csv|txt|xlsx))"', block.text):
        (tmp_path / file).touch()
    read = job_file.read_job(tmp_path / "job.toml")
    presented = (read.metadata, read.workbook, read.sdmx)
    for part in (read.data, *read.dimensions.values(), read.rules, read.protect, read.output, *presented):
        optional = {"layout", "hierarchy", "also", "levels", "columns", "total", "codelist", "codes"}
        every = {field.name for field in fields(part)} - optional
        assert not [name for name in every if f"{name} = " not in block.text]


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_is_described(name: str) -> None:
    text, thing = reference("python.md"), getattr(discreet, name)
    assert f"`{name}`" in text or f"`{name}(" in text or f"{name}(" in text
    if inspect.isfunction(thing):
        signature = re.search(rf"^{name}\((.*?)\)(?: ->|$)", text, flags=re.M | re.S)
        assert signature, f"{name} has no signature"
        missing = [p for p in inspect.signature(thing).parameters if not re.search(rf"\b{p}\b", signature[1])]
        assert not missing


def error_classes() -> list[str]:
    return [n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, errors.DiscreetError)]


@pytest.mark.parametrize("name", error_classes())
def test_every_error_is_described_with_its_exit_code(name: str) -> None:
    row = next(line for line in reference("errors.md").splitlines() if line.startswith(f"| `{name}`"))
    assert f"| {getattr(errors, name).exit_code} |" in row


# -- links lead somewhere -------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Headings as GitHub makes anchors of them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings(text)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} does not exist"
        if anchor:
            assert anchor in anchors(target), f"{link} names no heading"


def test_the_architecture_names_every_room() -> None:
    text = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    (diagram,) = re.findall(r"^```text\n(  modules:.*?)^```$", text, flags=re.M | re.S)
    packages = set(re.findall(r"^(\w+)/", diagram, flags=re.M))
    modules = {
        name for listed in re.findall(r"modules:((?:\s+\w+,?)+)", diagram) for name in re.findall(r"\w+", listed)
    }
    assert packages == {room for room in ROOMS if (SOURCE / room).is_dir()}
    assert modules - packages >= set(ROOMS) - packages


@pytest.mark.parametrize("page", ["explanation/architecture.md", "glossary.md"])
def test_what_a_page_names_of_the_source_is_there(page: str) -> None:
    """``jobs.job.run_job`` and the like: a module below the package, or what it holds."""
    text = (DOCS / page).read_text(encoding="utf-8")
    names = {name for name in re.findall(r"`(\w+\.[\w.]+)`", text) if name.split(".")[0] in ROOMS}
    names = {name for name in names if not name.endswith((".json", ".html"))}
    assert len(names) > 10
    for name in names:
        module, _, thing = name.rpartition(".")
        assert name in MODULES or hasattr(import_module(f"discreet.{module}"), thing), name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_modules_that_a_page_names_are_there(page: Path) -> None:
    """``discreet.attacks`` and the like, and what is named in them."""
    for name in set(re.findall(r"\bdiscreet\.([a-z_]+(?:\.\w+)*)", page.read_text(encoding="utf-8"))):
        parts = name.split(".")
        depth = max((n for n in range(len(parts) + 1) if ".".join(parts[:n]) in MODULES), default=0)
        found = import_module(".".join(["discreet", *parts[:depth]]))
        for part in parts[depth:]:
            assert hasattr(found, part), f"discreet.{name}"
            found = getattr(found, part)


def test_the_files_and_registries_that_contributors_are_sent_to_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    places = {path for path in re.findall(r"`((?:src|tests)/[\w/.]+)`", text) if not re.search("NAME|FAMILY", path)}
    assert "tests/rules/test_rules_contract.py" in places
    assert not [place for place in places if not (ROOT / place).exists()]
    registries = re.findall(r"`([A-Z]+)`(?: or `[A-Z]+`)? in `([\w/]+\.py)`", text)
    assert {name for name, _ in registries} >= {"RULES", "METHODS", "SOLVERS", "FORMATS", "ATTACKS", "COMMANDS"}
    for name, module in registries:
        assert re.search(rf"^{name}\b.* = ", (SOURCE / module).read_text(encoding="utf-8"), flags=re.M), name


def test_every_page_is_listed_on_the_first() -> None:
    listed = set(re.findall(r"\]\(([^)#\s]+)", (DOCS / "index.md").read_text(encoding="utf-8")))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"}
    assert pages <= listed


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """Once; pages from outside docs/ come from the hooks in docs_site.py."""
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.M)
    outside = re.findall(r'": "([\w-]+\.md)"', (ROOT / "docs_site.py").read_text(encoding="utf-8"))
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted({*pages, *outside})


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_is_in_the_reference_made_from_the_source(name: str) -> None:
    assert f"::: discreet.public.{name}\n" in reference("api.md")


# -- what is to be typed works ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    language: str
    file: str | None
    text: str
    line: int
    shown: str = ""  # what it prints, where that stands right below it


def blocks(page: Path) -> Iterator[Block]:
    """Code and files of a page; of a block of text right below one, with nothing in between, readers think it is the output."""
    text = page.read_text(encoding="utf-8")
    fenced = r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$'
    for found in re.finditer(fenced + r"(?:\n\n^```text\n(.*?)^```$)?", text, flags=re.M | re.S):
        yield Block(found[1], found[2], found[3], text[: found.start()].count("\n") + 2, found[4] or "")


def lines_of(text: str) -> list[str]:
    """Lines without their spacing, and without times, which differ between machines."""
    return [re.sub(r"\d+(\.\d+)? s\b", "… s", " ".join(line.split())) for line in text.splitlines() if line.strip()]


def missing(shown: str, printed: str) -> list[str]:
    """Lines that are shown but not printed in this order; where ``…`` ends a line, anything may follow."""
    left, lost = lines_of(printed), []
    for line in lines_of(shown):
        begins = line.removesuffix("…").rstrip()
        found = (i for i, one in enumerate(left) if one == line or (begins != line and one.startswith(begins)))
        at = next(found, None)
        if at is None:
            lost.append(line)
        else:
            left = left[at + 1 :]
    return lost


def test_what_is_shown_must_be_printed_in_its_order() -> None:
    printed = "a  1\n18.0 s to find b\nc, and so on\n"
    assert not missing("a 1\n2.5 s  to find b\nc, …", printed)
    assert missing("c, …\na 1\nd", printed) == ["a 1", "d"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the example's files, in which a reader types."""
    for file in EXAMPLE.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def type_in(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands as a shell would run them; ``discreet`` in this process, which saves starting Python anew each time."""
    for line in text.splitlines():
        command, _, remark = line.partition("  #")
        words = shlex.split(command)
        if not words or words[0] in ("make", "pip"):
            continue
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
        elif words[:2] == ["discreet", "demo"]:
            write_demo(Path(words[words.index("--out") + 1]))  # the page goes through the rest step by step
        elif words[0] == "discreet":
            code = re.search(r"exit code (\d)", remark)
            assert discreet_exits(words[1:], monkeypatch) == (int(code[1]) if code else 0), line
        else:
            subprocess.run(command, shell=True, check=True)


def discreet_exits(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    return int(stopped.value.code or 0)


@pytest.fixture(autouse=True)
def each_problem_is_protected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages do the same job twice, on the command line and in Python: the second time the answer is known."""
    protect, found = ForRespondents.protect, {}

    def remembered(self: ForRespondents, problem: Problem, run: Run) -> Protection:
        key = self.method, problem.digest, run.seed
        if key not in found:
            found[key] = protect(self, problem, run)
        return found[key]

    monkeypatch.setattr(ForRespondents, "protect", remembered)


@pytest.fixture(autouse=True)
def attacks_that_draw_tables_end_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go on for a minute where too few tables lead to the same release, and claim no more for it."""
    monkeypatch.setattr(
        import_module("discreet.attacks.run"), "SAMPLING_SECONDS", 2.0
    )  # the package has a function of this name


LONG = {"tutorial.md", "many-tables.md", "compare-methods.md"}  # pages that take ten seconds and more


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if page.name in LONG else []) for page in RUNNABLE],
    ids=name_of,
)
def test_what_a_page_tells_the_reader_to_type_works(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And it prints what is shown right below it."""
    space: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        capfd.readouterr()
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            type_in(block.text, monkeypatch)
        elif block.language == "python":
            padded = "\n" * (block.line - 1) + block.text  # so that a traceback names the line of the page
            exec(compile(padded, str(page), "exec"), space)
        if block.shown:
            told = capfd.readouterr()
            assert not missing(block.shown, told.out + told.err), f"{page.name}, below line {block.line}"


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """But for what attacks leave open, which depends on how fast the machine is."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(A synthetic business survey.*?)^```$", text, flags=re.M | re.S)
    assert discreet_exits(["demo", "--out", "demo-output"], monkeypatch) == 0
    left_open = r"^  (.*attacker who knows the method|Attacks not finished).*\n"
    assert not missing(re.sub(left_open, "", shown, flags=re.M), capfd.readouterr().out)


def test_the_job_of_the_readme_is_the_one_of_the_example(folder: Path) -> None:
    (text,) = (block.text for block in blocks(ROOT / "README.md") if block.file == "job.toml")
    (folder / "readme.toml").write_text(text, encoding="utf-8")
    readme, example = job_file.read_job(folder / "readme.toml"), job_file.read_job(folder / "job.toml")
    for field in fields(job_file.Job):
        if field.name != "path":
            assert getattr(readme, field.name) == getattr(example, field.name)


def test_the_example_gives_the_same_release_from_the_command_line_and_from_python(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert discreet_exits(["run", "job.toml"], monkeypatch) == 0
    from_the_command_line = (folder / "output" / "release.csv").read_bytes()
    shutil.rmtree(folder / "output")
    runpy.run_path("protect.py", run_name="__main__")
    assert (folder / "output" / "release.csv").read_bytes() == from_the_command_line
    assert "×" in from_the_command_line.decode()
