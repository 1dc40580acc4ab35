"""Docstrings as pages: paragraphs, typeset equations, tables of arguments, citations that are links."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs import maths

SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Warns|Example):\n")
CITED = re.compile(r'<a id="([^"]+)"></a>\*\*([^*]+)\.\*\*')
REFERENCES = dict(
    (name, anchor) for anchor, name in CITED.findall((Path(__file__).parent / "references.md").read_text())
)


def summary(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return joined((inspect.getdoc(value) or "").partition("\n\n")[0])


def body(value: Any, *, arguments: bool = True) -> Iterator[str]:
    """The blocks of a docstring after its first paragraph; `arguments`: with those of the arguments."""
    _, _, rest = (inspect.getdoc(value) or "").partition("\n\n")
    for block in re.split(r"\n\s*\n", rest.rstrip()):
        section = SECTION.match(block)
        if section and (arguments or section[1] not in ("Args", "Returns")):
            yield from _section(section[1], block[section.end() :])
        elif block.startswith("    "):
            text = textwrap.dedent(block)
            yield f"```py\n{text}\n```" if maths.is_code(text) else maths.display(text)
        elif block.startswith("Reference"):
            yield "**Reference:** " + cited(joined(block.partition(":")[2]))
        elif block and not section:
            yield joined(block)


def _section(title: str, text: str) -> Iterator[str]:
    if title == "Example":
        yield f"```python\n{textwrap.dedent(text)}\n```"
    elif title == "Returns":
        yield f"**Returns** {joined(text)}"
    else:
        head = {"Args": "argument", "Attributes": "attribute", "Raises": "raises", "Warns": "warns"}[title]
        rows = [f"| `{name}` | {about} |" for name, about in entries(text)]
        yield "\n".join([f"| {head} | |", "|---|---|", *rows])


def entries(text: str) -> list[tuple[str, str]]:
    """(names, meaning) of an indented list `name, name: meaning`, whose lines may go on further in."""
    found: list[tuple[str, str]] = []
    for row in textwrap.dedent(text).split("\n"):
        name, colon, about = row.partition(": ")
        if colon and not row.startswith(" "):
            found.append((name, about.strip()))
        elif found:
            found[-1] = found[-1][0], f"{found[-1][1]} {row.strip()}"
    return [(name.replace(", ", "`, `"), cell(about)) for name, about in found]


def joined(block: str) -> str:
    """A paragraph on one line, asterisks and brackets kept as they are."""
    line = " ".join(part.strip() for part in block.split("\n"))
    pieces = re.split(r"(`[^`]*`)", line)  # what is between backquotes stays
    return "".join(p if p.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", p) for p in pieces).strip()


def cell(text: str) -> str:
    """A paragraph in a cell of a table."""
    return joined(text).replace("|", "\\|")


def cited(line: str) -> str:
    """The line with its citations as links."""
    for name in sorted(REFERENCES, key=len, reverse=True):
        line = re.sub(
            rf"(?<![\[\w]){re.escape(name)}", f"[{name}](../references.md#{REFERENCES[name]})", line
        )
    return line


def code(function: Any) -> str:
    """The source of a function without its docstring."""
    source = inspect.getsource(function)
    return re.sub(r'\n    """.*?"""', "", source, count=1, flags=re.S).rstrip()
