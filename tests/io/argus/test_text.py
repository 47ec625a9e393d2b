"""Fields of the text files of τ-ARGUS."""

from __future__ import annotations

import pytest

from discreet.io.argus.text import fields


@pytest.mark.parametrize("separator", [";", ",", "\t", " ", "::"])
def test_a_field_in_quotes_may_hold_the_separator(separator: str) -> None:
    """A tab after a quotation mark was taken for a blank around the field."""
    line = separator.join(['"A 1"', f'"B{separator}2"', '"say ""x"""', "3.5", '""'])
    assert fields(line, separator) == ["A 1", f"B{separator}2".strip(), 'say "x"', "3.5", ""]


def test_blanks_around_fields_do_not_count() -> None:
    assert fields(' "a" ; b ;\t"c;d"\t', ";") == ["a", "b", "c;d"]
    assert fields(' "a" \t b \t"c"', "\t") == ["a", "b", "c"]
