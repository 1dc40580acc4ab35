"""One MJCF file here and in MuJoCo, at one state: everything about its motion, side by side."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.interop.robots import eager

import kinetree as kt
from kinetree.interop import mujoco_maps
from kinetree.interop.mujoco import mass_matrix_of
from kinetree.io.report import Finding

TOLERANCE = 1e-7
JOINTS = "springs, dampers and friction of joints"
OTHER = "gravity compensation, fluids and tendons"


class RefusedError(Exception):
    """MuJoCo does not take the file."""


@dataclass
class Seen:
    """What a file means here and in MuJoCo: arrays by name, and the findings."""

    ours: dict[str, np.ndarray]
    theirs: dict[str, np.ndarray]
    findings: list[Finding]
    scales: dict[str, float] = field(default_factory=dict)  # below a thousandth of which all is rounding

    def agrees(self, name: str) -> bool:
        return self.same(name, self.ours[name], self.theirs[name])

    def same(self, name: str, a: np.ndarray, b: np.ndarray) -> bool:
        if a.shape != b.shape:
            return False
        size = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0))
        least = max(1e-3 * self.scales.get(name, 0.0), 1e-9)
        return bool(np.allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE * max(size, least)))

    def moved(self, other: Seen) -> bool:
        """Whether something is otherwise in MuJoCo."""
        return any(not self.same(name, self.theirs[name], other.theirs[name]) for name in self.theirs)


def seen(path: Path) -> Seen:
    """Load a file here and there, and evaluate both at one state.

    Raises:
        RefusedError: MuJoCo does not take it.
        kt.errors.KinetreeError: it is refused here, or joints are not the same.
    """
    import mujoco

    try:
        twin = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise RefusedError(str(error)) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kt.errors.FileWarning)
        model = kt.load(path)
    maps = mujoco_maps(model, twin)
    q, v = model.random_state(np.random.default_rng(7))
    data = mujoco.MjData(twin)
    twin.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data.qpos, data.qvel = maps.q(q), maps.v(q, v)
    mujoco.mj_forward(twin, data)
    M, everything = mass_matrix_of(mujoco, twin, data), np.array(data.qfrc_passive)
    twin.tendon_stiffness[:] = twin.tendon_damping[:] = twin.actuator_damping[:] = 0.0
    mujoco.mj_forward(twin, data)
    sliding = np.array(twin.dof_frictionloss) * np.sign(data.qvel)
    if twin.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS:
        sliding = 0 * sliding
    theirs = {
        "mass matrix": maps.mass_matrix(q, M),
        "bias": maps.bias_force(q, v, M, np.array(data.qfrc_bias)),
        JOINTS: maps.tau_back(data.qpos, data.qfrc_spring + data.qfrc_damper - sliding),
        OTHER: maps.tau_back(data.qpos, _rest(data, everything)),
    }
    ours = {
        "mass matrix": eager("mass_matrix", model, q),
        "bias": eager("bias_force", model, q, v),
        JOINTS: eager("passive_force", model, q, v),
        OTHER: np.zeros(model.nv),
    }
    _add_limits(mujoco, twin, model, ours, theirs)
    _add_places(mujoco, twin, data, model, q, ours, theirs)
    weight = float(np.max(np.abs(theirs["mass matrix"]), initial=0.0)) * (9.81 + float(v @ v))
    return Seen(ours, theirs, list(model.report.findings), {"bias": weight})


def _rest(data, everything) -> np.ndarray:
    """Passive forces that are neither of the springs nor of the dampers of joints, without rounding."""
    rest = everything - data.qfrc_spring - data.qfrc_damper
    return np.where(np.abs(rest) < 1e-12 * np.max(np.abs(everything), initial=0.0), 0.0, rest)


def _add_limits(mujoco, twin, model, ours, theirs) -> None:
    here, there = [], []
    for j in range(twin.njnt):
        name = mujoco.mj_id2name(twin, mujoco.mjtObj.mjOBJ_JOINT, j)
        if name in model.joint_names and twin.jnt_type[j] >= 2:
            limits = model.bodies[model.joint_names.index(name)].limits
            here.append((limits.lower[0], limits.upper[0], limits.effort[0]))
            bounds = twin.jnt_range[j] if twin.jnt_limited[j] else (-np.inf, np.inf)
            force = np.abs(twin.jnt_actfrcrange[j]).max() if twin.jnt_actfrclimited[j] else np.inf
            there.append((*bounds, force))
    ours["limits"], theirs["limits"] = (np.array(x, dtype=float).reshape(-1, 3) for x in (here, there))


def _add_places(mujoco, twin, data, model, q, ours, theirs) -> None:
    """Where bodies and sites are."""
    here, there = [], []
    placements = np.asarray(kt.placements(model, q, target="eager"))
    for kind, count, p, R in (
        (mujoco.mjtObj.mjOBJ_BODY, twin.nbody, data.xpos, data.xmat),
        (mujoco.mjtObj.mjOBJ_SITE, twin.nsite, data.site_xpos, data.site_xmat),
    ):
        for k in range(1 if kind == mujoco.mjtObj.mjOBJ_BODY else 0, count):
            name = mujoco.mj_id2name(twin, kind, k)
            if kind == mujoco.mjtObj.mjOBJ_SITE and f"{name}_site" in model.frame_names:
                name = f"{name}_site"  # a body has its name
            known = name in model.frame_names or name in model.body_names
            if name is None or not known or (kind == mujoco.mjtObj.mjOBJ_SITE and name in model.body_names):
                continue
            body, X = model.frame(name)
            T = placements[body - 1] if body else np.eye(4)
            E, r = np.array(X.rotation, dtype=float), np.array(X.translation, dtype=float)
            here.append(np.concatenate([T[:3, :3] @ r + T[:3, 3], (T[:3, :3] @ E.T).ravel()]))
            there.append(np.concatenate([p[k], R[k]]))
    ours["places"], theirs["places"] = (np.array(x, dtype=float).reshape(-1, 12) for x in (here, there))
