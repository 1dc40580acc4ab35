"""One MJCF model as a whole: included files, `<default>` classes, attached models and replicas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kinetree.io.attributes import number, shorten, vector
from kinetree.io.description import WORLD
from kinetree.io.files import read_bytes
from kinetree.io.mjcf_compiler import Compiler, read_compiler
from kinetree.io.mjcf_mesh import Meshes, label
from kinetree.io.paths import Reach
from kinetree.io.placement import HERE, ORIGIN, from_euler
from kinetree.io.report import Log, refuse
from kinetree.io.xml import LIMITS, Element, read_xml
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import add, mat_vec

MAIN = "main"  # the unnamed class of defaults
_ORIENTATIONS = frozenset(("quat", "axisangle", "xyaxes", "zaxis", "euler"))
_LISTS = frozenset(("size", "friction", "solref", "solimp"))  # may have fewer numbers than they take
_ENDS = ("geom1", "geom2", "body1", "body2")  # of contacts
_FILES = 200  # most included files of one model
_COPIES = 10_000
_DEEPEST = 8  # deepest nesting of attached models


@dataclass(slots=True)
class Spec:
    """One MJCF model: its elements, settings, defaults, and the prefix of its names when attached."""

    root: Element
    reach: Reach  # the folder of its file, and other allowed folders
    compiler: Compiler
    defaults: Defaults
    meshes: Meshes
    prefix: str
    depth: int = 0


def read_spec(root: Element, reach: Reach, prefix: str, log: Log, depth: int = 0) -> Spec:
    """The model of a root element, with its includes expanded."""
    expand_includes(root, reach)
    compiler, defaults = read_compiler(root, log), Defaults(root, log)
    assets = [asset for section in root.all("asset") for asset in section.all("mesh", "hfield")]
    elements = {label(e): defaults.resolve(e, MAIN) for e in assets if e.tag == "mesh"}
    fields = {label(e): e for e in assets if e.tag == "hfield"}
    meshes = Meshes(elements, fields, compiler, reach, log)
    return Spec(root, reach, compiler, defaults, meshes, prefix, depth)


def expand_includes(root: Element, reach: Reach) -> None:
    """Replace every `<include file=.../>` below `root` by the children of the file's root element.

    A file is looked up next to the including file, next to the main file, then in the other allowed folders,
    and nowhere else. Nothing is included twice, so nothing can include itself.
    """
    included: set[Path] = set()
    size = 0
    stack: list[tuple[Element, Path | None]] = [(root, reach.own)]
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
            path = _find(element, here, reach)
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


def _find(element: Element, beside: Path | None, reach: Reach) -> Path:
    """The file that an include names."""
    name = element.get("file")
    if not name:
        refuse("include", element.where, "<include> names no file", "Write <include file='part.xml'/>.")
    if not reach.roots:
        problem = "a text has no directory to include from"
        refuse("include", element.where, problem, "Load the model from its file, or give include_dirs=.")
    inside = reach.part(name, beside)
    if not inside:
        problem = f"{shorten(name)!r} lies outside the model's directory"
        refuse("include", element.where, problem, "Allow its folder with include_dirs=, if you trust it.")
    found = next((path for path in inside if path.is_file()), None)
    if found is None:
        refuse("include", element.where, f"there is no file {shorten(name)!r}")
    return found


class Defaults:
    """The table class -> tag -> attributes, with inherited attributes filled in."""

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
                    table[child.tag] = _completed(child.attributes, table.get(child.tag, {}))
            pending.extend((child, name) for child in reversed(list(element.all("default"))))

    def resolve(self, element: Element, childclass: str) -> Element:
        """The element with defaults filled in from its class (its own, or that of the enclosing body)."""
        name = element.get("class") or childclass
        table = self.classes.get(name)
        if table is None:
            remedy = self.log.suggest(name, self.classes)
            self.log.add("value", element.where, f"default class {shorten(name)!r} does not exist", remedy)
            table = self.classes[MAIN]
        inherited = table.get(element.tag)
        if not inherited:
            return element
        if _ORIENTATIONS & element.attributes.keys():  # its own orientation replaces the inherited one
            inherited = {key: value for key, value in inherited.items() if key not in _ORIENTATIONS}
        return element.with_attributes(_completed(element.attributes, inherited))


def _completed(own: dict[str, str], inherited: dict[str, str]) -> dict[str, str]:
    """Attributes with inherited ones filled in; lists of numbers that are cut short go on with those."""
    found = {**inherited, **own}
    for name in _LISTS & own.keys() & inherited.keys():
        words = own[name].split()
        found[name] = " ".join([*words, *inherited[name].split()[len(words) :]])
    return found


def contacts_of(spec: Spec) -> Iterator[Element]:
    """The `<pair>` and `<exclude>` elements of a model, with defaults, and with the prefix in their names."""
    for section in spec.root.all("contact"):
        for element in section.all("pair", "exclude"):
            resolved = spec.defaults.resolve(element, MAIN)
            named = {end: name for end in _ENDS if (name := resolved.get(end))}
            ends = {end: name if name == WORLD else spec.prefix + name for end, name in named.items()}
            yield resolved.with_attributes({**resolved.attributes, **ends})


def expand_attach(element: Element, spec: Spec, log: Log) -> tuple[list[Element], Spec] | None:
    """The content of `<attach model= body= prefix=/>`, a body or a whole world, and the model it is from."""
    name, prefix, wanted = element.get("model"), element.get("prefix") or "", element.get("body")
    assets = (asset for section in spec.root.all("asset") for asset in section.all("model"))
    asset = next((a for a in assets if a.get("name") == name), None)
    file = asset.get("file") if asset is not None else None
    if file is None or not spec.reach.roots or spec.depth >= _DEEPEST:
        problem = f"model {shorten(name or '')!r} to attach is unknown, or nested too deeply"
        log.add("include", element.where, problem)
        return None
    path = next((path for path in spec.reach.part(file) if path.is_file()), None)
    if path is None:
        problem = f"model file {shorten(file)!r} does not exist in the model's directory"
        log.add("include", element.where, problem)
        return None
    root = read_xml(read_bytes(path), str(path))
    inner = spec.reach.seen_from(path.parent)
    attached = read_spec(root, inner, spec.prefix + prefix, log, spec.depth + 1)
    attached.compiler.fitaabb = spec.compiler.fitaabb  # the one setting of the outermost file, in MuJoCo
    worlds = list(root.all("worldbody"))
    if wanted is None:
        return [child for world in worlds for child in world.children], attached
    bodies = (e for world in worlds for e in world.walk() if e.tag == "body")
    body = next((b for b in bodies if b.get("name") == wanted), None)
    if body is None:
        log.add("include", element.where, f"model {shorten(name or '')!r} has no body {shorten(wanted)!r}")
        return None
    return [body], attached


def replicas(element: Element, compiler: Compiler, log: Log) -> Iterator[tuple[Pose, str]]:
    """The pose and the name suffix of every copy made by `<replicate>`."""
    count = number(element, "count", None, log)
    if not 0 < count <= _COPIES or count != int(count):
        problem = f"count={shorten(element.get('count') or '')!r}"
        log.add("value", element.where, problem, f"Use a whole number up to {_COPIES}.")
        return
    offset = vector(element, "offset", 3, ORIGIN, log)
    a, b, c = (compiler.angle(v) for v in vector(element, "euler", 3, ORIGIN, log))
    digits, separator, place = len(str(int(count) - 1)), element.get("sep") or "", ORIGIN
    turn, turns = HERE.rotation, any((a, b, c))
    for k in range(int(count)):
        if turns:  # MuJoCo multiplies the angles, not the rotations
            turn = from_euler((k * a, k * b, k * c), compiler.eulerseq)
        yield Pose(turn, place), f"{separator}{k:0{digits}d}"
        place = add(place, mat_vec(turn.rows, offset))  # type: ignore[arg-type]
