"""MJCF's `<default>` classes: which attributes an element has that does not write them."""

from __future__ import annotations

from kinetree.io.attributes import shorten
from kinetree.io.report import Log
from kinetree.io.xml import Element

MAIN = "main"
_ORIENTATIONS = frozenset(("quat", "axisangle", "xyaxes", "zaxis", "euler"))


class Defaults:
    """The table class -> tag -> attributes, with everything inherited already copied down."""

    def __init__(self, root: Element, log: Log) -> None:
        self.log = log
        self.classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        pending: list[tuple[Element, str | None]] = [(e, None) for e in reversed(list(root.all("default")))]
        while pending:
            element, parent = pending.pop()
            name = element.get("class") or (MAIN if parent is None else "")
            if not name:
                log.add("attribute-missing", element.where, "a nested <default> needs a class")
                continue
            inherited = self.classes[MAIN if parent is None else parent]
            table = self.classes.setdefault(
                name, {tag: dict(attributes) for tag, attributes in inherited.items()}
            )
            for child in element.children:
                if child.tag != "default":
                    table.setdefault(child.tag, {}).update(child.attributes)
            pending.extend((child, name) for child in reversed(list(element.all("default"))))

    def resolve(self, element: Element, childclass: str) -> Element:
        """The element with the attributes of its class (its own, or that of the body around it) filled in."""
        name = element.get("class") or childclass
        table = self.classes.get(name)
        if table is None:
            remedy = self.log.suggest(name, self.classes)
            self.log.add("value", element.where, f"default class {shorten(name)!r} does not exist", remedy)
            table = self.classes[MAIN]
        inherited = table.get(element.tag)
        if not inherited:
            return element
        if _ORIENTATIONS & element.attributes.keys():  # an orientation of its own replaces the inherited one
            inherited = {key: value for key, value in inherited.items() if key not in _ORIENTATIONS}
        merged = Element(
            element.tag, {**inherited, **element.attributes}, element.file, element.line, element.start
        )
        merged.children = element.children
        return merged
