"""A trajectory in a notebook: a summary and a small curve for each velocity, without a plotting package."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from kinetree.motion.files import coordinate_names

if TYPE_CHECKING:
    from kinetree.motion.trajectory import Trajectory

ROWS = 30  # coordinates shown at most
WIDTH, HEIGHT, POINTS = 220, 28, 200


def html_of(run: Trajectory) -> str:
    """The summary, then a curve with its range for each velocity and for the energy, of the first state."""
    state = run[(0,) * len(run.batch)] if run.batch else run
    names = coordinate_names(run.model)["v"]
    rows = [("energy, J", state.energy)] + [(f"velocity of {n}", x) for n, x in zip(names, state.v.T)]
    lines = [f"<p>{escape(repr(run))}</p>", "<table>"]
    header = ("", "", "least", "most", "last")
    lines.append("<tr>" + "".join(f"<th>{cell}</th>" for cell in header) + "</tr>")
    for label, values in rows[: ROWS + 1]:
        good = values[np.isfinite(values)]
        numbers = (good.min(), good.max(), good[-1]) if len(good) else (np.nan,) * 3
        cells = "".join(f"<td>{x:.4g}</td>" for x in numbers)
        lines.append(f"<tr><td>{escape(label)}</td><td>{curve(values)}</td>{cells}</tr>")
    lines.append("</table>")
    if len(rows) > ROWS + 1:
        lines.append(f"<p>and {len(rows) - ROWS - 1} more</p>")
    return "\n".join(lines)


def curve(values: np.ndarray) -> str:
    """A small line plot of the values, as SVG."""
    shown = values[np.unique(np.linspace(0, len(values) - 1, POINTS).astype(int))]
    shown = shown[np.isfinite(shown)]
    low, high = (shown.min(), shown.max()) if len(shown) else (0.0, 1.0)
    x = np.linspace(2, WIDTH - 2, max(len(shown), 1))
    y = HEIGHT - 3 - (HEIGHT - 6) * (shown - low) / ((high - low) or 1.0)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y))
    line = f'<polyline points="{points}" fill="none" stroke="#1f77b4" stroke-width="1.2"/>'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">{line}</svg>'
