"""Text output: aligned tables, colour and line breaks on a terminal, escaped names from files."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import partialmethod
from typing import Any, TextIO, TypeVar

T = TypeVar("T")


class Style:
    """Colours and glyphs that the stream can show; plain text when it is not a terminal."""

    def __init__(self, stream: TextIO | None = None):
        stream = stream or sys.stdout
        terminal = stream.isatty() and os.environ.get("TERM") != "dumb" and "NO_COLOR" not in os.environ
        self._colour = terminal
        self._unicode = encodes(stream, "├└│─█✓")

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    bold, dim, good = partialmethod(_paint, "1"), partialmethod(_paint, "2"), partialmethod(_paint, "32")
    bad, doubtful = partialmethod(_paint, "31"), partialmethod(_paint, "33")

    def glyph(self, pretty: str, plain: str) -> str:
        """`pretty` where the stream can encode it, otherwise `plain`."""
        return pretty if self._unicode else plain


def encodes(stream: TextIO, text: str) -> bool:
    """Whether the stream can encode these characters."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns(stream: TextIO) -> int | None:
    """The width of the terminal in columns; None if the stream is not a terminal: nothing is wrapped then."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def wrapped(text: str, room: int | None) -> str:
    """The text on lines of at most `room` columns, indented from the second on; words stay whole."""
    if room is None:
        return text
    return textwrap.fill(text, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def printable(text: Any) -> str:
    """The text with control characters escaped, so that a name from a file cannot control the terminal."""
    return "".join(
        c if c == " " or c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)
    )


def width(text: str) -> int:
    """The width of a text on a terminal in columns, without colour codes."""
    columns, escaped = 0, False
    for c in text:
        if c == "\033":
            escaped = True
        elif escaped:
            escaped = c != "m"
        elif not unicodedata.combining(c):
            columns += 2 if unicodedata.east_asian_width(c) in "WF" else 1
    return columns


def widest(text: str) -> int:
    """The width of the widest line on a terminal in columns."""
    return max(map(width, text.split("\n")))


def table(rows: Iterable[Sequence[Any]], header: Sequence[str] = (), align: str = "", gap: str = "  ") -> str:
    """Rows in columns; `align` has one character per column, `<` or `>`; the last one repeats."""
    cells = [[str(c) for c in row] for row in ([header] if header else [])] + [
        [str(c) for c in row] for row in rows
    ]
    if not cells:
        return ""
    count = max(map(len, cells))
    align = (align or "<").ljust(count, (align or "<")[-1])
    widths = [max((width(row[k]) for row in cells if k < len(row)), default=0) for k in range(count)]

    def place(text: str, k: int) -> str:
        blank = " " * (widths[k] - width(text))
        return text + blank if align[k] == "<" else blank + text

    return "\n".join(gap.join(place(text, k) for k, text in enumerate(row)).rstrip() for row in cells)


def indent(text: str, by: str = "  ") -> str:
    """The text with every line indented."""
    return "\n".join(by + line if line else line for line in text.split("\n"))


def number(x: float, digits: int = 4) -> str:
    """A number with few digits, and no exponent where none is needed."""
    return f"{x:.{digits}g}"


def plural(count: int, word: str) -> str:
    """`1 file`, `2 files`, `3 bodies`."""
    many = word[:-1] + "ies" if word.endswith("y") else word + "s"
    return f"{count} {word if count == 1 else many}"


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def closest(word: str, known: Iterable[str]) -> str:
    """'Did you mean ...?' for a mistyped word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"Did you mean '{near[0]}'?" if near else ""


def progress(steps: Iterable[T], count: int, label: str) -> Iterator[T]:
    """The steps themselves, with a progress bar on standard error if that is a terminal."""
    stream = sys.stderr
    if not stream.isatty():
        yield from steps
        return
    shown = 0.0
    try:
        for done, step in enumerate(steps):
            if time.monotonic() - shown > 0.1:
                shown = time.monotonic()
                filled = 24 * done // max(count, 1)
                bar = "#" * filled + "." * (24 - filled)
                stream.write(f"\r\033[2K{label} [{bar}] {done}/{count}")
                stream.flush()
            yield step
    finally:
        stream.write("\r\033[2K")
        stream.flush()
