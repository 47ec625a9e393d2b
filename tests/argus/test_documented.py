"""Every command, rule, method, option and keyword of the files of τ-ARGUS is described."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.argus.parser import BATCH_COMMANDS, BATCH_METHODS, BATCH_RULES, OPTIONS
from discreet.argus.plans import METHOD_NAMES, PLANS
from discreet.argus.writing import OUTPUT_KINDS
from discreet.io.argus import metadata
from discreet.io.argus.apriori import APRIORI_WORDS
from discreet.io.argus.recode import KEYWORDS
from discreet.io.argus.statuses import ArgusStatus

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "how-to" / "bring-your-tau-argus-job.md").read_text(encoding="utf-8")
FORMATS = (DOCS / "reference" / "formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", BATCH_COMMANDS)
def test_every_command(command):
    assert f"`<{command}>`" in GUIDE


@pytest.mark.parametrize("rule", BATCH_RULES)
def test_every_rule(rule):
    assert re.search(rf"^\| `{rule}\(", GUIDE, flags=re.M)


@pytest.mark.parametrize("method", BATCH_METHODS)
def test_every_method_and_what_it_becomes(method):
    assert f"| `{method}` | [{METHOD_NAMES[method]}](" in GUIDE
    assert method in PLANS


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_outputs(option):
    assert f"`{option}`" in FORMATS


@pytest.mark.parametrize(("kind", "name"), OUTPUT_KINDS.items())
def test_every_type_of_output(kind, name):
    assert re.search(rf"^\| {kind} \|", GUIDE, flags=re.M)
    assert f"| {kind} {name} |" in FORMATS


@pytest.mark.parametrize(
    "keyword", [*metadata._OPTIONS, *metadata._RECORD_OPTIONS, *metadata._TABLE_OPTIONS, *KEYWORDS]
)
def test_every_keyword_of_metadata_and_recodes(keyword):
    assert keyword in FORMATS or keyword in ("<RECODABLE>", "<COST>"), "other spellings are not described"


@pytest.mark.parametrize("word", APRIORI_WORDS)
def test_every_word_of_a_priori_files(word):
    assert f"`{word}`" in GUIDE


@pytest.mark.parametrize("status", [one for one in ArgusStatus if one not in (7, 8, 13)])
def test_every_status_that_is_written(status):
    assert re.search(rf"^\|(?: \d+,)* {int(status)}(?:, \d+)* \|", FORMATS, flags=re.M)
