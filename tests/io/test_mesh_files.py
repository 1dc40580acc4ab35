"""Mesh files are read as they are meant, and refused by name where they are damaged or hostile."""

from __future__ import annotations

import numpy as np
import pytest
from tests.io import shapes

import kinetree as kt
from kinetree.io import mesh_files
from kinetree.io.mesh_files import read_mesh
from kinetree.io.polyhedra import Mesh, MeshError, bulk, is_closed
from kinetree.io.triangulate import triangles
from kinetree.model.hull import FlatError, convex_hull

VOLUME = 8 * 0.3 * 0.2 * 0.1


def of(tmp_path, name: str, content: bytes, **options):
    path = tmp_path / name
    path.write_bytes(content)
    return read_mesh(path, **options)


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.stl", shapes.stl(*shapes.box())),
        ("solid.stl", shapes.stl(*shapes.box(), header=b"solid but binary")),
        ("long.stl", shapes.stl(*shapes.box()) + b"trailing"),
        ("ascii.stl", shapes.ascii_stl(*shapes.box())),
        ("windows.STL", shapes.ascii_stl(*shapes.box(), newline="\r\n")),
        ("upper.stl", shapes.ascii_stl(*shapes.box()).upper()),
        ("a.obj", shapes.obj(*shapes.box())),
        ("windows.obj", shapes.obj(*shapes.box(), newline="\r\n")),
        ("a.msh", shapes.msh(*shapes.box())),
    ],
)
def test_formats(name, content, tmp_path):
    mesh = of(tmp_path, name, content)
    assert len(mesh.vertices) == 8 and len(mesh.faces) == 12 and is_closed(mesh)
    assert bulk(mesh, "exact").size == pytest.approx(VOLUME, rel=1e-6)


CORNERS = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))
QUADS = "f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"


def backwards(faces: str) -> str:
    """The same faces with indices that count from the last of eight vertices."""
    return shifted(faces, -9)


def shifted(faces: str, by: int) -> str:
    lines = ([int(k) + by for k in line.split()[1:]] for line in faces.splitlines())
    return "".join("f " + " ".join(map(str, line)) + "\n" for line in lines)


@pytest.mark.parametrize(
    "text",
    [
        CORNERS + QUADS,
        CORNERS + backwards(QUADS),
        CORNERS.replace("\n", " 1.0 0.5 0.5 0.5\n") + QUADS,  # colours
        CORNERS + QUADS.replace(" 4", " 4//7").replace(" 8", " 8/2/3"),
        CORNERS + QUADS.replace("f 5 7 8 6", "f 5 7 \\\n 8 6  # a comment"),
        "\ufeff# a byte order mark\n" + CORNERS + QUADS,
    ],
)
def test_polygons_of_obj(text, tmp_path):
    mesh = of(tmp_path, "a.obj", text.encode())
    assert bulk(mesh, "exact").size == pytest.approx(1.0) and is_closed(mesh)


def test_objects_of_obj(tmp_path):
    two = "o one\n" + CORNERS + QUADS + "o two\n" + CORNERS.replace("v 0", "v 5").replace("v 1", "v 6")
    two += shifted(QUADS, 8)
    both = of(tmp_path, "two.obj", two.encode())
    assert bulk(both, "exact").size == pytest.approx(2.0)
    assert bulk(of(tmp_path, "one.obj", two.encode(), first=True), "exact").size == pytest.approx(1.0)
    text = (
        '<mujoco><asset><mesh file="two.obj"/></asset><worldbody><body><joint/>'
        '<geom type="mesh" mesh="two"/></body></worldbody></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text)
    model = kt.load(tmp_path / "m.xml")
    assert model.total_mass == pytest.approx(1000.0)
    assert [f.rule for f in model.report if f.rule.startswith("mesh")] == ["mesh-objects"]


def outline_area(points) -> float:
    x, y = points.T
    return 0.5 * float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)))


@pytest.mark.parametrize("turn", [False, True])
def test_polygons_are_cut_without_overlap(turn, rng):
    for count in range(3, 30):
        angles = np.sort(rng.uniform(0, 2 * np.pi, count))
        flat = np.c_[np.cos(angles), np.sin(angles)] * rng.uniform(0.2, 1.0, (count, 1))
        if np.max(np.diff(angles, append=angles[0] + 2 * np.pi)) > 3:
            continue  # the middle lies outside
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0] if turn else np.eye(3)
        points = np.c_[flat, np.zeros(count)] @ R.T
        cut = points[np.array(triangles(points, range(count)))]
        normals = np.cross(cut[:, 1] - cut[:, 0], cut[:, 2] - cut[:, 0]) @ R[:, 2] * np.linalg.det(R)
        assert len(cut) == count - 2 and normals.min() > -1e-12
        assert normals.sum() / 2 == pytest.approx(outline_area(flat))


