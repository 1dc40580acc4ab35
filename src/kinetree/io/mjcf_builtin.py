"""The meshes that MuJoCo's compiler builds itself: `<mesh builtin= params=>`."""

from __future__ import annotations

from kinetree.io.attributes import shorten
from kinetree.io.polyhedra import Mesh, MeshError
from kinetree.io.xml import Element


def builtin_mesh(element: Element) -> Mesh:
    """The mesh of a `builtin` attribute."""
    raise MeshError(f"the built-in mesh {shorten(element.get('builtin') or '')!r} is not known here")
