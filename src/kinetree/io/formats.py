"""The file formats, one entry each; no other module of the library names a format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinetree.io.collisions import Collisions
from kinetree.io.description import Description
from kinetree.io.files import LAYERS, Document
from kinetree.io.fix_mjcf import fix_mjcf
from kinetree.io.fix_sdf import fix_sdf
from kinetree.io.fix_urdf import fix_urdf
from kinetree.io.jsonfile import read_json, write_json
from kinetree.io.mjcf import read_mjcf
from kinetree.io.mjcf_collisions import read_mjcf_collisions
from kinetree.io.report import Log, Where, refuse
from kinetree.io.save_mjcf import write_mjcf
from kinetree.io.save_sdf import write_sdf
from kinetree.io.save_urdf import write_urdf
from kinetree.io.sdf import read_sdf
from kinetree.io.sdf_collisions import read_sdf_collisions
from kinetree.io.splice import Splice
from kinetree.io.urdf import read_urdf
from kinetree.io.urdf_collisions import read_urdf_collisions
from kinetree.io.usd import read_usd
from kinetree.io.usd_collisions import read_usd_collisions
from kinetree.model import Model


class Format(NamedTuple):
    """How a format is recognised, read, repaired and written.

    A reader returns a finished model, or a `Description`, which is then checked, repaired and built.
    """

    suffixes: tuple[str, ...]
    read: Callable[[Document, Log], Description | Model]
    repair: Callable[[Splice, Description, Description], None] | None  # edits, robot after and before repair
    write: Callable[[Model], str] | None
    roots: tuple[str, ...] = ()  # tags of the root element, for XML
    opening: str = "<"  # characters that a file may begin with
    postures: bool = False  # whether it can store named configurations
    collisions: Callable[[Collisions, Any], None] | None = None  # reads collision shapes


FORMATS = {
    "urdf": Format((".urdf",), read_urdf, fix_urdf, write_urdf, ("robot",), collisions=read_urdf_collisions),
    "mjcf": Format(
        (".mjcf", ".xml"),
        read_mjcf,
        fix_mjcf,
        write_mjcf,
        ("mujoco", "mujocoinclude"),
        postures=True,
        collisions=read_mjcf_collisions,
    ),
    "sdf": Format((".sdf", ".world"), read_sdf, fix_sdf, write_sdf, ("sdf",), collisions=read_sdf_collisions),
    "usd": Format(LAYERS, read_usd, None, None, opening="#P", collisions=read_usd_collisions),
    "json": Format((".json",), read_json, None, write_json, opening="{", postures=True),
}

_REMEDIES = {"xacro": "Expand it with xacro first."}


def format_of(document: Document, name: str | None) -> Format:
    """The format with this name, or the one recognised from the content if it is None."""
    if name is not None and name not in FORMATS:
        where = Where(document.file, 0, "load")
        refuse("value", where, f"format={name!r}", f"Use one of: {', '.join(FORMATS)}, or None.")
    candidates = [FORMATS[name]] if name is not None else list(FORMATS.values())
    for format in candidates:
        if not format.roots and (name is not None or (document.opening or "?") in format.opening):
            return format
    root = document.root
    for format in candidates:
        if root.tag in format.roots:
            return format
    problem = f"the root element <{root.tag}> is not that of a {name or 'robot'} file"
    refuse("format", root.where, problem, _REMEDIES.get(root.tag, ""))
