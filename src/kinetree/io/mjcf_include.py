"""MJCF's `<include>`: other files of the same directory, put in place of the element."""

from __future__ import annotations

from pathlib import Path

from kinetree.io.attributes import shorten
from kinetree.io.files import confined, read_bytes
from kinetree.io.report import refuse
from kinetree.io.xml import LIMITS, Element, read_xml

_FILES = 200  # included files of one model


def expand_includes(root: Element, directory: Path | None) -> None:
    """Replace every `<include file=.../>` below `root` by the children of the file's root element.

    A file is looked up beside the file that includes it, then beside the main file, and never outside of the
    directory of the main file. Nothing is included twice, so nothing can include itself.
    """
    included: set[Path] = set()
    size = 0
    stack: list[tuple[Element, Path | None]] = [(root, directory)]
    while stack:
        parent, beside = stack.pop()
        children: list[Element] = []
        queue = [(child, beside) for child in reversed(parent.children)]
        while queue:
            element, here = queue.pop()
            if element.tag != "include":
                children.append(element)
                stack.append((element, here))
                continue
            path = _find(element, here, directory)
            if path in included:
                problem = f"{shorten(path.name)!r} is included a second time"
                refuse("include", element.where, problem, "Include each file once.")
            included.add(path)
            content = read_bytes(path)
            size += len(content)
            if len(included) > _FILES or size > LIMITS.size:
                problem = f"more than {_FILES} included files, or {LIMITS.size} bytes of them"
                refuse("xml-limit", element.where, problem)
            inner = read_xml(content, str(path))
            queue.extend((child, path.parent) for child in reversed(inner.children))
        parent.children = children


def _find(element: Element, beside: Path | None, root: Path | None) -> Path:
    """The file that an include names."""
    name = element.get("file")
    if not name:
        refuse("include", element.where, "<include> names no file", "Write <include file='part.xml'/>.")
    if beside is None or root is None:
        problem = "a text has no directory to include from"
        refuse("include", element.where, problem, "Load the model from its file.")
    candidates = [confined(name, base, root) for base in dict.fromkeys((beside, root))]
    inside = [path for path in candidates if path is not None]
    if not inside:
        refuse("include", element.where, f"{shorten(name)!r} lies outside of the model's directory")
    found = next((path for path in inside if path.is_file()), None)
    if found is None:
        refuse("include", element.where, f"there is no file {shorten(name)!r}")
    return found
