"""Meshes in formats that trimesh reads."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from tests.io import shapes

import kinetree as kt
from kinetree.io.mesh_files import read_mesh
from kinetree.io.polyhedra import MeshError, bulk, is_closed


def export(tmp_path, kind: str):
    trimesh = pytest.importorskip("trimesh")
    if kind == "dae":
        pytest.importorskip("collada")
    path = tmp_path / f"m.{kind}"
    points, faces = shapes.star()
    trimesh.Trimesh(points, faces, process=False).export(path)
    return path


@pytest.mark.parametrize("kind", ["glb", "ply", "off", "dae"])
def test_formats(kind, tmp_path):
    mesh = read_mesh(export(tmp_path, kind))
    expected = bulk(kt.io.polyhedra.Mesh(*shapes.star()), "exact")
    found = bulk(mesh, "exact")
    assert is_closed(mesh)
    assert found.size == pytest.approx(expected.size, rel=1e-5)
    assert np.allclose(found.center, expected.center, atol=1e-5)
    assert np.allclose(found.moments, expected.moments, atol=1e-5 * np.abs(expected.moments).max())


def test_units_of_collada(tmp_path):
    path = export(tmp_path, "dae")
    text = path.read_text()
    volume = bulk(read_mesh(path), "exact").size
    if "<unit" in text:
        start = text.index("<unit")
        text = text.replace(text[start : text.index("/>", start) + 2], "")
    path.write_text(text.replace("<asset>", '<asset><unit meter="0.01" name="centimeter"/>', 1))
    assert bulk(read_mesh(path), "exact").size == pytest.approx(volume * 1e-6, rel=1e-5)


@pytest.mark.parametrize("kind", ["glb", "ply", "dae"])
def test_damaged_files(kind, tmp_path):
    path = export(tmp_path, kind)
    content = path.read_bytes()
    for cut in (0, 10, len(content) // 2):
        path.write_bytes(content[:cut])
        with pytest.raises(MeshError):
            read_mesh(path)
    path.write_bytes(b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + content)
    with pytest.raises(MeshError, match="entities"):
        read_mesh(path)


def test_buffers_beside_a_gltf_file_and_nowhere_else(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    folder = tmp_path / "inside"
    folder.mkdir()
    files = trimesh.exchange.gltf.export_gltf(trimesh.Scene(trimesh.Trimesh(*shapes.star(), process=False)))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (path,) = folder.glob("*.gltf")
    assert is_closed(read_mesh(path))
    tree = json.loads(path.read_text())
    for buffer in tree["buffers"]:
        (tmp_path / buffer["uri"]).write_bytes((folder / buffer["uri"]).read_bytes())
        buffer["uri"] = f"../{buffer['uri']}"
    path.write_text(json.dumps(tree))
    with pytest.raises(MeshError, match="not in its folder"):
        read_mesh(path)


def test_the_package_is_named_if_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    path = tmp_path / "m.glb"
    path.write_bytes(b"glTF")
    with pytest.raises(MeshError, match=r"kinetree\[files\]"):
        read_mesh(path)