def damaged():
    points, faces = shapes.box()
    whole = shapes.stl(points, faces)
    more = (10**9).to_bytes(4, "little")
    bad = points.copy()
    bad[3, 1] = np.nan
    yield "empty.stl", b"", "84 bytes"
    yield "short.stl", whole[:60], "84 bytes"
    yield "cut.stl", whole[:-10], "12 triangles, but it ends after 11"
    yield "lies.stl", whole[:80] + more + whole[84:], "1000000000 triangles, but it ends after 12"
    yield "none.stl", whole[:80] + bytes(4), "no triangles"
    yield "nan.stl", shapes.stl(bad, faces), "not a finite number"
    yield "cut-ascii.stl", shapes.ascii_stl(points, faces)[:-60], "truncated"
    yield "words.stl", shapes.ascii_stl(points, faces).replace(b"0.1", b"x", 1), "truncated"
    yield "nan-ascii.stl", shapes.ascii_stl(bad, faces), "truncated"
    yield "huge-ascii.stl", shapes.ascii_stl(points, faces).replace(b"0.1", b"1e999", 1), "finite"
    yield "range.obj", (CORNERS + "f 1 2 9\n").encode(), "does not exist; there are 8"
    yield "below.obj", (CORNERS + "f 1 2 -9\n").encode(), "does not exist"
    yield "zero.obj", (CORNERS + "f 0 1 2\n").encode(), "line 9"
    yield "words.obj", (CORNERS + "f 1 two 3\n").encode(), "line 9"
    yield "big.obj", (CORNERS + f"f 1 2 {10**30}\n").encode(), "does not exist"
    yield "nan.obj", (CORNERS + "v nan 0 0\n" + QUADS).encode(), "not a finite number"
    yield "inf.obj", (CORNERS + "v 1e999 0 0\n" + QUADS).encode(), "not a finite number"
    yield "two.obj", b"v 1 2\n", "line 1"
    yield "short.msh", b"abc", "16 bytes"
    yield "cut.msh", shapes.msh(points, faces)[:-4], "do not match"
    yield "lies.msh", more * 4 + b"0" * 100, "do not match"
    yield "minus.msh", (b"\xff" * 4) * 4, "do not match"
    yield "range.msh", shapes.msh(points, faces + 7), "does not exist"
    yield "thing.xyz", b"0 0 0", "'xyz' are not read"
    yield "nothing", b"0 0 0", "are not read"


@pytest.mark.parametrize("name, content, problem", [pytest.param(*case, id=case[0]) for case in damaged()])
def test_damaged_files_are_refused_by_name(name, content, problem, tmp_path):
    with pytest.raises(MeshError, match=problem):
        of(tmp_path, name, content)
    (tmp_path / name).write_bytes(content)
    text = (
        f'<mujoco><asset><mesh name="m" file="{name}"/></asset><worldbody><body name="b"><joint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text)
    with pytest.warns(kt.errors.FileWarning):
        report = kt.load(tmp_path / "m.xml").report
    (found,) = (f for f in report if f.rule == "inertia-mesh")
    assert problem in found.problem and "body 'b'" in found.problem and "'m'" in found.problem


def test_sizes_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(mesh_files, "FACES", 10)
    for name, content in (("a.stl", shapes.stl(*shapes.box())), ("a.obj", shapes.obj(*shapes.box()))):
        with pytest.raises(MeshError, match="at most 10"):
            of(tmp_path, name, content)
    with (tmp_path / "sparse.stl").open("wb") as stream:
        stream.truncate(mesh_files.SIZE + 1)
    with pytest.raises(MeshError, match="bytes; at most"):
        read_mesh(tmp_path / "sparse.stl")
    with pytest.raises(MeshError, match="directory"):
        read_mesh(tmp_path, "stl")


@pytest.mark.parametrize(
    "asset, problem",
    [
        ('vertex="0 0 0 1 0 0 0 1 0"', "four vertices"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0"', "three per entry"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0 x"', "three per entry"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0 nan"', "not a finite"),
        ('vertex="0 0 0 1 0 0 0 1 0 1 1 0"', "one plane"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 4"', "does not exist"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 -1"', "does not exist"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 1.5"', "whole numbers"),
        ('vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 0 0"', "too small"),
        ('builtin="cone" params="3"', "takes 2 numbers"),
        ('builtin="cube" params="3"', "no built-in"),
        ('builtin="sphere" params="50"', "whole number"),
        ('builtin="sphere" params="x"', "not a number"),
        ('builtin="grid" params="9999 9999 9999 1 1 1"', "may not have more"),
        ('file="none.stl"', "not found"),
        ("", "four vertices"),
    ],
)
@pytest.mark.filterwarnings("ignore::kinetree.errors.FileWarning")
def test_meshes_within_the_file_are_checked(asset, problem, tmp_path):
    text = (
        f'<mujoco><asset><mesh name="m" {asset}/></asset><worldbody><body name="b"><joint/>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text)
    (found,) = (f for f in kt.load(tmp_path / "m.xml").report if f.rule == "inertia-mesh")
    assert problem in found.problem


def test_meshes_that_do_not_matter_are_not_opened(tmp_path, recwarn):
    text = (
        '<mujoco><asset><mesh name="m" file="none.stl"/></asset><worldbody><geom type="mesh" mesh="m"/>'
        '<body><joint/><geom type="mesh" mesh="m" mass="0"/><geom size="1"/></body></worldbody></mujoco>'
    )
    (tmp_path / "m.xml").write_text(text)
    assert not [f for f in kt.load(tmp_path / "m.xml").report if f.rule == "inertia-mesh"]
    assert not recwarn.list


# --- the integrals, by other means ---
TETRAHEDRON = (0.5854101966249685, 0.1381966011250105)  # a rule of degree 2 with four points of equal weight


def test_integrals_by_quadrature(rng):
    """Second moments of tetrahedra and triangles by quadrature that is exact for polynomials of degree 2."""
    points = rng.normal(size=(4, 3))
    if np.linalg.det(points[1:] - points[0]) < 0:
        points = points[[1, 0, 2, 3]]
    faces = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])
    a, b = TETRAHEDRON
    nodes = (a * np.eye(4) + b * (1 - np.eye(4))) @ points
    volume = np.linalg.det(points[1:] - points[0]) / 6
    check(bulk(Mesh(points, faces), "exact"), nodes, np.full(4, volume / 4))
    corners = points[faces]
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    middles = (corners + np.roll(corners, 1, axis=1)) / 2  # of the edges: exact for degree 2
    check(bulk(Mesh(points, faces), "shell"), middles.reshape(-1, 3), np.repeat(areas / 3, 3))


