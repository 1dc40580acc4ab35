"""Collision shapes of robot files: what each format says, what becomes of it, and what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.io import shapes
from tests.io.test_corpus import CORPUS, mjcfs, urdfs
from tests.io.test_round_trips import decorated

import kinetree as kt
from kinetree.io.mjcf_collisions import SOLIMP, sink

INERTIAL = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
PRIMITIVES = {
    '<box size="0.2 0.4 0.6"/>': kt.Box((0.1, 0.2, 0.3)),
    '<sphere radius="0.1"/>': kt.Sphere(0.1),
    '<cylinder radius="0.1" length="0.4"/>': kt.Cylinder(0.1, 0.2),
    '<capsule radius="0.1" length="0.4"/>': kt.Capsule(0.1, 0.2),
}


def urdf(inside: str, beside: str = "") -> str:
    return f'<robot name="r"><link name="base">{INERTIAL}{inside}</link>{beside}</robot>'


def mjcf(geom: str, world: str = "", more: str = "") -> str:
    inertial = '<inertial mass="2" pos="0 0 0" diaginertia="1 1 1"/>'
    body = f'<body name="base"><freejoint/>{inertial}{geom}</body>'
    return f"<mujoco>{more}<worldbody>{world}{body}</worldbody></mujoco>"


def sdf(collision: str, beside: str = "") -> str:
    link = f'<link name="base">{collision}</link>'
    return f'<sdf version="1.9"><world name="w">{beside}<model name="r">{link}</model></world></sdf>'


def rules(model: kt.Model) -> list[str]:
    return [f.rule for f in model.report if f.rule.startswith("contact")]


# --- URDF ---
@pytest.mark.parametrize("text", PRIMITIVES)
def test_primitives_of_urdf(text):
    collision = (
        f'<collision name="c"><origin xyz="1 2 3" rpy="0 0 1"/><geometry>{text}</geometry></collision>'
    )
    model = kt.load(urdf(collision), base="free")
    (part,) = model.geometries
    assert part.shape == PRIMITIVES[text] and part.name == "c" and part.body == 1
    assert part.placement.p == (1, 2, 3) and part.placement.R[0][0] == pytest.approx(np.cos(1))
    assert (part.friction, part.stiffness, part.dissipation) == (0.8, None, 1.0) and not rules(model)


def test_collisions_move_with_links_that_are_merged():
    text = (
        f'<robot name="r"><link name="a">{INERTIAL}</link><link name="b"><collision><geometry>'
        '<sphere radius="1"/></geometry></collision></link><joint name="j" type="fixed"><parent link="a"/>'
        '<child link="b"/><origin xyz="1 0 0" rpy="0 0 1.5"/></joint></robot>'
    )
    merged, apart = kt.load(text, base="free"), kt.load(text, base="free", merge_fixed=False)
    assert merged.geometries[0].body == 1 and merged.geometries[0].placement.p == (1, 0, 0)
    assert apart.geometries[0].body == 2 and apart.geometries[0].placement == kt.Pose()
    at = [m.geometries[0].body for m in (merged, apart)]
    placed = [
        kt.placements(m, m.neutral())[i - 1] @ np.asarray(m.geometries[0].placement, float)
        for m, i in zip((merged, apart), at, strict=True)
    ]
    assert np.allclose(*placed)
    assert kt.load(text).geometries[0].body == 0 and not kt.load(text).contact_points  # welded to the world
    assert not kt.load(text, geometry=False).geometries


@pytest.mark.parametrize(
    ("inside", "beside", "wanted"),
    [
        ("", '<gazebo reference="base"><mu1>0.3</mu1><mu2>0.2</mu2></gazebo>', (0.3, None, 1.0)),
        ("", '<gazebo reference="base"><kp>2e5</kp><kd>100</kd></gazebo>', (0.8, 2e5, 0.5)),
        ("", '<gazebo reference="base"><kp>1e12</kp><kd>1</kd></gazebo>', (0.8, None, 1.0)),
        ("", '<gazebo reference="other"><mu1>0.3</mu1></gazebo>', (0.8, None, 1.0)),
        ("<contact>", "", (0.4, 3e4, 2.0)),
        ("<drake>", "", (0.6, 5e4, 0.7)),
        ("", '<gazebo reference="base"><mu1>-3</mu1></gazebo>', (0.8, None, 1.0)),
    ],
)  # fmt: skip
def test_what_others_write_about_contact(inside, beside, wanted):
    drake = (
        '<drake:proximity_properties><drake:mu_dynamic value="0.6"/><drake:point_contact_stiffness '
        'value="5e4"/><drake:hunt_crossley_dissipation value="0.7"/></drake:proximity_properties>'
    )
    bullet = '<lateral_friction value="0.4"/><stiffness value="3e4"/><damping value="60"/>'
    own = drake if inside == "<drake>" else ""
    inside = f"<contact>{bullet}</contact>" if inside == "<contact>" else ""
    collision = f"<collision><geometry><sphere radius='1'/></geometry>{own}</collision>{inside}"
    model = kt.load(urdf(collision, beside), base="free")
    (part,) = model.geometries
    assert (part.friction, part.stiffness, part.dissipation) == pytest.approx(wanted)
    said = [f.problem for f in model.report.ignored]
    assert all("are not read, but for friction and stiffness" in text for text in said)
    assert said or own


def test_shapes_that_cannot_be_read_are_left_out_by_name():
    bad = '<geometry><sphere radius="-1"/></geometry>'
    nowhere = '<geometry><mesh filename="package://x/y.stl"/></geometry>'
    model = kt.load(
        urdf("".join(f"<collision>{g}</collision>" for g in (bad, nowhere, nowhere, "<geometry/>")))
    )
    assert model.geometries == () and sorted(rules(model)) == ["contact-mesh", "contact-shape"]
    said = next(f.problem for f in model.report if f.rule == "contact-mesh")
    assert "is missing" in said and "(2 shapes)" in said


@pytest.mark.parametrize("scale", ["0.001", "1 1", "1 1 nan"])
def test_a_mesh_with_a_wrong_scale_is_left_out(scale, tmp_path):
    (tmp_path / "box.stl").write_bytes(shapes.stl(*shapes.box()))
    mesh = f'<collision><geometry><mesh filename="box.stl" scale="{scale}"/></geometry></collision>'
    (tmp_path / "r.urdf").write_text(urdf(mesh))
    model = kt.load(tmp_path / "r.urdf")
    assert model.geometries == () and rules(model) == ["contact-shape"]
    (tmp_path / "r.urdf").write_text(urdf(mesh).replace(INERTIAL, ""))
    with pytest.raises(kt.errors.FileError, match="scale"):
        kt.load(tmp_path / "r.urdf", density=1000)
    of_sdf = f"<mesh><uri>box.stl</uri><scale>{scale}</scale></mesh>"
    (tmp_path / "r.sdf").write_text(sdf(f"<collision name='c'><geometry>{of_sdf}</geometry></collision>"))
    model = kt.load(tmp_path / "r.sdf")
    assert model.geometries == () and rules(model) == ["contact-shape"]


@pytest.mark.parametrize("word", ["<mu1>rough</mu1>", "<kp>-5</kp>", "<kp>soft</kp>"])
def test_contact_numbers_that_are_not_used_are_reported(word):
    collision = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    model = kt.load(urdf(collision, f'<gazebo reference="base">{word}</gazebo>'), base="free")
    assert rules(model) == ["contact-parameter"] and model.geometries[0][4:] == (0.8, None, 1.0)


def test_meshes_touch_with_the_corners_of_their_hulls(tmp_path):
    (tmp_path / "box.stl").write_bytes(shapes.stl(*shapes.box()))
    text = urdf('<collision><geometry><mesh filename="box.stl" scale="2 1 -1"/></geometry></collision>')
    (tmp_path / "r.urdf").write_text(text)
    model = kt.load(tmp_path / "r.urdf", base="free")
    (part,) = model.geometries
    corners, _ = shapes.box()
    assert np.allclose(
        sorted(part.shape.points), sorted(map(tuple, (np.unique(corners, axis=0) * (2, 1, -1)).tolist()))
    )
    assert not rules(model)


def test_large_meshes_are_simplified_and_say_so(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    faces = "".join(f"f {k + 1} {k + 2} {k + 3}\n" for k in range(398))
    (tmp_path / "ball.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in points) + faces)
    (tmp_path / "r.urdf").write_text(
        urdf('<collision><geometry><mesh filename="ball.obj"/></geometry></collision>')
    )
    model = kt.load(tmp_path / "r.urdf", base="free")
    assert len(model.contact_points) == 32 and rules(model) == ["contact-simplified"]


# --- MJCF ---
def test_geoms_of_mjcf():
    geoms = (
        '<geom name="s" size="0.1" pos="1 0 0"/><geom type="capsule" size="0.1" fromto="0 0 0 0 0 1"/>'
        '<geom type="box" size="0.1 0.2 0.3" friction="0.5"/>'
        '<geom type="cylinder" size="0.1 0.2" condim="1"/>'
        '<geom contype="0" conaffinity="0" size="3"/><geom type="ellipsoid" size="0.1 0.2 0.3"/>'
    )
    model = kt.load(mjcf(geoms))
    kinds = [part.shape.kind for part in model.geometries]
    assert kinds == ["sphere", "capsule", "box", "cylinder", "vertices"] and rules(model) == [
        "contact-simplified"
    ]
    assert [part.friction for part in model.geometries] == [1.0, 1.0, 0.5, 0.0, 1.0]
    assert model.geometries[1].shape == kt.Capsule(0.1, 0.5) and model.geometries[0].name == "s"
    assert model.ground is None
    reach = np.array(model.geometries[4].shape.points)
    assert np.allclose(((reach / (0.1, 0.2, 0.3)) ** 2).sum(axis=1), 1) and np.allclose(
        reach.max(axis=0), (0.1, 0.2, 0.3)
    )


def test_a_plane_is_the_ground_and_filters_what_meets_it():
    turned = 'size="0 0 1" pos="0 0 0.5" euler="90 0 0"'
    plane = f'<geom name="floor" type="plane" {turned} friction="0.7" contype="2"/>'
    geoms = '<geom name="a" size="1" friction="0.4"/><geom name="b" size="1" contype="4" conaffinity="4"/>'
    model = kt.load(mjcf(geoms, plane + '<geom type="plane" size="1 1 1"/>'))
    assert model.geometry_names == ("a",) and model.geometries[0].friction == 0.7  # the larger of the two
    assert np.allclose(model.ground.normal, (0, -1, 0)) and model.ground.height == pytest.approx(0, abs=1e-15)
    assert "contact-shape" in rules(model)  # the second plane
    higher = kt.load(mjcf(geoms.replace('friction="0.4"', 'friction="0.4" priority="1"'), plane))
    assert higher.geometries[0].friction == 0.4
    pairs = '<pair geom1="a" geom2="floor" friction="0.2 0.2 0 0 0"/><pair geom1="a" geom2="b"/>'
    model = kt.load(mjcf(geoms, plane, f"<contact>{pairs}</contact>"))
    assert model.geometries[0].friction == 0.2 and "contact-parameter" in rules(model)


def test_contacts_that_are_off_and_parameters_that_are_not_taken():
    off = '<option><flag contact="disable"/></option>'
    model = kt.load(mjcf('<geom size="1"/>', more=off))
    assert model.geometries == () and rules(model) == ["contact-parameter"]
    model = kt.load(mjcf('<geom size="1" margin="0.01" gap="0.01" condim="6"/>'))
    assert sorted(rules(model)) == ["contact-parameter"] * 3 and len(model.geometries) == 1


@pytest.mark.parametrize(
    ("solref", "solimp"),
    [
        ((0.02, 1.0), (0.9, 0.95, 0.5)),
        ((0.01, 1.5), (0.8, 0.9, 0.001, 0.5, 2)),
        ((-2500.0, -100.0), (0.9, 0.95, 0.001)),
        ((0.02, 1.0), (0.5, 0.95, 0.002, 0.3, 3)),  # the impedance grows with the depth
        ((0.04, 0.5), (0.1, 0.95, 0.0001)),
        ((0.005,), (0.9,)),
        ((0.02, 1.0), (0.0, 0.95, 0.0, 0.5, 1)),
    ],
)
def test_a_robot_sinks_in_as_far_as_in_mujoco(solref, solimp):
    mujoco = pytest.importorskip("mujoco")
    words = (" ".join(map(str, x)) for x in (solref, solimp))
    numbers = 'solref="{}" solimp="{}"'.format(*words)
    text = (
        '<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="0 0 1"/><body pos="0 0 .1">'
        f'<freejoint/><geom type="box" size=".1 .1 .1" mass="3" priority="1" {numbers}/>'
        "</body></worldbody></mujoco>"
    )
    peer = mujoco.MjModel.from_xml_string(text)
    state = mujoco.MjData(peer)
    mujoco.mj_step(peer, state, 3000)
    points = kt.load(text).contact_points
    assert len(points) == 8
    assert 3 * 9.81 / (4 * points[0].stiffness) == pytest.approx(0.1 - state.qpos[2], rel=1e-4)
    depth, ratio = sink((*solref, 1.0), (*solimp, *SOLIMP[len(solimp) :]), 9.81)
    assert points[0].dissipation == pytest.approx(ratio) and depth == pytest.approx(
        3 * 9.81 / points[0].stiffness
    )


def test_heights_of_mjcf_are_those_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(2)
    rows = " ".join(map(str, rng.uniform(0, 3, 12)))
    asset = f'<asset><hfield name="h" nrow="3" ncol="4" size="2 1 0.5 0.1" elevation="{rows}"/></asset>'
    world = '<geom type="hfield" hfield="h" pos="1 2 3"/>'
    text = mjcf('<geom size="0.1"/>', world, asset)
    field = kt.load(text).ground
    peer = mujoco.MjModel.from_xml_string(text)
    assert isinstance(field, kt.Heightfield) and field.shape == (4, 3)
    data = np.array(peer.hfield_data).reshape(3, 4) * peer.hfield_size[0][2]
    assert np.allclose(field.array, data.T, atol=1e-7)
    assert field.origin == pytest.approx((-1, 1, 3)) and field.spacing == pytest.approx((4 / 3, 1))
    state = mujoco.MjData(peer)
    mujoco.mj_forward(peer, state)
    for i, j in np.ndindex(4, 3):  # rays from above meet the surface at its corners
        x, y = field.origin[0] + i * field.spacing[0], field.origin[1] + j * field.spacing[1]
        inside = (1 + (x - 1) * 0.999, 2 + (y - 2) * 0.999, 9.0)
        found = np.zeros(1, np.int32)
        group = np.ones(6, np.uint8)
        down = np.array([0.0, 0.0, -1.0])
        distance = mujoco.mj_ray(peer, state, np.array(inside), down, group, 1, 1, found, None)
        assert 9.0 - distance == pytest.approx(field.height(x, y)[0], abs=0.01)


@pytest.mark.parametrize(
    "bad", ['nrow="1" ncol="4"', 'nrow="3" ncol="4" elevation="1 2"', 'file="../x.bin"', 'file="x.png"']
)
def test_heights_that_cannot_be_read(bad):
    asset = f'<asset><hfield name="h" {bad} size="2 1 0.5 0.1"/></asset>'
    model = kt.load(mjcf('<geom size="0.1"/>', '<geom type="hfield" hfield="h"/>', asset))
    assert model.ground is None and rules(model) == ["contact-shape"] and len(model.geometries) == 1


# --- SDF ---
@pytest.mark.parametrize(
    ("geometry", "shape"),
    [
        ("<box><size>0.2 0.4 0.6</size></box>", kt.Box((0.1, 0.2, 0.3))),
        ("<sphere><radius>0.1</radius></sphere>", kt.Sphere(0.1)),
        ("<cylinder><radius>0.1</radius><length>0.4</length></cylinder>", kt.Cylinder(0.1, 0.2)),
        ("<capsule><radius>0.1</radius><length>0.4</length></capsule>", kt.Capsule(0.1, 0.2)),
    ],
)
def test_primitives_of_sdf(geometry, shape):
    surface = (
        "<friction><ode><mu>0.3</mu></ode></friction><contact><ode><kp>2e5</kp><kd>100</kd></ode></contact>"
    )
    inside = f"<pose>1 2 3 0 0 1</pose><geometry>{geometry}</geometry><surface>{surface}</surface>"
    (part,) = kt.load(sdf(f'<collision name="c">{inside}</collision>')).geometries
    assert part.shape == shape and part.placement.p == (1, 2, 3) and part.name == "c"
    assert (part.friction, part.stiffness, part.dissipation) == pytest.approx((0.3, 2e5, 0.5))
    (plain,) = kt.load(sdf(f"<collision name='c'><geometry>{geometry}</geometry></collision>")).geometries
    assert (plain.friction, plain.stiffness, plain.dissipation) == (1.0, None, 1.0)


def test_a_static_plane_of_sdf_is_the_ground():
    plane = (
        '<model name="g"><static>true</static><pose>0 0 2 0 0 0</pose><link name="l"><collision name="c">'
        "<geometry>"
        "<plane><normal>0 0 3</normal></plane></geometry></collision></link></model>"
    )
    ball = "<collision name='c'><geometry><sphere><radius>1</radius></sphere></geometry></collision>"
    model = kt.load(sdf(ball, plane))
    assert model.ground == kt.Ground((0, 0, 1), 2.0) and len(model.contact_points) == 1


BALL = "<geometry><sphere><radius>1</radius></sphere></geometry>"
PLANE = "<geometry><plane><normal>0 0 1</normal></plane></geometry>"


def of_sdf(name: str, surface: str = "", geometry: str = BALL, more: str = "") -> str:
    collision = f'<collision name="{name}">{geometry}<surface>{surface}</surface></collision>'
    return f'<model name="{name}">{more}<link name="l">{collision}</link></model>'


def mask(bits: str, category: str = "") -> str:
    own = f"<category_bitmask>{category}</category_bitmask>" if category else ""
    return f"<contact><collide_bitmask>{bits}</collide_bitmask>{own}</contact>"


@pytest.mark.parametrize(
    ("own", "other", "ground", "touching", "pairs"),
    [
        ("", "", "", "ab", 1),
        (mask("2"), "", "", "ab", 1),  # all bits are the default
        (mask("0x02"), mask("4"), "", "ab", 0),
        (mask("0"), "", "", "b", 0),
        (mask("2"), mask("6"), mask("4"), "b", 0),
        (mask("4", "2"), mask("4", "2"), "", "ab", 0),  # they collide with others than their own category
        (mask("4", "2"), mask("8", "4"), "", "ab", 1),
        (mask("4", "2"), mask("8"), mask("2", "1"), "a", 0),
        ("<contact><collide_without_contact>true</collide_without_contact></contact>", "", "", "b", 0),
    ],
)
def test_masks_of_sdf(own, other, ground, touching, pairs):
    floor = of_sdf("g", ground, PLANE, "<static>true</static>")
    model = kt.load(sdf("", of_sdf("a", own) + of_sdf("b", other) + floor))
    assert "".join(model.geometry_names) == touching and len(model.pairs) == pairs
    assert model.ground == kt.Ground()


def test_static_shapes_that_miss_the_ground_of_sdf_are_kept():
    floor = of_sdf("g", mask("1"), PLANE, "<static>true</static>")
    table = of_sdf("t", mask("2"), more="<static>true</static>")
    model = kt.load(sdf("", floor + table + of_sdf("a", mask("3")) + of_sdf("b", mask("2"))))
    assert model.geometry_names == ("t", "a") and len(model.pairs) == 1 and rules(model) == ["contact-pairs"]


@pytest.mark.parametrize(
    "surface",
    [
        "<bounce><restitution_coefficient>0.5</restitution_coefficient></bounce>",
        "<friction><ode><mu>1</mu><mu2>0.1</mu2></ode></friction>",
        "<friction><ode><mu>rough</mu></ode></friction>",
        "<contact><ode><kp>-1</kp></ode></contact>",
        "<friction><ode><slip1>0.1</slip1><fdir1>0 0 0</fdir1></ode></friction>",
        "<friction><bullet><friction>0.1</friction></bullet></friction>",
        "<soft_contact/>",
        mask("all"),
    ],
)
def test_what_is_lost_of_an_sdf_surface_is_reported(surface):
    model = kt.load(sdf("", of_sdf("a", surface)))
    assert len(model.contact_points) == 1 and rules(model) == ["contact-parameter"]


def test_a_plane_of_sdf_without_a_direction_is_reported():
    plane = of_sdf("g", "", PLANE.replace("0 0 1", "0 0 0"), "<static>true</static>")
    model = kt.load(sdf("", plane + of_sdf("a")))
    assert model.ground is None and rules(model) == ["contact-shape"]


# --- there and back ---
def touching(seed: int, **options) -> kt.Model:
    """A random tree with shapes of all kinds on its bodies and the world."""
    model, rng = decorated(seed, **options), np.random.default_rng(seed)
    kinds = (
        kt.Point(), kt.Sphere(0.1), kt.Capsule(0.1, 0.2), kt.Box((0.1, 0.2, 0.3)), kt.Cylinder(0.1, 0.2),
        kt.Vertices(rng.normal(size=(9, 3))), kt.Vertices(rng.normal(size=(3, 3))),
    )  # fmt: skip
    for k, shape in enumerate(kinds):
        body = rng.choice(("world", *model.body_names))
        given = (kt.Pose.random(rng), *rng.uniform(0.1, 2, 3).tolist())
        model = model.add_geometry(str(body), shape, *given, name=f'g<{k}>"' if k == 2 else None)
    return model.replace(
        ground=(None, kt.Ground((1, 2, 3), 4), kt.Heightfield(rng.normal(size=(2, 3)), 0.3))[seed % 3]
    )


@pytest.mark.parametrize("suffix", ["urdf", "xml", "sdf", "json"])
@pytest.mark.parametrize("seed", range(3))
def test_files_keep_every_shape(seed, suffix, tmp_path):
    model = touching(seed, types=("revolute", "prismatic", "free"))
    again = kt.load(kt.save(model, tmp_path / f"m.{suffix}"))
    assert again.geometries == model.geometries and again.ground == model.ground
    assert [p.body for p in again.contact_points] == [p.body for p in model.contact_points]


def test_others_read_what_is_written(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = (
        kt.zoo.humanoid()
        .add_geometry("chest", kt.Box((0.1, 0.1, 0.1)), stiffness=1e5)
        .replace(ground=kt.Ground())
    )
    peer = mujoco.MjModel.from_xml_path(str(kt.save(model, tmp_path / "m.xml")))
    assert peer.ngeom == 8 + 1 + 1  # soles are flat: a ball for each corner
    text = (tmp_path / "m.xml").read_text()
    stripped = "\n".join(line for line in text.splitlines() if not line.startswith("<text"))
    again = kt.load(stripped)
    chest = next(part for part in again.geometries if part.name == "chest")
    assert chest.stiffness == pytest.approx(1e5) and chest.dissipation == pytest.approx(1.0)
    assert again.ground == kt.Ground()


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "3",
        '{"body": "nobody", "shape": "point"}',
        '{"body": "base", "shape": "sphere", "size": [-1]}',
        '{"body": "base", "shape": "sphere", "size": [1], "name": 3}',
        '{"body": "base", "shape": "sphere", "size": [1], "friction": NaN}',
        '{"body": "base", "shape": "sphere", "size": [1], "stiffness": -1}',
        '{"body": "base", "shape": "sphere", "size": [1' + "0" * 400 + "]}",
        "[" * 100_000,
    ],
)
def test_texts_of_our_own_are_not_trusted(text):
    own = f'<kinetree><ground>{{"height": 1}}</ground><geometry>{text}</geometry></kinetree>'
    collision = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    model = kt.load(urdf(collision, own), base="free")
    assert [part.shape for part in model.geometries] == [kt.Sphere(1.0)] and rules(model) == ["contact-shape"]
    assert model.ground is None


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of robot files is not here")
def test_public_files_there_and_back(tmp_path):
    """The shapes of public robots survive every format, and loading them changes nothing else."""
    seen = 0
    files: list[Path] = [*urdfs()[::40], *mjcfs()[::12]]
    for path in files:
        try:
            model, bare = kt.load(path), kt.load(path, geometry=False)
        except kt.errors.ModelError:
            continue
        bare_again = model.remade(geometries=(), ground=None, pairs=(), report=None)
        assert bare_again == bare.remade(report=None), path.name
        for suffix in ("json", "urdf", "xml", "sdf"):
            try:
                file = kt.save(model, tmp_path / f"m.{suffix}")
            except kt.errors.ModelError:
                continue
            again = kt.load(file)
            assert again.geometries == model.geometries and again.ground == model.ground, (path.name, suffix)
            assert again.pairs == model.pairs, (path.name, suffix)
            seen += len(model.geometries)
    assert seen > 500
