"""Drawings of a robot: its tree, and postures as stick figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.pictures.layout import layout
from kinetree.pictures.operators import skeleton
from kinetree.pictures.plots import plain
from kinetree.pictures.sticks import sticks
from kinetree.soa import InfluenceMatrix

POSTURES = 25  # most postures in one figure
NAMED = 60  # most bodies that are labelled


def tree(model: Model | InfluenceMatrix, *, title: str | None = None) -> Any:
    """A drawing of the kinematic tree: a dot for each body, sized by its mass and coloured by its joint type.

    The tree of an influence matrix has numbered dots.

    Returns:
        The matplotlib figure.
    """
    if isinstance(model, InfluenceMatrix):
        return skeleton(model.topology.parents, title=title)
    plt = needed("matplotlib.pyplot", "tree")
    place = layout(model.parents)
    depth, width = place[:, 0].max() + 1, place[:, 1].max() + 1
    figure, axis = plt.subplots(figsize=(min(1.2 + 1.5 * depth, 40), min(1.0 + 0.62 * width, 40)))
    heaviest = max((float(body.inertia.mass) for body in model.bodies), default=0.0) or 1.0
    named = model.nbodies <= NAMED
    for i, body in enumerate(model.bodies, 1):
        (x0, y0), (x1, y1) = place[body.parent], place[i]
        mimic = i in model.layout.follows
        axis.plot([x0, x0 + 0.35, x1], [y0, y1, y1], color="0.65", linewidth=1.2, zorder=1,
                  linestyle=":" if mimic else "-")  # fmt: skip
        dot = 30 + 220 * float(body.inertia.mass) / heaviest
        axis.scatter([x1], [y1], s=dot, color=_COLORS.get(body.joint.type_name, "C7"), zorder=2)
        if named:
            axis.annotate(plain(body.name), (x1, y1), (0, 10), textcoords="offset points", ha="center",
                          fontsize=7.5, va="bottom")  # fmt: skip
    axis.scatter([0], [place[0][1]], s=60, marker="s", color="0.25", zorder=2)
    axis.annotate("world", place[0], (0, 10), textcoords="offset points", ha="center", fontsize=7.5)
    kinds = dict.fromkeys(body.joint.type_name for body in model.bodies)
    for kind in kinds:
        axis.scatter([], [], color=_COLORS.get(kind, "C7"), label=kind)
    axis.legend(
        fontsize=7.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=len(kinds) or 1
    )
    axis.set_title(plain(title if title is not None else model.name), fontsize=11)
    axis.set_axis_off()
    axis.set_ylim(width - 0.5, -0.75)
    axis.margins(x=0.08)
    figure.tight_layout()
    return figure


_COLORS = {
    "revolute": "C0", "prismatic": "C1", "helical": "C2", "cylindrical": "C4", "universal": "C5",
    "planar": "C8", "planar_twist": "C8", "spherical": "C6", "free": "C3", "fixed": "0.6",
}  # fmt: skip


def posture(
    model: Model, q: Any = None, *, title: str | None = None, view: tuple[float, float] = (18, -60)
) -> Any:
    """The robot as a stick figure: joints as dots, centres of mass as crosses.

    Args:
        q: one posture (nq,), or several (..., nq), overlaid from pale to dark; None for the neutral one.
        view: elevation and azimuth of the camera, degrees.

    Returns:
        The matplotlib figure.
    """
    plt = needed("matplotlib.pyplot", "posture")
    given = np.asarray(model.neutral() if q is None else q, float)
    if given.ndim == 0 or given.shape[-1] != model.nq:
        raise ArgumentError(
            f"posture: q has shape {given.shape}, but '{model.name}' takes (..., {model.nq}): "
            f"{model.describe_coordinates()}"
        )
    rows = given.reshape(-1, model.nq)
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, POSTURES).astype(int))]
    figure = plt.figure(figsize=(5.2, 5.2))
    axis = figure.add_subplot(projection="3d", computed_zorder=False)
    points = []
    for k, row in enumerate(rows):
        found = sticks(model, row)
        last = k == len(rows) - 1
        strength = 1.0 if last else 0.12 + 0.4 * k / len(rows)
        for line, body in zip(found.lines, found.bodies):
            axis.plot(*line.T, color="0.45" if body == 0 else "C0", linewidth=3 if last else 1.5,
                      alpha=strength, solid_capstyle="round", zorder=k + 1)  # fmt: skip
        if last:
            axis.scatter(*found.joints.T, s=26, color="0.15", zorder=k + 2, depthshade=False, label="joints")
            axis.scatter(*found.centers.T, s=26, color="C3", marker="x", zorder=k + 3, depthshade=False,
                         label="centres of mass")  # fmt: skip
        points += [found.lines.reshape(-1, 3), found.joints]
    _frame(axis, np.concatenate(points))
    axis.locator_params(nbins=4)
    axis.view_init(*view)
    axis.set(xlabel="x, m", ylabel="y, m", zlabel="z, m")
    axis.legend(fontsize=7.5, frameon=False, loc="upper left")
    axis.set_title(plain(title if title is not None else model.name), fontsize=11)
    figure.tight_layout()
    return figure


def _frame(axis: Any, points: np.ndarray) -> None:
    """Fit the axes to the points, with equal scales."""
    low, high = points.min(0), points.max(0)
    half = max(float((high - low).max()) / 2, 1e-3) * 1.05
    middle = (low + high) / 2
    for k, name in enumerate("xyz"):
        getattr(axis, f"set_{name}lim")(middle[k] - half, middle[k] + half)
    axis.set_box_aspect((1, 1, 1))


__all__ = ["posture", "tree"]
