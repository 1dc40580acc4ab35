"""In-place edits of an XML text: everything else keeps its comments, order and layout."""

from __future__ import annotations

from kinetree.io.text import attributes as written
from kinetree.io.xml import TAG, Element


class Splice:
    """Collects replacements of spans of a document and applies them together."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._edits: dict[tuple[int, int], str] = {}
        self._attributes: dict[int, tuple[Element, dict[str, str]]] = {}

    @property
    def changed(self) -> bool:
        return bool(self._edits or self._attributes)

    def set(self, element: Element, **values: str | None) -> None:
        """Set attributes of an element; None removes one."""
        _, new = self._attributes.setdefault(element.start, (element, dict(element.attributes)))
        for name, value in values.items():
            if value is None:
                new.pop(name, None)
            else:
                new[name] = value

    def replace(self, element: Element, text: str) -> None:
        """Replace a whole element by `text`; an empty text removes it."""
        self._edits[element.start, element.end] = text

    def insert(self, parent: Element, text: str) -> None:
        """Insert `text` at the beginning of an element."""
        start, end = self._tag(parent)
        if self.data[start:end].endswith(b"/>"):
            self._attributes.setdefault(parent.start, (parent, dict(parent.attributes)))
            self._edits[end, end] = f"{text}</{parent.tag}>"
        else:
            self._edits[end, end] = self._edits.get((end, end), "") + text

    def append(self, root: Element, text: str) -> None:
        """Insert `text` at the end of an element that is not empty."""
        at = self.data.rfind(b"<", root.start, root.end)
        self._edits[at, at] = self._edits.get((at, at), "") + text

    def result(self) -> str:
        """The text with all edits."""
        for element, new in self._attributes.values():
            start, end = self._tag(element)
            closed = self.data[start:end].endswith(b"/>") and (end, end) not in self._edits
            self._edits[start, end] = f"<{element.tag}{written(**new)}{'/' if closed else ''}>"
        parts, at = [], 0
        for (start, end), text in sorted(self._edits.items(), key=lambda edit: edit[0]):
            if start < at:  # inside a span that was replaced
                continue
            parts += [self.data[at:start], text.encode()]
            at = end
        return b"".join([*parts, self.data[at:]]).decode("utf-8")

    def _tag(self, element: Element) -> tuple[int, int]:
        """The span of the start tag."""
        match = TAG.match(self.data, element.start)
        assert match is not None
        return match.span()


def put(splice: Splice, parent: Element, tag: str, text: str) -> None:
    """Replace the child `tag` of an element, or add it."""
    old = parent.find(tag)
    if old is None:
        splice.insert(parent, text)
    else:
        splice.replace(old, text)
