"""Tables as text of 80 columns, as Markdown, and as plots."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

from kinetree.cli.tables.table import ABSENT, Row, Table, round_as
from kinetree.cli.text import Style
from kinetree.cli.text import table as aligned
from kinetree.extras import needed

WIDTH = 80


def heading(table: Table) -> str:
    return table.title if table.is_curve else f"Table {table.id}: {table.title}"


def cells(table: Table) -> list[list[str]]:
    """The lines of a table: name, origin ("printed" or "here"), numbers, verdict."""
    found = []
    for row in table.rows:
        if row.is_printed:
            found.append([row.name, "printed", *row.printed, ""])
        digits = [ABSENT] * len(row.here) if table.faster else row.printed
        numbers = [shown(text, x) for text, x in zip(digits, row.here, strict=True)]
        found.append(["" if row.is_printed else row.name, "here", *numbers, verdict(table, row)])
    return found


def shown(text: str, x: float) -> str:
    """A number with the printed number of decimals, or with three digits if these would show zero."""
    if math.isnan(x):
        return ABSENT
    if text == ABSENT or "e" in text or float(round_as(text, x)) == 0.0:
        return f"{x:,.0f}" if x >= 1000 else f"{x:.1e}" if x < 1e-9 else f"{x:.3g}"
    return round_as(text, x)


def verdict(table: Table, row: Row) -> str:
    """The verdict on a row: how it grows, the speedup, or whether it agrees with print."""
    if table.is_curve:
        claim = "" if row.grows is None else f", printed N^{row.grows:g}"
        power = row.power(table.sizes)
        return f"N^{power:g}{claim}" if row.known_power is not None else f"N^{power:.2f}{claim}"
    if table.faster:
        ratios = [float(text) / x for text, x in zip(row.printed, row.here, strict=True) if text != ABSENT]
        return f"{min(ratios):.0f} to {max(ratios):.0f} times" if ratios else ""
    if not table.compares:
        return ""
    return "as printed" if row.agrees else "see below"


def text(table: Table, style: Style) -> str:
    """The table in columns, its notes below."""
    lines = [style.bold(line) for line in textwrap.wrap(heading(table), WIDTH)]
    body = aligned(cells(table), ["", "", *table.columns, ""], "<<" + ">" * len(table.columns) + "<")
    notes = [textwrap.fill(note, WIDTH, initial_indent="- ", subsequent_indent="  ") for note in table.notes]
    return "\n".join([*lines, body, *map(style.dim, notes)])


def markdown(table: Table) -> str:
    """The table as Markdown."""
    rows = [["", "", *table.columns, ""], ["---", "---", *["--:"] * len(table.columns), "---"], *cells(table)]
    lines = [f"## {heading(table)}", "", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]).rstrip()


def plot(table: Table, folder: Path) -> None:
    """The table as `table-ID.png`: circles are printed values, dots and lines are computed here."""
    figure_of = needed("matplotlib.figure", "kinetree tables --plots").Figure
    figure = figure_of(figsize=(6.4, 4.2), layout="constrained")
    axis = figure.subplots()
    places = table.sizes if table.is_curve else list(range(len(table.columns)))
    for k, row in enumerate(table.rows):
        colour = f"C{k}"
        axis.plot(places, [x or math.nan for x in row.here], "o-", color=colour, markersize=4, label=row.name)
        if row.is_printed:
            marks = [math.nan if text == ABSENT else float(text) for text in row.printed]
            axis.plot(places, marks, "o", color=colour, markersize=10, fillstyle="none")
        if row.grows is not None:
            slope(axis, table.sizes, row, colour)
    axis.set_yscale("log")
    if table.is_curve:
        axis.set_xscale("log", base=2)
        axis.set_xlabel("number of bodies or degrees of freedom")
    axis.set_xticks(places, table.columns)
    axis.set_title("\n".join(textwrap.wrap(heading(table), 60)), fontsize=10, loc="left")
    axis.grid(True, alpha=0.25)
    meaning = "dotted: as claimed in print" if table.is_curve else "circles: printed; dots: here"
    axis.legend(fontsize=8, title=meaning, title_fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"table-{table.id}.png", dpi=150)


def slope(axis: Any, sizes: list[float], row: Row, colour: str) -> None:
    """The power claimed in print, as a dotted line through the last point."""
    assert row.grows is not None
    line = [row.here[-1] * (n / sizes[-1]) ** row.grows for n in sizes]
    axis.plot(sizes, line, ":", color=colour, linewidth=1)
