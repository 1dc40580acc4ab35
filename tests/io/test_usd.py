"""USD physics: stages that are authored here, against the same robots built by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io.test_sdf import assert_same_dynamics

import kinetree as kt
from kinetree.model import Limits

pytest.importorskip("pxr")
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

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
        truth.add_body(
            f"link{k}", held, kt.Fixed(), kt.Pose(np.linalg.inv(B)), inertia, joint_name=f"weld{k}"
        )
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
        limits = Limits(-90 * unit, 45 * unit, np.inf, force * kilograms * (metres**2 if turns else metres))
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


HEAD = '#usda 1.0\n(\n defaultPrim = "r"\n metersPerUnit = 1\n upAxis = "Z"\n)\n'


def body(name: str, inner: str = "", apis: str = "", mass: str = "float physics:mass = 2") -> str:
    schemas = f'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{apis}]'
    moments = "float3 physics:diagonalInertia = (0.1, 0.1, 0.1)" if mass else ""
    return f'def Xform "{name}" (\n {schemas}\n)\n{{\n {mass}\n {moments}\n {inner}\n}}\n'


def joint(name: str, first: str, second: str, kind: str = "Revolute", inner: str = "") -> str:
    ends = "\n".join(f"rel physics:body{k} = </r/{end}>" for k, end in enumerate((first, second)) if end)
    return f'def Physics{kind}Joint "{name}"\n{{\n{ends}\n{inner}\n}}\n'


def stage_of(*parts: str) -> str:
    return HEAD + 'def Xform "r"\n{\n' + "".join(parts) + "}\n"


SHAPES = {
    "Cube": "double size = 0.4", "Sphere": "double radius = 0.3",
    "Cylinder": 'double radius = 0.2\n double height = 0.7\n uniform token axis = "X"',
    "Capsule": 'double radius = 0.2\n double height = 0.7\n uniform token axis = "Y"',
    "Cone": "double radius = 0.2\n double height = 0.7",
}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("scale", [(1, 1, 1), (1, 2, 3)])
def test_mass_of_shapes(kind, scale, rng):
    """Against a cloud of points: the shape is filled at random, and its second moments are taken."""
    if kind not in ("Cube", "Sphere") and scale != (1, 1, 1):
        scale = (2, 2, 2)
    shape = (
        f'def {kind} "shape" (\n prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI"]\n)\n'
        f"{{\n {SHAPES[kind]}\n float physics:density = 500\n double3 xformOp:translate = (0.1, 0.2, 0.3)\n"
        f" float3 xformOp:scale = {scale}\n"
        ' uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]\n}\n'
    )
    loaded = kt.load(stage_of(body("a", shape, mass="")), merge_fixed=False)
    inertia = loaded.bodies[0].inertia
    points = rng.uniform(-1, 1, (400_000, 3))
    if kind == "Cube":
        inside, size = np.full(len(points), True), 0.2
    elif kind == "Sphere":
        inside, size = (points**2).sum(1) < 1, 0.3
    else:
        size = 0.6
        along = {"Cylinder": 0, "Capsule": 1, "Cone": 2}[kind]
        h = points[:, along] * size
        r = np.hypot(*np.delete(points, along, 1).T) * size
        inside = {
            "Cylinder": (abs(h) < 0.35) & (r < 0.2),
            "Capsule": r**2 + np.maximum(abs(h) - 0.35, 0) ** 2 < 0.04,
            "Cone": (abs(h) < 0.35) & (r < 0.2 * (0.35 - h) / 0.7),
        }[kind]
    filled = points[inside] * size * np.array(scale) + (0.1, 0.2, 0.3)
    mass = 500 * (2 * size) ** 3 * np.prod(scale) * inside.mean()
    assert float(inertia.mass) == pytest.approx(mass, rel=0.02)
    assert np.allclose(np.array(inertia.com, float), filled.mean(0), atol=0.01 * max(scale))
    centred = filled - filled.mean(0)
    S = centred.T @ centred / len(centred)
    moments = float(inertia.mass) * (np.trace(S) * np.eye(3) - S)
    got = np.array(inertia.about_com, float)[[0, 1, 2]]
    assert np.allclose(got, np.diag(moments), rtol=0.03)


def test_mass_of_a_mesh():
    points = "[(0,0,0),(1,0,0),(1,1,0),(0,1,0),(0,0,1),(1,0,1),(1,1,1),(0,1,1)]"
    corners = "[3,2,1,0, 4,5,6,7, 0,1,5,4, 1,2,6,5, 2,3,7,6, 3,0,4,7]"
    mesh = (
        'def Mesh "m" (\n prepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{\n'
        f" point3f[] points = {points}\n int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]\n"
        f" int[] faceVertexIndices = {corners}\n float3 xformOp:scale = (1, 2, 3)\n"
        ' uniform token[] xformOpOrder = ["xformOp:scale"]\n}\n'
    )
    inertia = kt.load(stage_of(body("a", mesh, mass=""))).bodies[0].inertia
    assert float(inertia.mass) == pytest.approx(6000)
    assert np.allclose(np.array(inertia.com, float), (0.5, 1.0, 1.5))
    assert np.allclose(np.array(inertia.about_com, float), (6500, 5000, 2500, 0, 0, 0), atol=1e-6)


def test_a_given_mass_keeps_the_shape():
    cube = 'def Cube "c" (\n prepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{\n double size = 1\n}\n'
    schemas = 'prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]'
    text = stage_of(f'def Xform "a" (\n {schemas}\n)\n{{\n float physics:mass = 6\n {cube}\n}}\n')
    inertia = kt.load(text).bodies[0].inertia
    assert float(inertia.mass) == 6.0 and np.allclose(np.array(inertia.about_com, float)[:3], 1.0)


def test_a_material_gives_the_density():
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    prim = UsdGeom.Cube.Define(stage, "/a").GetPrim()
    UsdGeom.Cube(prim).CreateSizeAttr(2.0)
    for api in (UsdPhysics.RigidBodyAPI, UsdPhysics.CollisionAPI):
        api.Apply(prim)
    material = UsdShade.Material.Define(stage, "/m")
    UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDensityAttr(250.0)
    binding = UsdShade.MaterialBindingAPI.Apply(prim)
    binding.Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")
    assert float(kt.load(text_of(stage)).bodies[0].inertia.mass) == pytest.approx(2000.0)


def test_loops_are_cut_where_the_file_says_so():
    links = [body(name) for name in "abc"]
    ends = [("", "a"), ("a", "b"), ("c", "a"), ("b", "c")]
    joints = [joint(f"j{k}", *pair) for k, pair in enumerate(ends[:3])]
    loop = joint("loop", *ends[3], inner="bool physics:excludeFromArticulation = true")
    closed = kt.load(stage_of(*links, loop, *joints))
    assert [(each.name, each.redundant) for each in closed.loops] == [("loop", 5)]  # all on one axis
    model = kt.load(stage_of(*links, loop, *joints), loops="ignore")
    (cut,) = [f for f in model.report.findings if f.rule == "tree-two-parents"]
    assert "loop" in cut.where.element and set(model.joint_names) == {"j0", "j1", "j2"}
    assert model.body_names[0] == "a" and model.bodies[model.body_names.index("c")].parent == 1


def test_a_joint_that_is_read_backwards():
    """The articulation begins with the body that the file calls the second."""
    frames = "point3f physics:localPos0 = (0, 0, 1)\n point3f physics:localPos1 = (0.5, 0, 0)"
    links = body("a"), body("b", apis=', "PhysicsArticulationRootAPI"')
    model = kt.load(stage_of(*links, joint("j", "a", "b", inner=frames)))
    assert model.joint_names == ("root_joint", "j") and model.body_names[0] == "b"
    q = model.positions({"root_joint": model.split_positions(model.neutral())["root_joint"], "j": 0.7})
    link = "a" if "a" in model.frame_names else "a@j"
    T = kt.frame_placement(model, q, "a", target="eager") if link == "a" else None
    expected = np.eye(4)
    turn = np.array([[1, 0, 0], [0, np.cos(0.7), -np.sin(0.7)], [0, np.sin(0.7), np.cos(0.7)]])
    # p_b = p_a + (0, 0, 1) - R (0.5, 0, 0) and R_b = R in a, so a in b is the inverse
    expected[:3, :3] = turn.T
    expected[:3, 3] = -turn.T @ (np.array([0, 0, 1.0]) - turn @ (0.5, 0, 0))
    assert np.allclose(T, expected, atol=1e-12)


FOUND = {
    "distance": (joint("d", "a", "b", "Distance"), "unsupported"),
    "unknown": (joint("j", "a", "b", inner="float physics:lowerlimit = 3"), "attribute-unknown"),
    "engine": (joint("j", "a", "b", inner="float physxJoint:jointFriction = 3"), "unsupported"),
    "off": (joint("j", "a", "b", inner="bool physics:jointEnabled = false"), "ignored"),
    "acceleration": (
        joint("j", "a", "b", inner='float drive:angular:physics:damping = 1\n'
              'uniform token drive:angular:physics:type = "acceleration"'),
        "unsupported",
    ),
    "swapped": (
        joint("j", "a", "b", inner="float physics:lowerLimit = 3\n float physics:upperLimit = 1"),
        "limits-swapped",
    ),
    "cone": (joint("j", "a", "b", "Spherical", "float physics:coneAngle0Limit = 30"), "ignored"),
    "mesh": (
        body("c", 'def Mesh "m" (\n prepend apiSchemas = ["PhysicsCollisionAPI"]\n)\n{\n}\n', mass=""),
        "inertia-mesh",
    ),
    "kinematic": (body("c", "bool physics:kinematicEnabled = true"), "unsupported"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
@pytest.mark.parametrize("name", FOUND)
def test_what_is_not_modelled_is_said(name):
    extra, rule = FOUND[name]
    model = kt.load(stage_of(body("a"), body("b"), extra))
    assert rule in [f.rule for f in model.report.findings]


def test_names_are_told_apart():
    group = 'def Xform "left"\n{\n' + body("hand") + "}\n"
    model = kt.load(stage_of(group, group.replace("left", "right"), body("trunk")))
    assert set(model.body_names) == {"left/hand", "right/hand", "trunk"}


@pytest.mark.parametrize("suffix", ["usda", "usdc", "usd", "usdz"])
def test_every_kind_of_file(tmp_path, suffix, monkeypatch):
    stage, truth = author(3)
    path = tmp_path / f"robot.{suffix}"
    if suffix == "usdz":
        from pxr import UsdUtils

        stage.GetRootLayer().Export(str(tmp_path / "inside.usdc"))
        monkeypatch.chdir(tmp_path)
        UsdUtils.CreateNewUsdzPackage("inside.usdc", str(path))
    else:
        stage.GetRootLayer().Export(str(path))
    assert_same_dynamics(truth, kt.load(path))


def test_references_are_followed_inside_of_the_folder(tmp_path):
    inner = tmp_path / "robots" / "parts"
    inner.mkdir(parents=True)
    (inner / "leg.usda").write_text(HEAD + 'def Xform "r"\n{\n' + body("a") + "}\n")
    main = '#usda 1.0\ndef "one" (\n references = @./parts/leg.usda@</r>\n)\n{\n}\n'
    (tmp_path / "robots" / "main.usda").write_text(main)
    assert kt.load(tmp_path / "robots" / "main.usda").body_names == ("a",)
    (tmp_path / "robots" / "link.usda").symlink_to(tmp_path / "outside.usda")
    (tmp_path / "outside.usda").write_text((inner / "leg.usda").read_text())
    for target in ("../outside.usda", str(tmp_path / "outside.usda"), "./link.usda", "missing.usda",
                   "http://localhost/a.usda", "/dev/zero", "./parts/leg.py"):  # fmt: skip
        for arc in ("references", "payload", "subLayers"):
            where = (
                "(\n subLayers = [@%s@]\n)\n"
                if arc == "subLayers"
                else 'def "one" (\n ' + arc + " = @%s@</r>\n)\n{\n}\n"
            )
            (tmp_path / "robots" / "bad.usda").write_text("#usda 1.0\n" + where % target)
            with pytest.raises(kt.errors.FileError, match=r"outside|does not exist"):
                kt.load(tmp_path / "robots" / "bad.usda")
    with pytest.raises(kt.errors.FileError, match=r"outside|does not exist"):
        kt.load(main)


def test_references_that_multiply_are_refused():
    """Twenty prims that each use the next one twice would be a million."""
    text = "#usda 1.0\n"
    for k in range(20):
        inner = "".join(f'def "{x}" (\n references = </p{k + 1}>\n)\n{{\n}}\n' for x in "ab")
        text += f'def "p{k}"\n{{\n{inner}}}\n'
    text += 'def "p20"\n{\n}\n'
    with pytest.raises(kt.errors.FileError, match="more than 200000 prims"):
        kt.load(text)


@pytest.mark.parametrize("text", ["#usda 1.0\n(bad", "#usda 1.0\n", "#usda 99.0\n"])
def test_what_is_no_robot_is_refused(text):
    with pytest.raises(kt.errors.FileError):
        kt.load(text)


def test_broken_binaries_are_refused(tmp_path):
    stage, _ = author(1)
    path = tmp_path / "a.usdc"
    stage.GetRootLayer().Export(str(path))
    data = path.read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])
    with pytest.raises(kt.errors.FileError):
        kt.load(path)
    path.write_bytes(b"PXR-USDC" + bytes(200))
    with pytest.raises(kt.errors.FileError):
        kt.load(path)


def touching_stage(kind: str = "Cube", metres: float = 1.0) -> tuple:
    """A body that floats, with one collider that is moved, turned and scaled."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, metres)
    UsdGeom.SetStageUpAxis(stage, "Z")
    body = UsdGeom.Xform.Define(stage, "/robot").GetPrim()
    stage.SetDefaultPrim(body)
    UsdGeom.Xformable(body).AddTranslateOp().Set(Gf.Vec3d(0, 0, 5))
    UsdPhysics.RigidBodyAPI.Apply(body)
    UsdPhysics.MassAPI.Apply(body).CreateMassAttr(2.0)
    UsdPhysics.MassAPI(body).CreateDiagonalInertiaAttr(Gf.Vec3f(1, 1, 1))
    shape = getattr(UsdGeom, kind).Define(stage, "/robot/shape")
    place = UsdGeom.Xformable(shape.GetPrim())
    place.AddTranslateOp().Set(Gf.Vec3d(1, 2, 3))
    place.AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
    UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    return stage, shape


