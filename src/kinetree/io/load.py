"""`kt.load`: a robot from a file or a text, whatever format it is in."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, NoReturn

from kinetree.io.build import build, prepare
from kinetree.io.description import Description
from kinetree.io.files import read_bytes
from kinetree.io.jsonfile import read_json
from kinetree.io.meshes import check_meshes
from kinetree.io.mjcf import read_mjcf
from kinetree.io.report import Log, Where, refuse
from kinetree.io.tree import BASES
from kinetree.io.urdf import read_urdf
from kinetree.io.xml import Element, read_xml
from kinetree.model import Model

FORMATS = ("urdf", "mjcf", "json")
_ROOTS = {"robot": "urdf", "mujoco": "mjcf", "mujocoinclude": "mjcf"}


class Document(NamedTuple):
    """The content of a source, the name that messages use, and the directory it lies in (None for text)."""

    content: bytes | str
    file: str
    directory: Path | None


def load(
    source: str | bytes | os.PathLike[str],
    *,
    format: str | None = None,
    repair: bool = False,
    snap: float = 0.0,
    base: str | None = None,
    package_dirs: Iterable[str | os.PathLike[str]] = (),
    merge_fixed: bool = True,
) -> Model:
    """The robot that a URDF, MJCF or kinetree JSON file describes.

    Args:
        source: a path, or the text of a file; a text begins with `<` or `{`.
        format: "urdf", "mjcf" or "json"; recognised by content if None.
        repair: mend what can be mended (see `kinetree.io.rules`); every change is in `model.report.repaired`.
        snap: placements within this many radians of a right angle become exact, offsets of at most this many
            metres become zero, axes within it of a coordinate axis become exact. 0 keeps the file's numbers.
        base: "free" lets the root link float, "fixed" welds it to the world, None keeps what the file says (a
            URDF root is welded).
        package_dirs: directories in which `package://` references are looked up. Meshes have no part in
            dynamics and are never opened; with directories given, the report names those that are missing.
        merge_fixed: make links on fixed joints a part of their parents (they stay as frames). False keeps
            them as bodies with fixed joints.

    Returns:
        The model, with what was merged, repaired and ignored in `model.report`.

    Raises:
        FileError: a `ModelError` that names file, line, element, rule and remedy.
    """
    document = open_document(source)
    _check_options(document, format, snap, base)
    if kind_of(document, format) == "json":
        return read_json(document.content, document.file)
    log = Log(repair, strict=True)
    robot = describe(document, format, log)
    directories = tuple(package_dirs)
    if directories and robot.document is not None:
        check_meshes(robot.document, document.directory, directories, log)
    prepare(robot, log, base=base, snap=snap, merge=merge_fixed)
    return build(robot, log)


def describe(document: Document, format: str | None, log: Log) -> Description:
    """What an XML document says about a robot."""
    root = read_xml(document.content, document.file)
    kind = format or _ROOTS.get(root.tag)
    if kind == "urdf" and root.tag == "robot":
        return read_urdf(root, log)
    if kind == "mjcf" and root.tag in _ROOTS and _ROOTS[root.tag] == "mjcf":
        return read_mjcf(root, document.directory, log)
    _refuse_root(root, format)


def _refuse_root(root: Element, format: str | None) -> NoReturn:
    wanted = f"a {format} file" if format else "a robot file"
    remedies = {"sdf": "Convert the SDF to URDF or MJCF first.", "xacro": "Expand it with xacro first."}
    refuse(
        "format",
        root.where,
        f"the root element <{root.tag}> is not that of {wanted}",
        remedies.get(root.tag, ""),
    )


def kind_of(document: Document, format: str | None) -> str:
    """ "json" or "xml", from the given format or the first character."""
    if format is not None:
        return "json" if format == "json" else "xml"
    head = document.content[:4096].lstrip()
    return "json" if head[:1] in ("{", b"{") else "xml"


def open_document(source: str | bytes | os.PathLike[str]) -> Document:
    """Read a path, or take a text as it is."""
    if isinstance(source, (bytes, bytearray)):
        return Document(bytes(source), "<text>", None)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] in ("<", "{"):
        return Document(source.lstrip("\ufeff"), "<text>", None)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"load needs a path or a text, got {type(source).__name__}")
    return Document(read_bytes(source), os.fspath(source), Path(source).resolve().parent)


def _check_options(document: Document, format: str | None, snap: float, base: str | None) -> None:
    where = Where(document.file, 0, "load")
    if format is not None and format not in FORMATS:
        refuse("value", where, f"format={format!r}", f"Use one of: {', '.join(FORMATS)}, or None.")
    if base not in BASES:
        refuse("value", where, f"base={base!r}", "Use 'free', 'fixed' or None.")
    if not 0.0 <= snap <= 0.1:
        refuse(
            "value", where, f"snap={snap!r}", "Use a tolerance between 0 and 0.1 (rad and m), such as 1e-3."
        )
