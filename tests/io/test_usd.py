"""USD physics: stages that are authored here, against the same robots built by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.model import Limits
from tests.io.test_sdf import assert_same_dynamics

pytest.importorskip("pxr")
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade  # noqa: E402

KINDS = ("revolute", "prismatic", "spherical", "fixed", "universal", "planar", "slides")
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def single(values) -> np.ndarray:
    """Numbers as USD keeps most of them."""
    return np.array(values, dtype=np.float32).astype(float)


def random_frame(rng) -> tuple[np.ndarray, Gf.Quatf, np.ndarray]:
    """A position and a rotation that single precision holds, and the matrix that they make."""
    p, quaternion = single(rng.uniform(-1, 1, 3)), single(rng.standard_normal(4))
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    quaternion = single((w, x, y, z))
    T = np.eye(4)
    T[:3, :3] = np.array(kt.Rotation.from_quaternion(quaternion[[1, 2, 3, 0]]).rows, dtype=float)
    T[:3, 3] = p
    return p, Gf.Quatf(float(quaternion[0]), *map(float, quaternion[1:])), T


def author(seed: int, metres: float = 1.0, kilograms: float = 1.0, up: str = "Z", scaled: bool = False):
    """A random stage and the model that it should load as."""
    rng = np.random.default_rng(seed)
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    UsdPhysics.SetStageKilogramsPerUnit(stage, kilograms)
    UsdGeom.SetStageUpAxis(stage, up)
    root = UsdGeom.Xform.Define(stage, "/robot")
    stage.SetDefaultPrim(root.GetPrim())
    gravity = -9.81 * np.array(AXES[up])
    truth = kt.ModelBuilder("robot", gravity)
    fixed = seed % 2 == 0
    for k in range(5):
        scale = single(rng.uniform(0.5, 2.0, 3)) if scaled else np.ones(3)
        prim = UsdGeom.Xform.Define(stage, f"/robot/link{k}").GetPrim()
        place = UsdGeom.Xformable(prim)
        matrix = np.asarray(kt.Pose.random(rng))
        matrix[:3, :3] = matrix[:3, :3] * scale
        place.AddTransformOp().Set(Gf.Matrix4d(matrix.T.tolist()))
        UsdPhysics.RigidBodyAPI.Apply(prim)
        if k == 0 and not fixed:
            UsdPhysics.ArticulationRootAPI.Apply(prim)
        mass = UsdPhysics.MassAPI.Apply(prim)
        m, com = float(single(rng.uniform(1, 2))), single(rng.uniform(-0.2, 0.2, 3))
        moments, (_, axes, turn) = single(rng.uniform(1.0, 1.5, 3)), random_frame(rng)
        mass.CreateMassAttr(m)
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*com))
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*moments))
        mass.CreatePrincipalAxesAttr(axes)
        R = turn[:3, :3]
        inertia = kt.Inertia(
            m * kilograms, com * scale * metres, R @ np.diag(moments) @ R.T * kilograms * metres**2
        )
        if k == 0 and not fixed:
            truth.add_body("link0", "world", kt.Free(), inertia=inertia, joint_name="root_joint")
            scales = [scale]
            continue
        scales = [scale] if k == 0 else [*scales, scale]
        kind = str(rng.choice(KINDS))
        parent = int(rng.integers(k)) if k else None
        (p0, r0, A), (p1, r1, B) = random_frame(rng), random_frame(rng)
        A[:3, 3] *= metres * (1.0 if parent is None else scales[parent])
        B[:3, 3] *= metres * scale
        axis = str(rng.choice(["X", "Y", "Z"]))
        path = f"/robot/joint{k}"
        joint, motion, extra = define(stage, path, kind, axis, metres, kilograms, rng)
        if parent is not None:
            joint.CreateBody0Rel().SetTargets([Sdf.Path(f"/robot/link{parent}")])
        joint.CreateBody1Rel().SetTargets([prim.GetPath()])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*p0))
        joint.CreateLocalRot0Attr(r0)
        joint.CreateLocalPos1Attr(Gf.Vec3f(*p1))
        joint.CreateLocalRot1Attr(r1)
        held = "world" if parent is None else f"link{parent}"
        chain = motion if isinstance(motion, list) else [motion]
        for i, part in enumerate(chain):
            label = f"joint{k}" if len(chain) == 1 else f"joint{k}/{i + 1}"
            at = kt.Pose(A) if i == 0 else kt.Pose()
            truth.add_body(f"{label}@", held, part, at, joint_name=label, **extra)
            held = f"{label}@"
        truth.add_body(f"link{k}", held, kt.Fixed(), kt.Pose(np.linalg.inv(B)), inertia, joint_name=f"weld{k}")
    return stage, truth.build()


def lock(joint, *names: str) -> None:
    for name in names:
        limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), name)
        limit.CreateLowAttr(1.0)
        limit.CreateHighAttr(-1.0)


def define(stage, path, kind, axis, metres, kilograms, rng):
    """A joint of USD, and how it should move."""
    a = AXES[axis]
    if kind in ("revolute", "prismatic"):
        made = {"revolute": UsdPhysics.RevoluteJoint, "prismatic": UsdPhysics.PrismaticJoint}[kind]
        joint = made.Define(stage, path)
        joint.CreateAxisAttr(axis)
        joint.CreateLowerLimitAttr(-90.0)
        joint.CreateUpperLimitAttr(45.0)
        turns = kind == "revolute"
        drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular" if turns else "linear")
        stiffness, damping, rest, force = single(rng.uniform(0, 1, 4))
        for name, value in (("Stiffness", stiffness), ("Damping", damping), ("MaxForce", force)):
            getattr(drive, f"Create{name}Attr")(float(value))
        drive.CreateTargetPositionAttr(float(rest))
        unit = np.pi / 180 if turns else metres
        # energy per unit^2: the same number, whatever the unit of position is
        per = kilograms * (metres**2 / unit if turns else 1.0)
        limits = Limits(
            -90 * unit, 45 * unit, np.inf, force * kilograms * (metres**2 if turns else metres)
        )
        extra = {
            "stiffness": stiffness * per, "damping": damping * per, "spring_reference": [rest * unit],
            "limits": limits,
        }  # fmt: skip
        return joint, (kt.Revolute(a) if turns else kt.Prismatic(a)), extra
    if kind == "spherical":
        return UsdPhysics.SphericalJoint.Define(stage, path), kt.Spherical(), {}
    if kind == "fixed":
        return UsdPhysics.FixedJoint.Define(stage, path), kt.Fixed(), {}
    joint = UsdPhysics.Joint.Define(stage, path)
    if kind == "universal":
        lock(joint, "transX", "transY", "transZ", "rotZ")
        return joint, kt.Universal((1, 0, 0), (0, 1, 0)), {}
    if kind == "planar":
        lock(joint, "transZ", "rotX", "rotY")
        return joint, kt.Planar(), {}
    lock(joint, "transY", "rotX", "rotY", "rotZ")
    return joint, [kt.Prismatic((1, 0, 0)), kt.Prismatic((0, 0, 1))], {}


def text_of(stage) -> str:
    return stage.GetRootLayer().ExportToString()


@pytest.mark.parametrize("seed", range(16))
def test_random_stages_are_read_as_they_were_drawn(seed):
    options = [
        {}, {"metres": 0.01, "up": "Y"}, {"kilograms": 0.001, "up": "Y"}, {"scaled": True, "metres": 0.5}
    ][seed // 2 % 4]  # fmt: skip
    stage, truth = author(seed, **options)
    loaded = kt.load(text_of(stage))
    assert loaded.report.format == "usd" and loaded.name == "robot"
    assert np.allclose(loaded.gravity, truth.gravity)
    assert_same_dynamics(truth, loaded, seed, 1e-7 if options.get("scaled") else 1e-12)
    for body in truth.bodies:
        if body.joint.nv == 1:
            again = loaded.bodies[list(loaded.joint_names).index(body.joint_name)]
            assert np.allclose(np.array(again.limits, float), np.array(body.limits, float), rtol=1e-7)
