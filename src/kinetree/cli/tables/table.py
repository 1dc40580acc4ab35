"""A table of the thesis: the printed values, those computed here, and how they compare."""

from __future__ import annotations

import math
import tomllib
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ABSENT = "-"  # no printed value


class Grown(NamedTuple):
    """The values of a row whose power of N is known."""

    here: tuple[float, ...]
    power: float | None = None


@dataclass(frozen=True)
class Row:
    """One row: the numbers as printed, and those computed here.

    grows: the power of N that the text claims, if any.
    """

    name: str
    printed: tuple[str, ...]
    here: tuple[float, ...] = ()
    grows: float | None = None
    known_power: float | None = None

    @property
    def is_printed(self) -> bool:
        return any(text != ABSENT for text in self.printed)

    @property
    def agrees(self) -> bool:
        """Whether the values computed here have the printed digits."""
        pairs = zip(self.printed, self.here, strict=True) if self.here else [("", 0.0)]
        return all(text in (ABSENT, round_as(text, x)) for text, x in pairs)

    def power(self, sizes: list[float]) -> float:
        """The power of N with which the numbers grow: known, or fitted to the last three."""
        if self.known_power is not None:
            return self.known_power
        last = len(self.here) - 1
        first = max(0, last - 2)
        return math.log(self.here[last] / self.here[first]) / math.log(sizes[last] / sizes[first])


@dataclass(frozen=True)
class Table:
    """A table or figure; `id` is its number in print, `item` its place in the catalogue of sources."""

    id: str
    item: str
    title: str
    measure: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    faster: bool = False  # a table of times, compared by the speedup

    @property
    def is_curve(self) -> bool:
        """Whether the columns are sizes N."""
        return all(column.isdigit() for column in self.columns)

    @property
    def sizes(self) -> list[float]:
        return [float(column) for column in self.columns]

    @property
    def compares(self) -> bool:
        """Whether the printed digits should be reproduced: not for rounding errors and times."""
        return not self.faster and not self.is_curve and "e-" not in self.rows[0].printed[0]

    def filled(self, found: Any) -> Table:
        """The table with the computed values, row by row."""
        parts = [x if isinstance(x, Grown) else Grown(x) for x in found]
        rows = (
            replace(row, here=tuple(map(float, x.here)), known_power=x.power)
            for row, x in zip(self.rows, parts, strict=True)
        )
        return replace(self, rows=tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data."""
        plain = asdict(self)
        for row, given in zip(plain["rows"], self.rows, strict=True):
            row["here"] = [x if math.isfinite(x) else None for x in given.here]
            if self.compares:
                row["agrees"] = given.agrees
            if self.is_curve:
                row["power"] = given.power(self.sizes)
        return plain


def round_as(text: str, x: float) -> str:
    """A number with as many decimals as the text has."""
    return f"{x:.{len(text.partition('.')[2])}f}"


@cache
def printed() -> tuple[Table, ...]:
    """All tables and figures as printed, before anything is computed."""
    data = tomllib.loads((Path(__file__).parent / "printed.toml").read_text("utf-8"))
    found = []
    for given in data["table"]:
        named, claims = given["rows"], given.pop("grows", [None] * len(given["rows"]))
        rows = (Row(name, tuple(x), grows=g) for (name, *x), g in zip(named, claims, strict=True))
        lists = {"rows": rows, "columns": given["columns"], "notes": given.get("notes", ())}
        found.append(Table(**given | {key: tuple(value) for key, value in lists.items()}))
    return tuple(found)