def loaded(stage) -> kt.Model:
    return kt.load(stage.GetRootLayer().ExportToString(), format="usd")


@pytest.mark.parametrize(
    ("kind", "sizes", "shape"),
    [
        ("Cube", {"Size": 0.2}, kt.Box((0.2, 0.2, 0.2))),
        ("Sphere", {"Radius": 0.1}, kt.Sphere(0.2)),
        ("Cylinder", {"Radius": 0.1, "Height": 0.6}, kt.Cylinder(0.2, 0.6)),
        ("Capsule", {"Radius": 0.1, "Height": 0.6}, kt.Capsule(0.2, 0.6)),
    ],
)
@pytest.mark.parametrize("metres", [1.0, 0.01])
def test_colliders_become_geometries(kind, sizes, shape, metres):
    stage, prim = touching_stage(kind, metres)
    for name, value in sizes.items():
        getattr(prim, f"Create{name}Attr")(value / metres)
    model = loaded(stage)
    assert model.geometry_names == ("shape",)
    found = model.geometries[0]
    assert type(found.shape) is type(shape)
    np.testing.assert_allclose(np.ravel(found.shape.size), np.ravel(shape.size), rtol=1e-6)
    np.testing.assert_allclose(found.placement.p, np.array([1, 2, 3]) * metres, atol=1e-12)
    assert found.friction == 0.8 and model.ground is None
    assert kt.load(stage.GetRootLayer().ExportToString(), format="usd", geometry=False).geometries == ()