def check(found, nodes, weights):
    center = weights @ nodes / weights.sum()
    second = np.einsum("n,ni,nj->ij", weights, nodes - center, nodes - center)
    assert found.size == pytest.approx(weights.sum())
    assert np.allclose(found.center, center, atol=1e-12)
    assert np.allclose(found.moments, np.trace(second) * np.eye(3) - second, atol=1e-12)


def test_hulls(rng):
    for count in (4, 5, 20, 300):
        for stretch in ((1, 1, 1), (1, 1, 1e-5), (1, 1e-4, 1e-4)):
            points = rng.normal(size=(count, 3)) * stretch + rng.normal(size=3)
            faces = convex_hull(points)
            corners = points[faces]
            normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            normals /= np.linalg.norm(normals, axis=1)[:, None]
            heights = points @ normals.T - (corners[:, 0] * normals).sum(axis=1)
            assert heights.max() < 1e-12 and is_closed(Mesh(points, faces))
            assert len(faces) == 2 * len(np.unique(faces)) - 4  # Euler


def test_hulls_of_lattices():
    """Most points lie in the planes and on the edges of others."""
    axis = np.linspace(0, 0.1, 7).astype(np.float32).astype(float)
    lattice = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3)
    volume = bulk(Mesh(lattice, np.zeros((0, 3), int)), "convex").size
    assert volume == pytest.approx(axis[-1] ** 3, rel=1e-14)


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.zeros((9, 3)), np.eye(3), np.eye(4, 3) * (1, 1, 0)])
def test_points_without_a_hull(points):
    with pytest.raises(FlatError):
        convex_hull(np.asarray(points, dtype=float))


def test_mutated_files_are_meshes_or_refused(tmp_path, rng):
    """Whatever the bytes, there is a mesh with finite vertices, or a reason why not."""
    whole = {
        "a.stl": shapes.stl(*shapes.box()),
        "b.stl": shapes.ascii_stl(*shapes.box()),
        "a.obj": shapes.obj(*shapes.box()),
        "a.msh": shapes.msh(*shapes.box()),
    }
    refused = 0
    for name, content in whole.items():
        for _ in range(60):
            data = bytearray(content)
            for place in rng.integers(0, len(data), rng.integers(1, 6)):
                data[place] = rng.integers(0, 256)
            if rng.random() < 0.3:
                del data[rng.integers(0, len(data)) :]
            try:
                mesh = of(tmp_path, name, bytes(data))
            except MeshError:
                refused += 1
                continue
            assert np.all(np.isfinite(mesh.vertices))
            for mode in ("convex", "exact", "legacy", "shell"):
                try:
                    assert np.all(np.isfinite(bulk(mesh, mode).moments))
                except MeshError as error:
                    assert str(error)
    assert 20 < refused < 220
