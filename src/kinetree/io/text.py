"""Numbers, names and attributes as text for XML files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.io.attributes import LARGEST
from kinetree.io.notes import floats
from kinetree.spatial.pose import Pose
from kinetree.spatial.rotation import Rotation

CUSTOM = "kinetree:"  # prefix of our names in MJCF, for data that MJCF cannot express
GEOMETRY, GROUND, PAIR = "geometry", "ground", "pair"  # our own elements, with entries of `Model.to_dict`


def numbers(values: Iterable[Any]) -> str:
    return " ".join(number(x) for x in values)


def number(x: Any) -> str:
    """The shortest text that parses to the same double."""
    if not ops.is_literal(x):
        raise ModelError(f"{x!r} is not a plain number: substitute values before saving")
    value = float(x) + 0.0  # no negative zeros
    if not abs(value) <= LARGEST:
        raise ModelError(f"{value:g} is too large: this format takes numbers up to {LARGEST:g}; save as JSON")
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def attributes(**values: str) -> str:
    """Attributes with escaped values, each preceded by a blank."""
    return "".join(f' {key}="{escape(value)}"' for key, value in values.items())


def escape(text: str) -> str:
    """Text escaped for use between double quotes in XML."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return "".join(c if c.isprintable() else f"&#{ord(c)};" for c in text)


def element(tag: str, end: str = "/", **values: str) -> str:
    """The text of an element; with end="" it stays open."""
    return f"<{tag}{attributes(**values)}{end}>"


def place_of(placement: Pose, owner: str) -> dict[str, str]:
    """The MJCF attributes of a pose."""
    out = {}
    p, R = floats(placement.p, owner), floats(placement.R, owner)
    if p.any():
        out["pos"] = numbers(p)
    if np.any(np.eye(3) != R):
        x, y, z, w = Rotation.from_matrix(R.tolist()).as_quaternion()
        out["quat"] = numbers((w, x, y, z))
    return out
