"""Plots of a trajectory over time: positions, velocities, forces, energy and momentum."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.motion.files import coordinate_names

if TYPE_CHECKING:
    from kinetree.motion import Trajectory

PANELS = ("positions", "velocities", "forces", "energy", "drift", "momentum")
STATES = 50  # most states of a batch that are drawn
LABELS = 10  # most lines with a legend
POINTS = 4000  # most records that are drawn


def plot(trajectory: Trajectory, panels: Any = None, *, title: str | None = None) -> Any:
    """A figure of the run, with one panel for each name in `panels`.

    Args:
        panels: some of "positions", "velocities", "forces", "energy", "drift" (the energy less the work done
            on the robot) and "momentum"; None for all that are relevant to this run.
        title: replaces the robot's name.

    Returns:
        The matplotlib figure; save it with `figure.savefig("run.png")`.
    """
    plt = needed("matplotlib.pyplot", "plot")
    chosen = _chosen(trajectory, panels)
    columns = 1 if len(chosen) == 1 else 2
    rows = -(-len(chosen) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.2 * columns, 2.6 * rows + 0.5), sharex=True, squeeze=False
    )
    run = _thinned(trajectory)
    for axis, name in zip(axes.flat, chosen):
        _PANELS[name](axis, run)
        axis.set_title(name, loc="left", fontsize=10, fontweight="bold")
        axis.grid(True, alpha=0.25, linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.01)
    for axis in axes.flat[len(chosen) :]:
        axis.set_visible(False)
    for k, axis in enumerate(axes.flat[: len(chosen)]):
        axis.tick_params(labelbottom=k + columns >= len(chosen))
        if k + columns >= len(chosen):
            axis.set_xlabel("time, s")
    figure.suptitle(plain(title if title is not None else _title(trajectory)), fontsize=11)
    figure.tight_layout()
    return figure


def plain(text: str) -> str:
    """Text with dollar signs escaped, so that they start no formula."""
    return text.replace("$", r"\$")


def _chosen(run: Trajectory, panels: Any) -> list[str]:
    if panels is None:
        skipped = set() if np.any(run.tau) else {"forces"}
        skipped |= set() if run.model.nq else {"positions", "velocities"}
        return [name for name in PANELS if name not in skipped]
    names = [panels] if isinstance(panels, str) else list(panels)
    unknown = [name for name in names if name not in PANELS]
    if unknown or not names:
        given = repr(unknown[0]) if unknown else "none"
        raise ArgumentError(f"plot: there is no panel {given}; choose from {', '.join(PANELS)}")
    return names


def _thinned(run: Trajectory) -> Trajectory:
    """The run with at most `STATES` states and batch axes merged into one."""
    states = [index for _, index in zip(range(STATES), np.ndindex(run.batch))]
    return run[tuple(np.array(states).T)] if run.batch else run


def _title(run: Trajectory) -> str:
    count = int(np.prod(run.batch))
    shown = f", {min(count, STATES)} of {count:,} states" if run.batch else ""
    integrator, dt = run.settings.get("integrator"), run.settings.get("dt")
    how = f" ({integrator}, steps of {dt:g} s)" if integrator and dt else ""
    return f"{run.model.name}{shown}{how}"


def _lines(axis: Any, run: Trajectory, values: Any, labels: list[str], unit: str) -> None:
    """A line for each component of `values` (..., T, n); the states of a batch share its colour."""
    colors = needed("matplotlib", "plot").colormaps["turbo"](np.linspace(0.08, 0.92, max(len(labels), 1)))
    few = len(labels) <= LABELS
    stride = max(1, -(-len(run.t) // POINTS))
    t, values = run.t[::stride], np.asarray(values)[..., ::stride, :]
    flat = values.reshape(prod(values.shape[:-2]), *values.shape[-2:])
    for k, label in enumerate(labels if len(flat) else ()):
        color = f"C{k}" if few else colors[k]
        style = {"color": color, "linewidth": 1.2 if len(flat) == 1 else 0.6}
        axis.plot(t, flat[0, :, k], label=plain(label), **style)
        if len(flat) > 1:
            axis.plot(t, flat[1:, :, k].T, alpha=0.35, **style)
    axis.set_ylabel(unit)
    if few and len(labels) > 1 and len(flat):
        columns = len(labels) if len(labels) <= 4 else -(-len(labels) // 2)
        # above the panel, where it hides no line
        axis.legend(fontsize=7, ncols=columns, frameon=False, handlelength=1.2, columnspacing=1.2,
                    loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)  # fmt: skip


def _positions(axis: Any, run: Trajectory) -> None:
    _lines(axis, run, run.q, coordinate_names(run.model)["q"], "rad, m")


def _velocities(axis: Any, run: Trajectory) -> None:
    _lines(axis, run, run.v, coordinate_names(run.model)["v"], "rad/s, m/s")


def _forces(axis: Any, run: Trajectory) -> None:
    _lines(axis, run, run.tau, coordinate_names(run.model)["v"], "N m, N")


def _energy(axis: Any, run: Trajectory) -> None:
    parts = {"kinetic": run.kinetic_energy, "potential": run.potential_energy, "total": run.energy}
    _lines(axis, run, np.stack(list(parts.values()), -1), list(parts), "J")


def _drift(axis: Any, run: Trajectory) -> None:
    parts = {"energy - work": run.energy_error}
    _lines(axis, run, np.stack(list(parts.values()), -1), list(parts), "J")


def _momentum(axis: Any, run: Trajectory) -> None:
    names = [f"{kind} {letter}" for kind in ("angular", "linear") for letter in "xyz"]
    _lines(axis, run, run.momentum, names, "N m s, N s")


_PANELS = {
    "positions": _positions,
    "velocities": _velocities,
    "forces": _forces,
    "energy": _energy,
    "drift": _drift,
    "momentum": _momentum,
}

__all__ = ["PANELS", "plain", "plot"]
