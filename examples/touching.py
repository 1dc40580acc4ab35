"""Boxes against boxes: a stack with mass ratios of a thousand, and a box that slides into another.

The sliding box is compared with MuJoCo, if it is installed.

    python examples/touching.py 10          a stack of ten; writes touching.png
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt

HALF = 0.1  # m
BOX = kt.Box((HALF, HALF, HALF))


def boxes(masses: Any, friction: float, **contact: float) -> kt.Model:
    """Free boxes, each of which can touch the next."""
    builder = kt.ModelBuilder("boxes")
    for k, mass in enumerate(masses):
        inertia = kt.zoo.solid(BOX, mass=mass).bodies[0].inertia
        builder.add_body(f"box_{k}", None, kt.Free(), inertia=inertia)
        builder.add_geometry(f"box_{k}", BOX, friction=friction, **contact)
    for k in range(len(masses) - 1):
        builder.add_pair(f"box_{k + 1}", f"box_{k}")
    return builder.add_ground(kt.Ground()).build()


def at(model: kt.Model, *positions: Any) -> np.ndarray:
    """All boxes upright at the given positions."""
    q = model.neutral().reshape(-1, 7)
    q[:, 4:] = positions
    return q.reshape(-1)


def stack(count: int) -> tuple[Any, np.ndarray]:
    """A run of a stack, and the masses of its boxes."""
    masses = np.where(np.arange(count) % 2, 1000.0, 1.0)
    model = boxes(masses, 0.8, dissipation=5.0)
    q = at(model, *((0, 0, HALF * (1 + 2 * k)) for k in range(count)))
    return kt.simulate(model, q, np.zeros(model.nv), duration=3.0, dt=2e-3, record=10), masses


def collision() -> Any:
    """A run of a box that slides into another one of twice its mass."""
    model = boxes([1.0, 2.0], 0.3)
    v = np.zeros(12)
    v[3] = 2.0
    return kt.simulate(model, at(model, (0, 0, HALF), (0.5, 0, HALF)), v, duration=1.0, dt=1e-3)


def mujoco(run: Any) -> np.ndarray | None:
    """The positions (T, boxes, 3) that MuJoCo finds for a run of boxes; None if it is not installed."""
    try:
        import mujoco as mj
    except ImportError:
        return None
    model, dt = run.model, run.settings["dt"]
    rough = model.geometries[0].friction
    bodies = "".join(
        f'<body><freejoint/><geom type="box" size="{HALF} {HALF} {HALF}" mass="{body.inertia.mass}"/></body>'
        for body in model.bodies
    )
    text = f"""<mujoco><option timestep="{dt}" cone="elliptic" impratio="10"/>
      <default><geom friction="{rough}" solref="0.01 1"/></default>
      <worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>"""
    other = mj.MjModel.from_xml_string(text)
    data = mj.MjData(other)
    place = run.q[0].reshape(-1, 7)
    data.qpos[:] = np.concatenate([place[:, 4:], place[:, [3, 0, 1, 2]]], axis=1).reshape(-1)
    speed = run.v[0].reshape(-1, 6)
    data.qvel[:] = np.concatenate([speed[:, 3:], speed[:, :3]], axis=1).reshape(-1)
    found = [data.qpos.reshape(-1, 7)[:, :3].copy()]
    for t in run.t[1:]:
        while data.time < t - dt / 2:
            mj.mj_step(other, data)
        found.append(data.qpos.reshape(-1, 7)[:, :3].copy())
    return np.array(found)


def interfaces(run: Any) -> np.ndarray:
    """(T, boxes): the normal force below each box, N."""
    first = len(run.model.contact_points)
    ground = run.contact_force[:, :first, 2].sum(1)
    pairs = run.contact_force[:, first:, 2].reshape(len(run.t), -1, 9).sum(2)
    return np.concatenate([ground[:, None], pairs], axis=1)


def draw(path: Path, tower: Any, masses: np.ndarray, slide: Any) -> None:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    above = 9.81 * np.cumsum(masses[::-1])[::-1]
    for k, carried in enumerate((interfaces(tower) / above).T):
        left.plot(tower.t, carried, color=plt.cm.viridis(k / len(masses)), lw=1)
    left.set(xlabel="time, s", ylabel="force below each box / weight above it", ylim=(0.5, 1.5))
    left.set_title(f"{len(masses)} boxes, by turns of 1 kg and 1,000 kg", fontsize=10)
    theirs = mujoco(slide)
    for k, color in enumerate(("tab:blue", "tab:orange")):
        right.plot(slide.t, slide.q.reshape(-1, 2, 7)[:, k, 4], color=color, label=f"box of {k + 1} kg")
        if theirs is not None:
            right.plot(slide.t, theirs[:, k, 0], "--", color=color, label="the same, MuJoCo")
    right.set(xlabel="time, s", ylabel="x, m")
    right.set_title("a box slides into another", fontsize=10)
    right.legend(fontsize=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main(folder: Path = Path(), count: int = 3) -> dict[str, float]:
    tower, masses = stack(count)
    slide = collision()
    above = 9.81 * np.cumsum(masses[::-1])[::-1]
    stop = slide.q[-1].reshape(2, 7)[:, 4]
    theirs = mujoco(slide)
    draw(folder / "touching.png", tower, masses, slide)
    found = {
        "force below a box / weight above it - 1": float(abs(interfaces(tower)[-1] / above - 1).max()),
        "boxes of the stack moved by, m": float(abs(tower.q[-1] - tower.q[0]).max()),
        "first box stops at x, m": float(stop[0]),
        "second box stops at x, m": float(stop[1]),
    }
    if theirs is not None:
        found["difference from MuJoCo, m"] = float(abs(theirs[-1, :, 0] - stop).max())
    return found


if __name__ == "__main__":
    for name, value in main(count=int(sys.argv[1]) if len(sys.argv) > 1 else 3).items():
        print(f"{name}: {value:.4g}")
