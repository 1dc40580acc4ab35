"""The tree of a robot as a table, fitted to the width of a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from kinetree.cli.text import Style, printable, table, widest

if TYPE_CHECKING:
    from kinetree.model import Model

DEEPEST = 24  # levels of branching that are drawn; deeper ones are not indented further
ALIGN = {"q": ">", "v": ">", "mass kg": ">"}  # the others are on the left
NARROWEST = 20  # columns that notes are wrapped to


def tree_table(style: Style, model: Model, room: int | None) -> tuple[str, list[str]]:
    """The table of the tree, and lines that say what it leaves out.

    If it is wider than `room` columns, empty columns are left out and notes are wrapped. If that is not
    enough, so are the names of joints; those that differ from the name of the body are the lines.
    """
    from kinetree.model.table import HEADER, row

    rotors = Counter(rotor.joint for rotor in model.rotors)
    parts = [
        (marks, dict(zip(HEADER, map(printable, row(model, i, rotors))))) for *marks, i in tree(style, model)
    ]
    names = ["body", *HEADER[HEADER.index("joint") :]]

    def made(names: list[str], notes: int | None = None) -> str:
        rows = [[style.dim("world")]]
        for (drawn, below), cells in parts:
            first, *more = wrap(cells["notes"], notes) or [""] if notes else [cells["notes"]]
            shown = cells | {"body": style.dim(drawn) + cells["body"], "notes": first}
            rows.append([shown[name] for name in names])
            rows += [[style.dim(below), *[""] * (len(names) - 2), line] for line in more]
        return table(rows, names, "".join(ALIGN.get(name, "<") for name in names))

    full = made(names)
    if room is None or widest(full) <= room:
        return full, []

    def space(names: list[str]) -> int:
        return room - widest(made([name for name in names if name != "notes"])) - 2

    names = [name for name in names if name == "body" or any(cells[name] for _, cells in parts)]
    lines = []
    if space(names) < (NARROWEST if "notes" in names else -2):
        names = [name for name in names if name != "joint"]
        both = [(cells["joint"], cells["body"]) for _, cells in parts]
        named = [f"{joint} ({body})" for joint, body in both if joint != body]
        lines = [f"joints (bodies): {', '.join(named)}"] if named else []
    return made(names, max(space(names), NARROWEST)), lines


def tree(style: Style, model: Model) -> Iterator[tuple[str, str, int]]:
    """Each body after its parent, with its branches, and those of a further line below it.

    An only child is placed below its parent in the same column, so a chain prints as a list.
    """
    tee, corner = style.glyph("├─ ", "|- "), style.glyph("└─ ", "`- ")
    bar, blank = style.glyph("│  ", "|  "), "   "
    stack: list[tuple[int, str, str]] = []  # body, its prefix, the prefix of its descendants

    def push(parent: int, margin: str) -> None:
        children = model.children(parent)
        if len(children) == 1 or len(margin) >= len(tee) * DEEPEST:
            stack.extend((i, margin, margin) for i in reversed(children))
            return
        for i in reversed(children):
            last = i == children[-1]
            stack.append((i, margin + (corner if last else tee), margin + (blank if last else bar)))

    push(0, "")
    while stack:
        i, drawn, margin = stack.pop()
        yield drawn, margin, i
        push(i, margin)
