"""`python -m benchmarks.gpu_page gpu.json`: the tables of docs/gpu.md, and its picture over batch sizes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PICTURE = Path(__file__).parents[1] / "docs" / "gpu-batches.png"
PEAK = {"float32": 67e12, "float64": 34e12}  # operations a second of an H200, by its data sheet
SPELLED = {"ID": "inverse dynamics", "FD": "forward dynamics", "M": "mass matrix"}
GRID = 1024, 1e9 / 12.7  # states of a batch, and inverse dynamics a second, that GRiD publishes


def tables(found: dict[str, Any]) -> list[str]:
    """The lines of the tables."""
    lines = [
        "| | float32 | bytes a state | of a copy's speed | of the arithmetic peak | float64 | of a "
        "copy's speed |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found["functions"]:
        rows.setdefault((row["robot"], row["function"]), {})[row["dtype"]] = row
    for (robot, function), kinds in rows.items():
        f, d = kinds["float32"], kinds["float64"]
        share = [row["traffic"] / found["copy"] for row in (f, d)]
        lines.append(
            f"| {robot}, {SPELLED[function]} | {f['rate'] / 1e9:.3g} | {f['bytes']} | {share[0]:.0%} | "
            f"{f['work'] / PEAK['float32']:.0%} | {d['rate'] / 1e9:.3g} | {share[1]:.0%} |"
        )
    lines += ["", "| | float32 | of the arithmetic peak | float64 |", "|---|--:|--:|--:|"]
    loops: dict[tuple, dict[str, Any]] = {}
    for row in found["simulations"]:
        loops.setdefault((row["robot"], row["integrator"], row["joints"]), {})[row["dtype"]] = row
    for (robot, integrator, joints), kinds in loops.items():
        f, d = kinds["float32"], kinds["float64"]
        said = ", with damping, friction and stops" if joints else ""
        lines.append(
            f"| {robot}, {integrator}{said} | {f['rate'] / 1e9:.3g} | {f['work'] / PEAK['float32']:.0%} | "
            f"{d['rate'] / 1e9:.3g} |"
        )
    return lines


def picture(found: dict[str, Any], path: Path) -> None:
    """States a second over the size of the batch."""
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
    print(*tables(found), sep="\n")
    if found["batches"]:
        picture(found, PICTURE)


if __name__ == "__main__":
    main()
