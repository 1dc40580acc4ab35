"""`python -m benchmarks.gpu_page gpu.json`: the tables of docs/gpu.md, and its picture over batch sizes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.corpus import between

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "gpu.md", DOCS / "gpu-batches.png"
PEAK = {"float32": 67e12, "float64": 34e12}  # operations per second of an H200, by its data sheet
SPELLED = {"ID": "inverse dynamics", "FD": "forward dynamics", "M": "mass matrix"}
GRID = 1024, 1e9 / 12.7  # batch size and inverse dynamics per second, as published for GRiD


def by_dtype(rows: Iterable[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows that differ only in precision, combined."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        found.setdefault(tuple(row[n] for n in names), {})[row["dtype"]] = row
    return found


def functions(found: dict[str, Any]) -> list[str]:
    """States per second, with their bytes and operations."""
    lines = [
        "| billions a second | bytes and operations | float32 | of a copy's speed | of the peak | float64 "
        "| of a copy's speed | of the peak |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for (robot, function), kinds in by_dtype(found["functions"], "robot", "function").items():
        cells = [f"{robot}, {SPELLED[function]}", f"{kinds['float32']['bytes']}, {kinds['float32']['flops']}"]
        for dtype, peak in PEAK.items():
            row = kinds[dtype]
            cells.append(f"{row['rate'] / 1e9:.3g}")
            cells += [f"{row['traffic'] / found['copy']:.0%}", f"{row['work'] / peak:.0%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def loops(found: dict[str, Any]) -> list[str]:
    """Steps per second of time loops."""
    lines = [
        "| billions of steps a second | operations a step | float32 | of the peak | float64 | of the peak |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    rows = by_dtype(found["simulations"], "robot", "integrator", "joints")
    for (robot, integrator, joints), kinds in rows.items():
        said = ", with damping, friction and stops" if joints else ""
        cells = [f"{robot}, {integrator}{said}", f"{kinds['float32']['flops']}"]
        for dtype, peak in PEAK.items():
            cells += [f"{kinds[dtype]['rate'] / 1e9:.3g}", f"{kinds[dtype]['work'] / peak:.0%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def picture(found: dict[str, Any], path: Path) -> None:
    """States per second over batch size."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.2), constrained_layout=True)
    colors = dict(zip(dict.fromkeys(row["robot"] for row in found["batches"]), ("C0", "C1", "C2")))
    curves: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in found["batches"]:
        curves.setdefault((row["robot"], row["function"]), []).append((row["states"], row["rate"]))
    for (robot, function), points in curves.items():
        style = {"color": colors[robot], "linestyle": "-" if function == "ID" else "--"}
        axes.plot(*zip(*points, strict=True), label=f"{robot}, {function}", **style)
    axes.plot(*GRID, "kx", label="GRiD, 7-axis arm, ID (published)")
    axes.set(xscale="log", yscale="log", xlabel="states in a batch", ylabel="states a second")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize="small", frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    found = json.loads(Path(sys.argv[1]).read_text())
    text = PAGE.read_text()
    for name, lines in (("figures", functions(found)), ("time loops", loops(found))):
        if len(lines) > 2:
            text = between(text, name, "\n".join(lines))
            print(*lines, sep="\n")
    PAGE.write_text(text)
    if found["batches"]:
        picture(found, PICTURE)


if __name__ == "__main__":
    main()
