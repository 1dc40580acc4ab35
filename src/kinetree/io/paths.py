"""Where files referenced by a robot file may be: in its own folder and in those the caller allows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

Folder = str | os.PathLike[str]
Folders = Folder | Iterable[Folder]


def folders_of(given: Folders) -> tuple[Path, ...]:
    """The folders given by an option: one, or several.

    `$NAME`, alone or before a path, stands for each folder in the environment variable NAME, such as
    `$ROS_PACKAGE_PATH`; the environment is not used otherwise.
    """
    several = (given,) if isinstance(given, (str, os.PathLike)) else tuple(given)
    return tuple(path for each in several for path in _expanded(os.fspath(each)))


def _expanded(given: str) -> Iterator[Path]:
    if not given.startswith("$"):
        yield Path(given)
        return
    name, _, inner = given[1:].partition("/")
    for folder in os.environ.get(name, "").split(os.pathsep):
        if folder:
            yield Path(folder) / inner


def confined(path: str, base: Path, *roots: Path) -> Path | None:
    """The file `path` relative to `base`, or None if it is outside all `roots`; links are resolved first."""
    if "\0" in path or "://" in path:
        return None
    try:
        target = (base / path.replace("\\", "/")).resolve()
        inside = any(target.is_relative_to(root.resolve()) for root in roots)
    except (OSError, ValueError, RuntimeError):
        return None
    return target if inside else None


class Reach(NamedTuple):
    """The folders in which the files of a document are looked up; nothing is read outside them."""

    own: Path | None = None  # the document's own folder; None for a text
    include: tuple[Path, ...] = ()
    packages: tuple[Path, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        return (*([self.own] if self.own is not None else []), *self.include, *self.packages)

    def seen_from(self, folder: Path) -> Reach:
        """The same folders, for a file in one of them."""
        own = (self.own,) if self.own is not None else ()
        return self._replace(own=folder, include=tuple(dict.fromkeys((*own, *self.include))))

    def part(self, name: str, beside: Path | None = None) -> list[Path]:
        """Where an included file, or a mesh without a URI scheme, may be; relative to `beside` first."""
        bases = dict.fromkeys((*([beside] if beside is not None else []), *self.roots))
        found = (confined(name, base, *self.roots) for base in bases)
        return [path for path in dict.fromkeys(found) if path is not None]

    def mesh(self, uri: str) -> list[Path]:
        """Where a mesh may be, for a plain path or a package://, model:// or file:// URI."""
        scheme, separator, rest = uri.partition("://")
        if not separator:
            return self.part(uri)
        if scheme == "file":
            return self.part(rest)
        found: list[Path | None] = []
        package, _, inner = rest.partition("/")
        for root in (*self.packages, *self.include) if scheme in ("package", "model") else ():
            found.append(confined(rest, root, root))
            if root.resolve().name == package:
                found.append(confined(inner, root, root))
        return [path for path in dict.fromkeys(found) if path is not None]

    def mesh_file(self, uri: str) -> Path | None:
        """The file of a mesh reference, if it exists."""
        return next((path for path in self.mesh(uri) if path.is_file()), None)
