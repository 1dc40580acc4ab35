"""Numbers, names and attributes as XML files write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.io.attributes import LARGEST


def numbers(values: Iterable[Any]) -> str:
    return " ".join(number(x) for x in values)


def number(x: Any) -> str:
    """The shortest text that reads back as the same double."""
    if not ops.is_literal(x):
        raise ModelError(f"{x!r} is not a plain number: substitute values before saving")
    value = float(x) + 0.0  # no negative zeros
    if not abs(value) <= LARGEST:
        raise ModelError(f"{value:g} is too large: files hold numbers up to {LARGEST:g}: save as JSON")
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def attributes(**values: str) -> str:
    """Attributes with their values escaped, each after a blank."""
    return "".join(f' {key}="{escape(value)}"' for key, value in values.items())


def escape(text: str) -> str:
    """Text as it may stand between double quotes in XML."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return "".join(c if c.isprintable() else f"&#{ord(c)};" for c in text)
