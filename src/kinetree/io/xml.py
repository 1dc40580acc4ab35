"""A small, safe XML reader: elements with line numbers, and nothing that a hostile file could exploit.

It is based on the expat parser of the standard library and differs from `xml.etree` in four ways:

* a DOCTYPE is refused, so there are no entities to expand and no external resource to fetch;
* size, depth, elements and attributes are capped (`LIMITS`), so memory and time are bounded;
* every element knows its line and its span in the file, for messages and for in-place repairs;
* prefixes need no declaration: `drake:joint` is simply a tag with a colon, as robot files use it.

Neither this module nor the readers built on it recurse, so deep files cannot overflow Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from kinetree.errors import FileError
from kinetree.io.report import Where, refuse


class Limits(NamedTuple):
    """Limits on the documents that are read."""

    size: int = 16 * 2**20  # bytes
    depth: int = 2_000  # nested elements
    elements: int = 200_000
    attributes: int = 500_000


LIMITS = Limits()


class Element:
    """One element: tag, attributes, children and text, with the place it was read from."""

    __slots__ = ("attributes", "children", "end", "file", "line", "start", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int, start: int = 0) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""
        self.file = file
        self.line = line
        self.start = start  # byte offsets of the element in the document: [start, end)
        self.end = start

    def get(self, name: str) -> str | None:
        """The attribute `name`, or None."""
        return self.attributes.get(name)

    def find(self, tag: str) -> Element | None:
        """The first child with this tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def all(self, *tags: str) -> Iterator[Element]:
        """The children with one of these tags, in document order."""
        return (child for child in self.children if child.tag in tags)

    def walk(self) -> Iterator[Element]:
        """This element and everything below it, in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def with_attributes(self, attributes: dict[str, str]) -> Element:
        """The same element with other attributes."""
        made = Element(self.tag, attributes, self.file, self.line, self.start)
        made.children = self.children
        return made

    def same(self, other: Element) -> bool:
        """Whether two elements have the same tags and attributes throughout."""
        mine, theirs = (
            [(e.tag, e.attributes, len(e.children)) for e in root.walk()] for root in (self, other)
        )
        return mine == theirs

    @property
    def label(self) -> str:
        """The element as messages name it: "joint 'elbow'"."""
        name = self.attributes.get("name")
        return self.tag[:_LABEL] if name is None else f"{self.tag[:_LABEL]} {name[:_LABEL]!r}"

    @property
    def where(self) -> Where:
        return Where(self.file, self.line, self.label)

    def __repr__(self) -> str:
        return f"<{self.label} at {self.file}:{self.line}, {len(self.children)} children>"


def read_xml(document: bytes | str, file: str, limits: Limits = LIMITS) -> Element:
    """The root element of `document`.

    Args:
        document: the text, or its bytes in the encoding given by its XML declaration.
        file: the name that messages use.
        limits: caps on size, depth and counts.

    Raises:
        FileError: the document is not well-formed, has a DOCTYPE, or exceeds a limit.
    """
    data, encoding, skipped = _bytes_of(document, file, limits)
    return _Reader(data, encoding, file, skipped, limits).read()


def _bytes_of(document: bytes | str, file: str, limits: Limits) -> tuple[bytes, str | None, int]:
    """The bytes to parse, their encoding if it is known, and how many lines were skipped at the start.

    Blanks before `<?xml` and NUL bytes at the end are common in robot files and harmless: both are removed.
    """
    if isinstance(document, str):
        try:
            data, encoding = document.encode("utf-8"), "utf-8"
        except UnicodeEncodeError:
            problem = "the text contains lone surrogates"
            refuse("xml-syntax", Where(file, 0, "document"), problem, "Pass valid Unicode text.")
    else:
        data, encoding = bytes(document), None
    if len(data) > limits.size:
        problem = f"the document has {len(data)} bytes; at most {limits.size} are read"
        remedy = "Split the file, or keep meshes and other data outside it."
        refuse("xml-limit", Where(file, 0, "document"), problem, remedy)
    body = data.rstrip(b"\0")
    if not body.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16 space is not ASCII space
        stripped = body.lstrip()
        return stripped, encoding, body[: len(body) - len(stripped)].count(b"\n")
    return data, encoding, 0


class _Reader:
    """The handlers that expat calls, building the tree with an explicit stack."""

    def __init__(self, data: bytes, encoding: str | None, file: str, skipped: int, limits: Limits) -> None:
        self.data, self.file, self.skipped, self.limits = data, file, skipped, limits
        self.stack: list[Element] = []
        self.root: Element | None = None
        self.elements = self.attributes = 0
        self.parser = parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    def read(self) -> Element:
        try:
            self.parser.Parse(self.data, True)
        except FileError:
            raise
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code) or "unreadable"
            problem = f"not well-formed XML: {reason} (column {error.offset + 1})"
            self._refuse("xml-syntax", problem, _REMEDY, error.lineno)
        except (
            ValueError,
            LookupError,
            TypeError,
        ) as error:  # an encoding that Python does not know or cannot decode
            problem = f"the encoding cannot be read: {error}"
            self._refuse("xml-encoding", problem, "Save the file as UTF-8.", 1)
        if self.root is None:  # pragma: no cover - expat reports an empty document itself
            self._refuse("xml-syntax", "the document has no element", _REMEDY, 1)
        return self.root

    def _refuse(self, rule: str, problem: str, remedy: str, line: int | None = None) -> NoReturn:
        at = self.parser.CurrentLineNumber if line is None else line
        where = self.stack[-1].label if self.stack else "document"
        refuse(rule, Where(self.file, at + self.skipped, where), problem, remedy)

    def _doctype(self, name: str, *_: object) -> None:
        problem = f"a DOCTYPE ({name[:40]!r}) is refused"
        self._refuse("xml-doctype", problem, "Delete the <!DOCTYPE ...> declaration.")

    def _entity(self, name: str, *_: object) -> None:
        self._refuse("xml-doctype", f"an entity declaration ({name[:40]!r}) is refused", "Delete it.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self.attributes += len(attributes)
        if len(self.stack) >= self.limits.depth:
            problem = f"elements are nested more than {self.limits.depth} deep"
            self._refuse("xml-limit", problem, "Flatten the file.")
        if self.elements > self.limits.elements:
            self._refuse("xml-limit", f"more than {self.limits.elements} elements", "Split the file.")
        if self.attributes > self.limits.attributes:
            self._refuse("xml-limit", f"more than {self.limits.attributes} attributes", "Split the file.")
        line = self.parser.CurrentLineNumber + self.skipped
        element = Element(tag, attributes, self.file, line, self.parser.CurrentByteIndex)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def _end(self, tag: str) -> None:
        element = self.stack.pop()
        at = self.parser.CurrentByteIndex  # of "</tag>", or of "<tag .../>" itself
        match = TAG.match(self.data, at)
        element.end = match.end() if match else at

    def _text(self, data: str) -> None:
        if self.stack and len(self.stack[-1].text) < _TEXT:
            self.stack[-1].text += data[:_TEXT]


TAG = re.compile(rb"""<(?:[^>"']|"[^"]*"|'[^']*')*>""")  # a whole tag; ">" may occur inside a quoted value
_TEXT = 4096  # most characters of text kept: robot files only have numbers and names there
_LABEL = 80  # most characters of tags and names shown in messages
_REMEDY = "Correct the XML here; an editor with XML support shows the fault."
