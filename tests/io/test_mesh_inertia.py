"""Inertia from geometry: meshes, fitted primitives and shells weigh what they weigh in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io import shapes

import kinetree as kt

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-10


def inertia_of(peer, body=1) -> np.ndarray:
    """Mass, first moments and the inertia about the body's origin, from the principal ones of MuJoCo."""
    mass, com = peer.body_mass[body], np.array(peer.body_ipos[body])
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, peer.body_iquat[body])
    R = R.reshape(3, 3)
    cx = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    about = R @ np.diag(peer.body_inertia[body]) @ R.T - mass * cx @ cx
    return np.concatenate([[mass], mass * com, about[np.triu_indices(3)]])


def ours(model) -> np.ndarray:
    inertia = model.bodies[0].inertia
    first = inertia.mass * np.array(inertia.com) if inertia.mass else np.zeros(3)
    xx, yy, zz, xy, xz, yz = inertia.second
    return np.array([inertia.mass, *first, xx, xy, xz, yy, yz, zz], dtype=float)


def deviation(a, b) -> float:
    """The largest difference of two inertias, against mass, mass times length, mass times length squared.

    Masses, centres and principal moments are compared as they are. MuJoCo finds principal axes up to turns of
    about 1e-6 rad, by which a moment changes little and a product of inertia by their difference: the
    inertias about the centre are compared with that in mind.
    """
    length = np.sqrt(max(b[4], b[7], b[9]) / b[0])
    scale = b[0] * length**2
    A, B = central(a), central(b)
    first = np.max(np.abs(a[:4] - b[:4]) / (b[0] * np.array([1, length, length, length])))
    principal = np.max(np.abs(np.linalg.eigvalsh(A) - np.linalg.eigvalsh(B))) / scale
    whole = np.max(np.abs(A - B)) / max(np.ptp(np.linalg.eigvalsh(B)), 1e-6 * scale)
    return float(max(first, principal, TOLERANCE * whole / 4e-6))


def central(p) -> np.ndarray:
    """The inertia about the centre of mass."""
    I, c = np.zeros((3, 3)), p[1:4] / p[0]
    I[np.triu_indices(3)] = p[4:]
    I = I + np.triu(I, 1).T
    return I - p[0] * (c @ c * np.eye(3) - np.outer(c, c))


def mjcf(asset: str, geom: str, head: str = "") -> str:
    body = f'<body name="b"><joint/><geom {geom}/></body>'
    return f"<mujoco>{head}<asset>{asset}</asset><worldbody>{body}</worldbody></mujoco>"


def both(path, asset: str, geom: str = 'type="mesh" mesh="m"', head: str = ""):
    """The inertia here, and in MuJoCo or None where it refuses; and the rules of the findings."""
    main = path / "main.xml"
    main.write_text(mjcf(asset, geom, head))
    model = kt.load(main)
    try:
        peer = inertia_of(mujoco.MjModel.from_xml_path(str(main)))
    except ValueError:
        peer = None
    return ours(model), peer, {f.rule for f in model.report}


@pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
@pytest.mark.parametrize("mode", ["convex", "exact", "legacy", "shell"])
@pytest.mark.parametrize("name", shapes.MESHES)
def test_meshes_weigh_what_they_weigh_in_mujoco(name, mode, tmp_path):
    compared = 0
    for kind, write in shapes.WRITERS.items():
        (tmp_path / f"m.{kind}").write_bytes(write(*shapes.MESHES[name]()))
        here, there, rules = both(tmp_path, f'<mesh name="m" file="m.{kind}" inertia="{mode}"/>')
        if there is None:  # MuJoCo refuses the file: a finding says why
            assert "inertia-mesh" in rules and here[0] == 0, kind
            continue
        assert deviation(here, there) < TOLERANCE, kind
        assert "inertia-mesh" not in rules
        compared += 1
    assert compared == 3 or (mode == "exact" and name in ("flipped", "mixed", "degenerate", "torn"))


PLACED = 'scale="0.7 -1.2 2" refpos="0.1 0.2 -0.3" refquat="1 2 -1 0.5"'
GEOM = 'type="mesh" mesh="m" pos="0.1 -0.2 0.3" euler="20 30 40"'


@pytest.mark.parametrize("mode", ["convex", "exact", "legacy", "shell"])
@pytest.mark.parametrize("amount", ["", 'density="250"', 'mass="3"', 'mass="3" density="1"'])
def test_places_scales_and_densities(mode, amount, tmp_path):
    (tmp_path / "m.stl").write_bytes(shapes.stl(*shapes.star()))
    asset = f'<mesh name="m" file="m.stl" inertia="{mode}" {PLACED}/>'
    here, there, _ = both(tmp_path, asset, f"{GEOM} {amount}")
    assert there is not None and deviation(here, there) < TOLERANCE


