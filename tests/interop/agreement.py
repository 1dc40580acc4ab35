"""`python -m tests.interop.agreement [DIRECTORY] [--write]`: public robot files in kinetree and its peers.

Every file that both libraries read and that lies within both is compared at one random state: mass matrix,
bias force and accelerations. `--write` puts the table into docs/conventions.md.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.corpus import between, mjcfs, quiet, urdfs, without_meshes
from tests.interop.robots import eager
from tests.io.peers import bare_mjcf

import kinetree as kt
from kinetree.interop import Maps, mujoco_maps, pinocchio_maps
from kinetree.interop.mujoco import mass_matrix_of

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
PAGE = ROOT / "docs" / "conventions.md"

# Pinocchio's XML library drops an inertial with a line break inside a number; kinetree keeps it.
DROPPED = {f"unitree_ros__{side}_Hand{w}" for side in ("Left", "Right") for w in ("", "_G1_5010_Wrist")}


class OutsideError(Exception):
    """The file is not within both libraries; says why."""


class Deviation(NamedTuple):
    """Differences in units of the inertia that each coordinate feels, relative to the largest entry."""

    mass_matrix: float
    bias: float
    acceleration: float = 0.0  # 0 where it is not defined, which kinetree says by name
    accelerates: bool = False


def compared(model: kt.Model, maps: Maps, dynamics: Callable, rng: np.random.Generator) -> Deviation:
    """How far a model and its twin are apart; `dynamics(Q, V)` gives the twin's mass matrix and bias."""
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    M_twin, bias_twin = dynamics(maps.q(q), maps.v(q, v))
    M_there, c_there = maps.mass_matrix(q, M_twin), maps.bias_force(q, v, M_twin, bias_twin)
    M, c = eager("mass_matrix", model, q), eager("bias_force", model, q, v)
    d = np.sqrt(np.abs(np.diag(M_there)))
    if not np.any(d):
        raise OutsideError("nothing has mass")
    d = np.maximum(d, 1e-6 * d.max(initial=0.0)) + 1e-300
    speed = 1e-3 * float(np.max(d * (9.81 + v @ v), initial=0.0))  # forces that cancel leave rounding
    force = max(float(np.max(np.abs(c_there) / d, initial=0.0)), speed, 1e-300)
    deviations = [
        float(np.max(np.abs(M - M_there) / np.outer(d, d), initial=0.0)),
        float(np.max(np.abs(c - c_there) / d, initial=0.0)) / force,
    ]
    try:
        a = eager("forward_dynamics", model, q, v, tau)
        rest = M_there @ a + c_there - tau  # what the twin lacks for this acceleration
        force = max(float(np.max(np.maximum(np.abs(c_there), np.abs(tau)) / d, initial=0.0)), force)
    except kt.errors.SingularError:
        return Deviation(*deviations)
    return Deviation(*deviations, float(np.max(np.abs(rest) / d, initial=0.0)) / force, True)


# --- Pinocchio ---
def with_pinocchio(path: Path, rng: np.random.Generator) -> Deviation:
    """A URDF file in both; Pinocchio reads no armature from URDF, so it is told ours."""
    import pinocchio as pin

    model = loaded(path)
    if path.stem in DROPPED:
        raise OutsideError("Pinocchio drops an inertial")
    try:
        twin = pin.buildModelFromXML(path.read_text(errors="replace"))
    except (ValueError, RuntimeError):
        raise OutsideError("Pinocchio refuses it") from None
    if any(joint.shortname() == "JointModelPlanar" for joint in twin.joints):
        raise OutsideError("Pinocchio has planar joints in the plane of x and y only")
    try:
        maps = pinocchio_maps(model, twin)
    except kt.errors.ModelError:
        raise OutsideError("not the same joints") from None
    for body in model.bodies:
        if body.joint.nv == 1:
            twin.armature[twin.joints[twin.getJointId(body.joint_name)].idx_v] = body.armature[0]
    data = twin.createData()

    def dynamics(Q: Any, V: Any) -> tuple[np.ndarray, np.ndarray]:
        M = np.triu(pin.crba(twin, data, Q))
        return M + np.triu(M, 1).T, pin.nonLinearEffects(twin, data, Q, V).copy()

    return compared(model, maps, dynamics, rng)


