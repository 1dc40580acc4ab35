"""Mesh references: looked for inside the given directories, never fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from kinetree.io.attributes import shorten
from kinetree.io.files import confined
from kinetree.io.report import Log
from kinetree.io.xml import Element

_CHECKED = 5_000  # references


def check_meshes(
    root: Element, directory: Path | None, package_dirs: Iterable[str | os.PathLike[str]], log: Log
) -> None:
    """Record mesh references that lead outside of the given directories, or to no file."""
    roots = [Path(path) for path in package_dirs]
    for uri, element in list(_references(root).items())[:_CHECKED]:
        inside = [path for path in candidates(uri, directory, roots) if path is not None]
        if not inside and not uri.startswith(("http:", "https:")):
            problem = f"mesh {shorten(uri)!r} lies outside of the package directories"
            log.add("mesh-outside", element.where, problem)
        elif not any(path.is_file() for path in inside):
            log.add("mesh-missing", element.where, f"mesh {shorten(uri)!r} was not found")


def mesh_file(uri: str, directory: Path | None, roots: list[Path]) -> Path | None:
    """The file that a mesh reference leads to, if there is one inside of the given directories."""
    return next((path for path in candidates(uri, directory, roots) if path and path.is_file()), None)


def _references(root: Element) -> dict[str, Element]:
    """Every mesh file that a URDF or MJCF names, with the first element that does."""
    found: dict[str, Element] = {}
    for element in root.walk():
        uri = element.get("filename") or element.get("file") if element.tag == "mesh" else None
        if uri:
            found.setdefault(uri, element)
    return found


def candidates(uri: str, directory: Path | None, roots: list[Path]) -> Iterator[Path | None]:
    """Where a reference may lead; None stands for a place outside."""
    scheme, separator, rest = uri.partition("://")
    if not separator:
        for base in (*([directory] if directory else []), *roots):
            yield confined(uri, base, base)
    elif scheme in ("package", "model"):
        package, _, inner = rest.partition("/")
        for root in roots:
            yield confined(rest, root, root)
            if root.name == package:
                yield confined(inner, root, root)
    elif scheme == "file":
        for base in (*([directory] if directory else []), *roots):
            within = os.path.relpath(rest, base.resolve()) if os.path.isabs(rest) else rest
            yield confined(within, base, base)
