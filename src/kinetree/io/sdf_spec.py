"""An SDF document as a whole: worlds, models inside models, and included files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kinetree.io.attributes import clean_name, is_name, shorten
from kinetree.io.files import read_bytes
from kinetree.io.paths import Reach, confined
from kinetree.io.report import Log, refuse
from kinetree.io.sdf_frames import SEPARATOR, Frames, Node, Scope
from kinetree.io.sdf_values import flag_in, pose_in, text_in, version_of
from kinetree.io.xml import LIMITS, Element, read_xml

_DEEPEST = 50  # deepest nesting of included files
_FILES = 200
_INCLUDES = 5_000  # most included models, repeated ones counted each time
_LATEST = 1.12
_OLDEST = 1.06


class Spec:
    """Reads models and everything in them into `frames`; `links` and `joints` hold their keys."""

    def __init__(self, root: Element, reach: Reach, log: Log) -> None:
        self.reach, self.log = reach, log
        self.frames = Frames(log)
        self.links: list[str] = []
        self.joints: list[str] = []
        self.marks: list[str] = []
        self.models: list[str] = []
        self.top: list[str] = []
        self.elements: list[Element] = [root]  # every element that was read, for the vocabulary check
        self._parsed: dict[Path, Element] = {}
        self._located: dict[str, Path | None] = {}
        self._includes = 0
        self._size = 0

    def read(self, container: Element, version: float, file: Path | None) -> None:
        """Read a `<world>`, or the models of an `<sdf>`, with an explicit stack."""
        if not _OLDEST <= version <= _LATEST:
            problem = f"version {container.get('version') or ''}: read as the nearest of 1.6 to 1.12"
            self.log.add("ignored", container.where, problem)
        world = Scope(version=version, files=() if file is None else (file,))
        stack = [(child, world) for child in reversed(container.children)]
        while stack:
            element, scope = stack.pop()
            self.elements.append(element)
            if len(self.elements) > LIMITS.elements:
                refuse("xml-limit", element.where, f"included models exceed {LIMITS.elements} elements")
            match element.tag:
                case "link":
                    self._add_link(element, scope)
                case "joint":
                    self._add_joint(element, scope)
                case "frame":
                    self._add_frame(element, scope)
                case "model" | "include":
                    stack.extend(reversed(list(self._open(element, scope))))
        self.frames.settle(reversed(self.models))

    def _name(self, element: Element, given: str | None, what: str) -> str | None:
        """A valid name, repaired if need be; None if there is none."""
        if not given:
            self.log.add("attribute-missing", element.where, f"a {what} needs a name")
            return None
        if is_name(given):
            return given
        repaired = clean_name(given)
        problem = f"the name {shorten(given)!r} is blank, too long, or has quotes, brackets or controls"
        self.log.repairable("name-invalid", element.where, problem, f"renamed to {repaired!r}")
        return repaired

    def _add_link(self, element: Element, scope: Scope) -> None:
        name = self._name(element, element.get("name"), "link")
        if name is None:
            return
        node = Node(element, scope, pose_in(element, self.log), _relative_to(element), None)
        key = self.frames.add(scope.prefix + name, node)
        self.links.append(key)
        for frame in scope.frames:
            self.frames.first.setdefault(frame, key)

    def _add_joint(self, element: Element, scope: Scope) -> None:
        name, child = self._name(element, element.get("name"), "joint"), text_in(element, "child")
        if name is None:
            return
        node = Node(element, scope, pose_in(element, self.log), _relative_to(element), child)
        self.joints.append(self.frames.add(scope.prefix + name, node))

    def _add_frame(self, element: Element, scope: Scope) -> None:
        name, attached = self._name(element, element.get("name"), "frame"), element.get("attached_to") or ""
        if name is None:
            return
        place = _relative_to(element) or attached
        node = Node(element, scope, pose_in(element, self.log), place, attached)
        self.marks.append(self.frames.add(scope.prefix + name, node))

    def _open(self, element: Element, scope: Scope) -> Iterator[tuple[Element, Scope]]:
        """The content of a model, or of the model that an `<include>` names, with its scope."""
        by: Element | None = None
        if element.tag == "include":
            by = element
            brought = self._included(element, scope)
            if brought is None:
                return
            element, scope = brought
            self.elements.append(element)
        given = text_in(by, "name") if by is not None else ""
        name = self._name(by or element, given or element.get("name"), "model")
        if name is None:
            return
        placed = by if by is not None and by.find("pose") is not None else element
        static = flag_in(element, "static")
        inner = element.get("placement_frame") or ""
        if by is not None:
            static = flag_in(by, "static", static)
            inner = text_in(by, "placement_frame") or ("" if placed is by else inner)
        merged = by is not None and (by.get("merge") or "").lower() in ("true", "1")
        key = scope.prefix + (f"_merged__{name}__" if merged else name)
        still = scope.static or static
        node = Node(element, scope, pose_in(placed, self.log), _relative_to(placed),
                    element.get("canonical_link") or "", inner, static=still)  # fmt: skip
        key = self.frames.add(key, node)
        prefix = scope.prefix if merged else key + SEPARATOR
        frames = (key, *scope.frames) if merged else (key,)
        node.inside = replace(scope, prefix=prefix, frames=frames, static=still)
        self.models.append(key)
        if scope.prefix == "":
            self.top.append(key)
        for frame in scope.frames:
            self.frames.first_model.setdefault(frame, key)
        for child in element.children:
            yield child, node.inside

    def _included(self, element: Element, scope: Scope) -> tuple[Element, Scope] | None:
        """The model that an `<include>` names, and its enclosing scope as seen from its file."""
        uri = text_in(element, "uri")
        self._includes += 1
        if self._includes > _INCLUDES:
            refuse("xml-limit", element.where, f"more than {_INCLUDES} models are included")
        if uri not in self._located:
            self._located[uri] = self._locate(element, uri)
        path = self._located[uri]
        if path is None:
            return None
        if path in scope.files or len(scope.files) > _DEEPEST:
            refuse("include", element.where, f"{shorten(uri)!r} includes itself, or is nested too deeply")
        root = self._parse(path, element)
        models = [root] if root.tag == "model" else list(root.all("model"))
        if root.tag not in ("sdf", "model") or len(models) != 1:
            what = f"<{root.tag[:40]}>" if root.tag != "sdf" else f"{len(models)} models"
            light = root.tag == "sdf" and any(root.all("light", "actor"))
            rule, remedy = ("ignored", "") if light else ("include", "Include an SDF file with one model.")
            self.log.add(rule, element.where, f"{shorten(uri)!r} holds {what}", remedy)
            return None
        version = version_of(root, self.log)
        return models[0], replace(scope, version=version, files=(*scope.files, path))

    def _locate(self, element: Element, uri: str) -> Path | None:
        """The file that a reference leads to, inside the allowed directories."""
        if not uri or not self.reach.roots:
            problem = "<include> has no <uri>" if not uri else "a text has no directory to include from"
            self.log.add("include", element.where, problem, "Load the model from its file.")
            return None
        if uri.startswith(("http:", "https:")):
            problem = f"{shorten(uri)!r} is on another computer, and nothing is fetched"
            self.log.add("include", element.where, problem, "Keep a copy next to the file.")
            return None
        inside = self._inside(uri)
        for path in inside:
            found = _model_file(path) if path.is_dir() else path
            if found is not None and found.is_file():
                return found
        outside = f"{shorten(uri)!r} lies outside the allowed folders"
        problem = f"there is no model {shorten(uri)!r}" if inside else outside
        remedy = "Keep included models below the folder of the file, or give include_dirs=."
        self.log.add("include", element.where, problem, remedy)
        return None

    def _inside(self, uri: str) -> list[Path]:
        """Where a model may be; `model://` looks next to the file and in the allowed folders."""
        scheme, separator, rest = uri.partition("://")
        beside = self.reach.part(rest) if separator and scheme == "model" else []
        return list(dict.fromkeys((*self.reach.mesh(uri), *beside)))

    def _parse(self, path: Path, element: Element) -> Element:
        """The root element of a file; each file is read once."""
        if path not in self._parsed:
            content = read_bytes(path)
            self._size += len(content)
            if len(self._parsed) >= _FILES or self._size > LIMITS.size:
                problem = f"more than {_FILES} included files, or {LIMITS.size} bytes of them"
                refuse("xml-limit", element.where, problem)
            self._parsed[path] = read_xml(content, str(path))
        return self._parsed[path]


def _relative_to(element: Element) -> str:
    pose = element.find("pose")
    return "" if pose is None else pose.get("relative_to") or ""


def _model_file(directory: Path) -> Path | None:
    """The SDF file of a model's directory: what its `model.config` names, or `model.sdf`."""
    config = directory / "model.config"
    name = "model.sdf"
    if config.is_file():
        root = read_xml(read_bytes(config), str(config))
        named = [(version_of(e, Log()), e.text.strip()) for e in root.all("sdf") if e.text.strip()]
        fitting = [pair for pair in named if pair[0] <= _LATEST] or named
        name = max(fitting, default=(0.0, name))[1]
    return confined(name, directory, directory)
