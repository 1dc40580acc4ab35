"""Mesh references of a document: looked up in the allowed folders, never fetched."""

from __future__ import annotations

from kinetree.io.attributes import shorten
from kinetree.io.paths import Reach
from kinetree.io.report import Log
from kinetree.io.xml import Element

_CHECKED = 5_000  # most references that are checked


def check_meshes(root: Element, reach: Reach, log: Log) -> None:
    """Record mesh references that lead outside the allowed folders, or to no file."""
    for uri, element in list(_references(root).items())[:_CHECKED]:
        inside = reach.mesh(uri)
        if not inside and not uri.startswith(("http:", "https:")):
            problem = f"mesh {shorten(uri)!r} lies outside the package directories"
            log.add("mesh-outside", element.where, problem)
        elif not any(path.is_file() for path in inside):
            log.add("mesh-missing", element.where, f"mesh {shorten(uri)!r} was not found")


def _references(root: Element) -> dict[str, Element]:
    """Every mesh file that a document names, with the first element that names it."""
    found: dict[str, Element] = {}
    for element in root.walk():
        if element.tag != "mesh":
            continue
        inner = element.find("uri")  # of SDF
        uri = element.get("filename") or element.get("file") or (inner.text.strip() if inner else "")
        if uri:
            found.setdefault(uri, element)
    return found