@pytest.mark.parametrize("faces", [True, False])
def test_meshes_within_the_file(faces, tmp_path):
    points, triangles = shapes.star()
    numbers = shapes.inline(points, triangles if faces else [])
    for mode in ("exact", "convex", "shell", "legacy"):
        here, there, _ = both(tmp_path, f'<mesh name="m" {numbers} inertia="{mode}" {PLACED}/>', GEOM)
        assert there is not None and deviation(here, there) < TOLERANCE


def test_defaults_and_the_name_of_the_file(tmp_path):
    (tmp_path / "arm.STL").write_bytes(shapes.stl(*shapes.star()))
    head = '<default><mesh inertia="exact"/><default class="s"><mesh scale="2 2 2"/></default></default>'
    for given in ("", 'class="s"'):
        here, there, _ = both(tmp_path, f'<mesh file="arm.STL" {given}/>', 'type="mesh" mesh="arm"', head)
        assert there is not None and deviation(here, there) < TOLERANCE


@pytest.mark.parametrize("aabb", ["true", "false"])
@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box", None])
@pytest.mark.parametrize("name", ["star", "sphere", "box"])
def test_primitives_that_stand_for_a_mesh(name, kind, aabb, tmp_path):
    (tmp_path / "m.obj").write_bytes(shapes.obj(*shapes.MESHES[name]()))
    given = f'type="{kind}"' if kind else ""
    head = f'<compiler fitaabb="{aabb}"/>'
    tolerance = 1e-6 if aabb == "true" else TOLERANCE  # as exact as the axes of MuJoCo
    for more in ("", 'fitscale="1.3" pos="1 2 3" euler="10 20 30"', 'shellinertia="true"'):
        here, there, _ = both(tmp_path, '<mesh name="m" file="m.obj"/>', f'{given} mesh="m" {more}', head)
        assert there is not None and deviation(here, there) < tolerance, more


PRIMITIVES = {
    "sphere": 'size="0.2"',
    "capsule": 'size="0.1 0.3"',
    "cylinder": 'size="0.1 0.3"',
    "ellipsoid": 'size="0.1 0.25 0.4"',
    "box": 'size="0.1 0.2 0.3"',
}
BETWEEN = 'fromto="0.1 0.2 0.3 0.5 -0.1 0.2" size="0.07"'


@pytest.mark.parametrize("hollow", [True, False])
@pytest.mark.parametrize("kind", PRIMITIVES)
def test_primitives_solid_and_hollow(kind, hollow, tmp_path):
    shell = 'shellinertia="true"' if hollow else ""
    sizes = [f'{PRIMITIVES[kind]} pos="0.3 0.1 0.2" euler="10 20 30"']
    sizes += [BETWEEN] if kind != "sphere" else []
    for size in sizes:
        for amount in ("", 'mass="2"', 'density="30"'):
            here, there, _ = both(tmp_path, "", f'type="{kind}" {size} {amount} {shell}')
            tolerance = 1e-9 if hollow and kind == "ellipsoid" else TOLERANCE  # MuJoCo subtracts two solids
            assert there is not None and deviation(here, there) < tolerance, (size, amount)


@pytest.mark.parametrize("groups, expected", [("0 5", 3), ("1 2", 1), ("2 5", 1), ("3 3", 0)])
def test_groups_that_count(groups, expected, tmp_path):
    (tmp_path / "m.stl").write_bytes(shapes.stl(*shapes.box()))
    geoms = "/><geom ".join(
        ['type="mesh" mesh="m"', 'size="0.2" group="1"', 'type="mesh" mesh="m" pos="1 0 0" group="4"']
    )
    head = f'<compiler inertiagrouprange="{groups}" boundmass="1e-3" boundinertia="1e-3"/>'
    here, there, _ = both(tmp_path, '<mesh name="m" file="m.stl"/>', geoms, head)
    assert there is not None and np.allclose(here, there, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["true", "false", "auto"])
def test_inertia_from_geom(mode, tmp_path):
    (tmp_path / "m.stl").write_bytes(shapes.stl(*shapes.star()))
    inertial = '<inertial pos="0.1 0 0" mass="3" diaginertia="0.1 0.2 0.25"/>'
    geom = f'type="mesh" mesh="m"/>{inertial}<geom mass="0" size="1"'
    head = f'<compiler inertiafromgeom="{mode}"/>'
    here, there, _ = both(tmp_path, '<mesh name="m" file="m.stl"/>', geom, head)
    assert there is not None and deviation(here, there) < TOLERANCE
    assert (here[0] == 3.0) == (mode != "true")


