"""What is to be read: a file or a text, with the name that messages use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kinetree.io.files import read_bytes
from kinetree.io.xml import Element, read_xml


@dataclass
class Document:
    """The content of a source, the name that messages use, and the directory it lies in (None for text)."""

    content: bytes | str
    file: str
    directory: Path | None

    @property
    def opening(self) -> str:
        """The first character that is not blank: `<` for XML, `{` for JSON."""
        head = self.content[:4096].lstrip()[:1]
        return head if isinstance(head, str) else head.decode("latin-1")

    @cached_property
    def root(self) -> Element:
        """The root element of an XML document."""
        return read_xml(self.content, self.file)


Source = str | bytes | os.PathLike[str] | Document


def open_document(source: Source) -> Document:
    """Read a path, or take a text as it is."""
    if isinstance(source, Document):
        return source
    if isinstance(source, (bytes, bytearray)):
        return Document(bytes(source), "<text>", None)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] in ("<", "{"):
        return Document(source.lstrip("\ufeff"), "<text>", None)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"load needs a path or a text, got {type(source).__name__}")
    return Document(read_bytes(source), os.fspath(source), Path(source).resolve().parent)
