"""Maps of the accuracy of rotor approximations."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.errors import ArgumentError, ModelError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.pictures.plots import plain
from kinetree.rotor_map import axial_inertia, rotor_error_map

QUANTITIES = ("acceleration", "bias", "mass_matrix")
TITLES = {
    "reflected": "reflected: mass, and n\u00b2J on the diagonal",
    "lumped": "lumped: mass alone",
    "none": "none: left out",
}


def rotor_map(
    model: Model, ratios: Any = None, inertias: Any = None, quantity: str = "acceleration", states: Any = 20
) -> Any:
    """A figure of the error of each rotor approximation, over gear ratio and rotor inertia.

    Contours are at 1 %, 10 % and 100 %; dots are the rotors of the robot.

    Args:
        model: a robot with rotors.
        ratios, inertias: the values to try; by default around those of the robot.
        quantity: "acceleration", "bias" or "mass_matrix", whose relative error is shown.
        states: as for `rotor_error_map`.

    Returns:
        The matplotlib figure.
    """
    plt = needed("matplotlib.pyplot", "rotor_map")
    if quantity not in QUANTITIES:
        raise ArgumentError(f"rotor_map: the quantity must be {', '.join(QUANTITIES)}, not {quantity!r}")
    if not model.rotors:
        raise ModelError(f"rotor_map: model '{model.name}' has no rotors")
    own = [(max(abs(float(x)) for x in r.ratio), float(axial_inertia(r))) for r in model.rotors]
    n = _around([x for x, _ in own]) if ratios is None else ratios
    J = _around([x for _, x in own]) if inertias is None else inertias
    figure, axes = plt.subplots(1, len(TITLES), figsize=(11.0, 3.9), sharex=True, sharey=True)
    for axis, (mode, title) in zip(axes, TITLES.items(), strict=True):
        found = rotor_error_map(model, n, J, mode, states)
        levels = np.log10(np.maximum(getattr(found, quantity), 1e-6)).T
        image = axis.pcolormesh(found.ratios, found.inertias, levels, vmin=-4, vmax=1, cmap="viridis",
                                shading="gouraud")  # fmt: skip
        lines = axis.contour(found.ratios, found.inertias, levels, [-2, -1, 0], colors="white",
                             linewidths=0.9, linestyles="solid")  # fmt: skip
        axis.clabel(lines, fmt={-2: "1 %", -1: "10 %", 0: "100 %"}, fontsize=7)
        axis.scatter(*np.array(own).T, s=18, color="C3", edgecolor="white", linewidth=0.6, zorder=3)
        axis.set(xscale="log", yscale="log", xlabel="gear ratio",
                 xlim=found.ratios[[0, -1]], ylim=found.inertias[[0, -1]])  # fmt: skip
        axis.set_title(title, loc="left", fontsize=9)
    axes[0].set_ylabel("rotor inertia about its axis, kg m\u00b2")
    bar = figure.colorbar(image, ax=axes, ticks=range(-4, 2), pad=0.02, fraction=0.03, extend="both")
    bar.ax.set_yticklabels(["0.01 %", "0.1 %", "1 %", "10 %", "100 %", "1000 %"], fontsize=8)
    title = f"{model.name}: error of the {quantity.replace('_', ' ')} if rotors are approximated"
    figure.suptitle(plain(title), fontsize=11, y=1.0)
    return figure


def _around(values: list[float]) -> Any:
    """A range of values from well below to well above those given."""
    return np.geomspace(min(values) / 30, max(values) * 30, 45)