# --- MuJoCo ---
def with_mujoco(path: Path, text: str, model: kt.Model, rng: np.random.Generator) -> Deviation:
    import mujoco

    try:
        twin = mujoco.MjModel.from_xml_string(text)
    except ValueError:
        raise OutsideError("MuJoCo refuses it") from None
    try:
        maps = mujoco_maps(model, twin)
    except kt.errors.ModelError:
        raise OutsideError("not the same joints") from None
    off = mujoco.mjtDisableBit
    twin.opt.disableflags = off.mjDSBL_CONSTRAINT | off.mjDSBL_SPRING | off.mjDSBL_DAMPER
    twin.opt.density = twin.opt.viscosity = 0.0
    if path.suffix == ".urdf":
        twin.opt.gravity = model.gravity
        for body in model.bodies:
            if body.joint.nv == 1:
                twin.dof_armature[twin.joint(body.joint_name).dofadr[0]] = body.armature[0]
    data = mujoco.MjData(twin)

    def dynamics(Q: Any, V: Any) -> tuple[np.ndarray, np.ndarray]:
        data.qpos, data.qvel = Q, V
        mujoco.mj_forward(twin, data)
        return mass_matrix_of(mujoco, twin, data), np.array(data.qfrc_bias)

    return compared(model, maps, dynamics, rng)


def urdf_with_mujoco(path: Path, rng: np.random.Generator) -> Deviation:
    """A URDF file in both, with the inertias that it states and none guessed from its geometry.

    MuJoCo would merge fixed links by default, and with it drop moments of inertia that come without mass.
    """
    model = loaded(path)
    setting = '<mujoco><compiler inertiafromgeom="false" balanceinertia="false" fusestatic="false"/></mujoco>'
    text, count = re.subn(r"(<robot\b[^>]*>)", rf"\1{setting}", without_meshes(path), count=1)
    if not count:
        raise OutsideError("no robot element")
    return with_mujoco(path, text, model, rng)


def mjcf_with_mujoco(path: Path, rng: np.random.Generator) -> Deviation:
    """An MJCF file in both, without the meshes, actuators and constraints that need other files."""
    model = loaded(path)
    if any(finding.rule == "inertia-mesh" for finding in model.report):
        raise OutsideError("inertia from meshes")
    return with_mujoco(path, bare_mjcf(path), model, rng)


def loaded(path: Path) -> kt.Model:
    try:
        model = kt.load(path)
    except kt.errors.ModelError:
        raise OutsideError("kinetree refuses it") from None
    if model.nv == 0:
        raise OutsideError("nothing moves")
    return model


# --- all files ---
PAIRS: dict[str, tuple[Callable, Callable]] = {
    "URDF, Pinocchio": (urdfs, with_pinocchio),
    "URDF, MuJoCo": (urdfs, urdf_with_mujoco),
    "MJCF, MuJoCo": (mjcfs, mjcf_with_mujoco),
}


def deviations(paths: Iterable[Path], compare: Callable) -> tuple[dict[Path, Deviation], Counter]:
    """The deviation of each file within both, and why the others are not."""
    rng, found, outside = np.random.default_rng(0), {}, Counter()
    for path in paths:
        try:
            with quiet():
                found[path] = compare(path, rng)
        except OutsideError as reason:
            outside[str(reason)] += 1
    return found, outside


def table(directory: Path) -> str:
    lines = [
        "| files, peer | compared | with mimic joints | with fixed links | worst M | worst bias "
        "| accelerations | worst |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, (paths, compare) in PAIRS.items():
        found, outside = deviations(paths(directory), compare)
        print(name, dict(outside))
        models = [kt.load(path) for path in found]
        mimic = sum(any(body.mimic for body in model.bodies) for model in models)
        fixed = sum(bool(model.report.merged) for model in models)
        worst = [np.max([d[k] for d in found.values()]) for k in range(3)]
        moving = sum(d.accelerates for d in found.values())
        first = f"| {name} | {len(found)} | {mimic} | {fixed} | {worst[0]:.0e} | {worst[1]:.0e} "
        lines.append(f"{first}| {moving} | {worst[2]:.0e} |")
        for path, d in sorted(found.items(), key=lambda item: -max(item[1][:3]))[:5]:
            print("   ", path.name, *(f"{x:.1e}" for x in d[:3]))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.agreement", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--write", action="store_true", help="put the table into docs/conventions.md")
    asked = parser.parse_args()
    text = table(asked.directory)
    print(text)
    if asked.write:
        PAGE.write_text(between(PAGE.read_text(), "agreement", text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