BUILTIN = {
    "sphere": ["0", "2"],
    "hemisphere": ["0", "1", "4"],
    "cone": ["3 0", "5 0.4", "7 1"],
    "supersphere": ["3 0.5 1.2", "9 0.7 0.3"],
    "supertorus": ["5 0.3 1 1", "8 0.2 0.5 1.4"],
    "wedge": ["5 3 90 45 0.3", "4 6 120 30 0"],
    "grid": ["3 4 2 0.1 0.2 0.3", "3 3 3 0.1 0.1 0.1 3"],
    "box": ["3 4 3 0.1 0.2 0.3", "3 2 4 0.1 0.2 0.1 2"],
    "cylinder": ["3 4 5 0.1 0.2 0.1", "4 3 3 0.1 0.2 0.3 2"],
    "ellipsoid": ["3 4 5 0.1 0.2 0.1", "4 3 3 0.1 0.2 0.3 2"],
    "plate": ["3 4"],
    "square": ["3 4 1 0.1 0.2 0.3"],
    "disc": ["3 4 1 0.1 0.2 0.3"],
}


@pytest.mark.parametrize("kind", BUILTIN)
def test_meshes_that_are_built_in(kind, tmp_path):
    compared = 0
    for params in BUILTIN[kind]:
        for mode in ("", 'inertia="convex"', 'inertia="shell"', 'inertia="exact"'):
            asset = f'<mesh name="m" builtin="{kind}" params="{params}" {mode} scale="1 1.1 0.9"/>'
            here, there, _ = both(tmp_path, asset, 'type="mesh" mesh="m" contype="0" conaffinity="0"')
            if there is not None and there[0] > 1e-6:
                assert deviation(here, there) < 1e-6, (params, mode)  # some points are of floats
                compared += 1
    assert compared


URDF = """<robot name="r">{extra}<link name="base"/>
<link name="b">{geometry}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>"""
ORIGIN = '<origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/>'
GEOMETRIES = {
    "box": '<box size="0.2 0.4 0.6"/>',
    "sphere": '<sphere radius="0.2"/>',
    "cylinder": '<cylinder radius="0.1" length="0.6"/>',
    "mesh": '<mesh filename="m.stl" scale="0.5 1 2"/>',
    "mirrored mesh": '<mesh filename="m.stl" scale="-0.5 1 2"/>',
}


@pytest.mark.parametrize("tag", ["collision", "visual"])
@pytest.mark.parametrize("kind", GEOMETRIES)
def test_urdf_links_may_take_their_inertia_from_their_geometry(kind, tag, tmp_path):
    (tmp_path / "m.stl").write_bytes(shapes.stl(*shapes.sphere()))
    geometry = f"<{tag}>{ORIGIN}<geometry>{GEOMETRIES[kind]}</geometry></{tag}>" * 2
    compiler = '<mujoco><compiler discardvisual="false" strippath="false" fusestatic="false"/></mujoco>'
    path = tmp_path / "r.urdf"
    path.write_text(URDF.format(extra="", geometry=geometry))
    with pytest.warns(kt.errors.FileWarning, match="has inertia"):
        assert kt.load(path).total_mass == 0.0
    model = kt.load(path, density=1000)
    assert "inertia-geometry" in {f.rule for f in model.report}
    if tag == "visual":  # MuJoCo weighs collision geometry only
        path.write_text(path.read_text().replace("visual>", "collision>"))
    path.write_text(path.read_text().replace('<robot name="r">', f'<robot name="r">{compiler}'))
    peer = mujoco.MjModel.from_xml_path(str(path))
    assert deviation(ours(model), inertia_of(peer, peer.body("b").id)) < TOLERANCE


def test_an_inertial_comes_before_the_geometry():
    inertial = '<inertial><mass value="2"/></inertial>'
    geometry = "<collision><geometry><sphere radius='1'/></geometry></collision>"
    assert kt.load(URDF.format(extra="", geometry=inertial + geometry), density=9.0).total_mass == 2.0


@pytest.mark.parametrize("density", [0, -1, float("nan"), float("inf")])
def test_a_density_is_positive(density):
    with pytest.raises(kt.errors.FileError, match="density"):
        kt.load(URDF.format(extra="", geometry=""), density=density)


def test_an_open_mesh_is_filled_as_its_hull(tmp_path):
    for name in ("torn", "star"):
        (tmp_path / "m.stl").write_bytes(shapes.stl(*shapes.MESHES[name]()))
        text = URDF.format(
            extra="", geometry='<visual><geometry><mesh filename="m.stl"/></geometry></visual>'
        )
        (tmp_path / "r.urdf").write_text(text)
        model = kt.load(tmp_path / "r.urdf", density=1000)
        mode = "convex" if name == "torn" else "exact"
        there = both(tmp_path, f'<mesh name="m" file="m.stl" inertia="{mode}"/>')[1]
        assert deviation(ours(model), there) < TOLERANCE
        assert ("mesh-open" in {f.rule for f in model.report}) == (name == "torn")
