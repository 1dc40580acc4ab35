"""The pieces of text that the commands print."""

from __future__ import annotations

import io

import pytest

from kinetree.cli.text import Style, closest, duration, indent, plural, printable, table, width


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def test_table_aligns_and_trims():
    assert table([["a", 1], ["bb", 22]], ["x", "n"], "<>") == "x    n\na    1\nbb  22"


def test_table_of_nothing():
    assert table([]) == ""


def test_rows_may_be_short():
    assert table([["a"], ["b", "c"]]) == "a\nb  c"


def test_colours_and_wide_characters_count_as_they_look():
    assert width("\033[1mab\033[0m") == 2
    assert width("日本") == 4
    assert width("e\u0301") == 1


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\0", "\u202e", "\x9b", "\u2028"])
def test_control_characters_are_made_visible(text):
    assert printable(text).isprintable() and "\\" in printable(text)


def test_ordinary_text_stays():
    assert printable("left arm, größer 日本") == "left arm, größer 日本"


@pytest.mark.parametrize(
    "seconds, text", [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.2e-6, "4.2 us"), (2.55e-8, "25.5 ns")]
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_plural():
    assert [plural(1, "body"), plural(2, "body"), plural(0, "file")] == ["1 body", "2 bodies", "0 files"]


def test_indent_leaves_empty_lines_empty():
    assert indent("a\n\nb") == "  a\n\n  b"


def test_closest():
    assert closest("inof", ["info", "demo"]) == "Did you mean 'info'?"
    assert closest("zzz", ["info", "demo"]) == ""


def test_colour_only_on_a_terminal(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert Style(io.StringIO()).good("x") == "x"
    assert Style(Terminal()).good("x") == "\033[32mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Style(Terminal()).good("x") == "x"


def test_glyphs_fall_back_where_they_cannot_be_encoded():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert Style(stream).glyph("├", "|") == "|"
    assert Style(Terminal()).glyph("├", "|") == "├"