def test_meshes_of_colliders_touch_as_they_say():
    for around, count in (("convexHull", 4), ("boundingCube", 8), ("boundingSphere", 1), ("none", 4)):
        stage, mesh = touching_stage("Mesh")
        mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
        mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
        mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
        UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr(around)
        points = loaded(stage).contact_points
        assert len(points) == count
        assert min(p.position[0] for p in points) == pytest.approx(1.0 if count != 1 else 2.0)


def test_planes_materials_and_what_is_not_read():
    stage, shape = touching_stage("Sphere")
    plane = UsdGeom.Plane.Define(stage, "/floor")
    plane.CreateAxisAttr("Y")
    UsdGeom.Xformable(plane.GetPrim()).AddTranslateOp().Set(Gf.Vec3d(0, 0.5, 0))
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    other = UsdGeom.Plane.Define(stage, "/wall")
    UsdPhysics.CollisionAPI.Apply(other.GetPrim())
    block = UsdGeom.Cube.Define(stage, "/block")
    UsdPhysics.CollisionAPI.Apply(block.GetPrim())
    material = UsdShade.Material.Define(stage, "/rubber")
    api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
    api.CreateDynamicFrictionAttr(0.35)
    api.CreateRestitutionAttr(0.5)
    for name, value in (("compliantContactStiffness", 2e4), ("compliantContactDamping", 10.0)):
        full = f"physxMaterial:{name}"
        material.GetPrim().CreateAttribute(full, Sdf.ValueTypeNames.Float).Set(value)
    binding = UsdShade.MaterialBindingAPI.Apply(shape.GetPrim())
    binding.Bind(material, UsdShade.Tokens.weakerThanDescendants, "physics")
    off = UsdGeom.Cube.Define(stage, "/robot/off")
    UsdPhysics.CollisionAPI.Apply(off.GetPrim()).CreateCollisionEnabledAttr(False)
    odd = UsdGeom.Points.Define(stage, "/robot/odd")
    UsdPhysics.CollisionAPI.Apply(odd.GetPrim())
    model = loaded(stage)
    assert model.ground == kt.Ground((0, 1, 0), 0.5)
    assert model.geometry_names == ("shape", "block")
    ball = model.geometries[0]
    assert ball.friction == pytest.approx(0.35) and ball.stiffness == pytest.approx(2e4)
    assert ball.dissipation == pytest.approx(10.0 / (2e4 * 1e-3))
    said = [f.problem for f in model.report.findings if f.rule.startswith("contact-")]
    assert any("second plane" in text for text in said) and any("restitution" in text for text in said)
    assert any("Points" in text for text in said)
    q = model.neutral()
    assert kt.simulate(model, q, np.zeros(6), duration=0.01, dt=1e-3).ground == model.ground
