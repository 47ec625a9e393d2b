"""Languages: every text that readers see is translated, and no language says more than another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from string import Formatter
from types import FunctionType

import numpy as np
import openpyxl
import pandas as pd
import pytest
from jinja2 import Environment, nodes

import discreet
from discreet import assess, audit, protect, publish, tabulate, write_release
from discreet import promise as conditions
from discreet.audit import Audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.errors import InputError
from discreet.io.csv import release_text
from discreet.languages import LANGUAGES, Language, language
from discreet.methods import METHODS
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.release import SYMBOL, Release
from discreet.report import REPORT_TITLE, render_shareable, words
from discreet.report.shareable import METHOD_DESCRIPTIONS, RULE_DESCRIPTIONS
from discreet.rules import RULES
from discreet.testing import cross_table, pose

SOURCE = Path(discreet.__file__).parent
TRANSLATED = [lang for lang in LANGUAGES if lang != "en"]
SAME = {"Total", "Code", "Versions", "cell", "Contact: {contact}"}  # words that some language shares with English


# -- the catalogues ------------------------------------------------------------------------------------------------


def said_in_modules() -> Iterator[str]:
    """The constants that modules pass to ``say``; a variable must come from a list that ``texts`` knows."""
    for path in [SOURCE / "release.py", *(SOURCE / "io").rglob("*.py"), *(SOURCE / "report").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if name == "say" and isinstance(node, ast.Call):
                yield from (c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant))


def said_in_templates() -> Iterator[str]:
    for path in (SOURCE / "report").glob("*.j2"):
        page = Environment().parse(path.read_text(encoding="utf-8"))
        for call in page.find_all(nodes.Call):
            if getattr(call.node, "name", "") == "say":
                yield call.args[0].as_const()


def sentences_of(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """The constant sentences in a function, and in those of its module that it uses."""
    if function in seen:
        return
    seen.add(function)
    used = [function.__globals__.get(name) for name in function.__code__.co_names]
    used += [cell.cell_contents for cell in function.__closure__ or ()]
    docstring = function.__doc__ or ""
    for constant in (*function.__code__.co_consts, *used):
        if isinstance(constant, str) and constant.endswith(".") and constant != docstring:
            yield constant
        elif isinstance(constant, FunctionType) and constant.__module__ == function.__module__:
            yield from sentences_of(constant, seen)


def conditions_for_readers() -> set[str]:
    return {
        text
        for subject in conditions.SUBJECTS
        if subject.shareable is not None
        for text in sentences_of(subject.shareable, set())
    }


@cache
def texts() -> set[str]:
    """All texts that readers may see."""
    lists = [*RULE_DESCRIPTIONS.values(), *METHOD_DESCRIPTIONS.values(), "Total", "cell", "count", REPORT_TITLE]
    return {*said_in_modules(), *said_in_templates(), *conditions_for_readers(), *lists}


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("lang", TRANSLATED)
def test_every_text_is_translated_and_no_other(lang):
    assert texts() - set(language(lang).texts) == set(), f"translate them in languages/{lang}.toml"
    assert set(language(lang).texts) - texts() == set(), f"remove them from languages/{lang}.toml"


@pytest.mark.parametrize("lang", TRANSLATED)
def test_translations_have_the_same_values_and_no_english(lang):
    for text, translation in language(lang).texts.items():
        assert placeholders(text) == placeholders(translation), text
        assert translation != text or text in SAME or not re.sub(r"{\w+}", "", text).strip()
        assert text[-1:] != "." or translation[-1:] == "."
        assert not re.search(r"\b(the|and|with|published|suppressed)\b", translation), translation


def test_conditions_for_readers_are_constant():
    """A sentence that is put together cannot be translated: its parts would not be found, or not end."""
    assert len(conditions_for_readers()) > 12
    for text in conditions_for_readers():
        assert text[0].isupper(), text
        assert not placeholders(text), text


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_its_signs(lang):
    said_in = language(lang)
    assert len(set(said_in.months)) == 12
    assert said_in.symbol.strip()
    assert said_in.decimal != said_in.thousands
    assert placeholders(said_in.date) == {"day", "month", "year", "time", "zone"}
    assert language("en").symbol == SYMBOL


def test_every_rule_and_every_method_has_a_kind():
    assert set(RULES) == set(RULE_DESCRIPTIONS)
    assert {method.__module__.split(".")[2] for method in METHODS.values()} == set(METHOD_DESCRIPTIONS)


def test_numbers_and_dates():
    shown = {lang: language(lang).number(words.percent(0.123)) for lang in LANGUAGES}
    assert shown == {"en": "12.3 %", "de": "12,3\xa0%", "fr": "12,3\xa0%", "es": "12,3\xa0%", "nl": "12,3%"}
    assert [language(lang).number("1,234,567.8") for lang in ("en", "de", "fr")] == [
        *("1,234,567.8", "1.234.567,8", "1\u202f234\u202f567,8")
    ]
    assert language("de").say("{n} of {m}", n=1200, m=34567) == "1.200 von 34.567"
    march = datetime(2026, 3, 9, 8, 5, tzinfo=UTC)
    assert language("en").moment(march) == "9 March 2026, 08:05 (UTC+0000)"
    assert language("es").moment(march) == "9 de marzo de 2026, 08:05 (UTC+0000)"


# -- releases ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results():
    records = pd.DataFrame(
        {"region": list("aaabbbccs"), "size": list("xyzxyzxyz"), "v": [5.0, 60, 700, 80, 9, 50, 400, 30, 2]}
    )
    problem = assess(tabulate(records, ["region", "size"], "v"), "FREQ(2)")
    protection = protect(problem, "kelly")
    return problem, protection, audit(problem, protection)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_csv_and_parquet_have_the_same_codes_and_names_in_every_language(results, lang, tmp_path):
    release, plain = (publish(*results, lang=code) for code in (lang, "en"))
    assert release.symbol == language(lang).symbol
    assert release_text(release).replace(f",{release.symbol}\n", f",{SYMBOL}\n") == release_text(plain)
    for one, name in ((release, "one"), (plain, "other")):
        write_release(one, tmp_path / f"{name}.parquet")
    pd.testing.assert_frame_equal(*(pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("one", "other")))


@pytest.mark.parametrize(
    ("lang", "sheets", "total"),
    [
        ("en", ["table", "cells", "legend"], "Total"),
        ("de", ["Tabelle", "Zellen", "Zeichenerklärung"], "Insgesamt"),
        ("fr", ["Tableau", "Cases", "Signes conventionnels"], "Total"),
        ("es", ["Tabla", "Celdas", "Signos convencionales"], "Total"),
        ("nl", ["Tabel", "Cellen", "Verklaring van tekens"], "Totaal"),
    ],
)
def test_workbooks_are_in_the_language_of_readers(results, lang, sheets, total, tmp_path):
    release = publish(*results, lang=lang)
    write_release(release, tmp_path / "release.xlsx")  # which reads it again
    book = openpyxl.load_workbook(tmp_path / "release.xlsx")
    assert book.sheetnames == sheets
    assert [book[sheets[0]].cell(4, 2).value, book[sheets[1]].cell(2, 1).value] == [total, total]
    assert book[sheets[1]].cell(1, 1).value == "region"
    assert book.properties.language == lang
    marks = [row[0] for row in book[sheets[2]].iter_rows(values_only=True)]
    assert marks == [release.symbol, *([total] if total != "Total" else [])]


def test_the_symbol_of_the_user_comes_first(results):
    assert publish(*results, lang="de", symbol="x").symbol == "x"
    assert publish(*results, symbol=".").symbol == "."
    with pytest.raises(InputError, match="lang is 'en' or 'de'"):
        publish(*results, lang="it")


def test_the_legend_says_what_the_symbol_does_not_mean(results):
    """``s`` is a region; ``-`` would be read as zero, ``.`` as a missing value."""
    ((symbol, meaning),) = publish(*results, lang="fr").legend()
    assert symbol == "s"
    assert "Dans la colonne region" in meaning
    for mark in ("-", "."):
        ((symbol, meaning),) = publish(*results, symbol=mark).legend()
        assert symbol == mark
        assert "neither zero nor that no value is available" in meaning
        assert "is a code" not in meaning


def test_names_that_the_user_chose_stay(tmp_path):
    """Another name of the total, and a total whose translation is a code already."""
    down, across = Hierarchy.flat(["Insgesamt", "b"]), Hierarchy.flat(["x", "y"], total="All")
    codes = np.indices((3, 3)).reshape(2, -1)
    table = Table.from_cells({"Anzahl": down, "column": across}, codes, np.ones(9), response="count")
    problem = pose(table.with_columns(is_count=True, value=np.array([8, 4, 4, 4, 2, 2, 4, 2, 2.0])), {})
    found = protect(problem, "kelly")
    shown = publish(problem, found, audit(problem, found), lang="de").in_words()
    assert list(shown.codes) == ["Anzahl", "column"]
    assert shown.codes["Anzahl"][0] == "Total"
    assert shown.codes["column"][0] == "All"
    assert shown.response == "count"


def test_counts_and_ends_of_intervals_have_names_in_the_language():
    one = Release({"d": ("Total", "a")}, "count", np.array([3.0, np.nan]), "c", np.zeros(2), np.ones(2), lang="de")
    assert list(one.in_words().frame()) == ["d", "count", "count Untergrenze", "count Obergrenze"]
    assert list(one.frame()) == ["d", "count", "count lower", "count upper"]
    assert [mark for mark, _ in one.legend()] == ["c", "count Untergrenze", "count Obergrenze"]


# -- shareable reports ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["suppressed", "intervals", "adjusted", "nothing"])
def case(request) -> tuple[Problem, Protection, Audit]:
    values = np.random.default_rng(1).integers(1, 30, (4, 4)).astype(float)
    table = cross_table(list("abcd"), list("wxyz"), values)
    counts = cross_table(list("abcd"), list("wxyz"), np.ceil(values / 6)).with_columns(is_count=True)
    problem, method = {
        "suppressed": (pose(table, {"a × w": 3.0}), "kelly"),
        "intervals": (pose(table, {"a × w": 3.0}), "intervals"),
        "adjusted": (pose(counts, {}), "small-counts"),
        "nothing": (pose(table, {}), "kelly"),
    }[request.param]
    protection = protect(problem, method)
    return problem, protection, audit(problem, protection)


def test_no_language_says_more_than_another(case, monkeypatch):
    """The English texts behind the page, in their order, are the same; only those about names differ in the legend."""
    said: list[str] = []
    spoken = Language.say

    def say(self, text, **values):
        said.append(text)
        return spoken(self, text, **values)

    monkeypatch.setattr(Language, "say", say)
    names = {"Total", "In the column {column} the same text is a code."}
    names |= {"The code of this total in the CSV and Parquet files is {code}."}
    pages = {}
    for lang in LANGUAGES:
        said.clear()
        page = render_shareable(*case, lang=lang)
        assert f'<html lang="{lang}">' in page
        pages[lang] = [text for text in said if text not in names]
    assert all(texts == pages["en"] for texts in pages.values())


def test_every_text_of_the_page_can_be_translated(case, monkeypatch):
    """What remains if translations are blank: names, codes, numbers, versions."""
    monkeypatch.setattr(Language, "say", lambda self, text, **values: " ".join(str(v) for v in values.values()))
    page = re.sub(r"<style>.*?</style>", "", render_shareable(*case, title="T"), flags=re.S)
    shown = " ".join([re.sub(r"<[^>]*>", " ", page), *re.findall(r'title="([^"]*)"', page)])
    shown = re.sub(r"\b[0-9a-f]{64}\b|\d+ \w+ \d{4}, [\d:]+ \(UTC.\d+\)", "", shown)
    known = {"T", "Total", "row", "column", "value", "count", *"abcdwxyz", case[1].report.method}
    known |= {"discreet", "Python", "numpy", "highspy", "small", "counts", "dev", "post", "rc"}
    assert set(re.findall(r"[A-Za-z]+", shown)) - known == set()
