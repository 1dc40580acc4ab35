"""Parts that MJCF makes of other parts: attached models and replicas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kinetree.io.attributes import number, shorten, vector
from kinetree.io.files import confined, read_bytes
from kinetree.io.mjcf_compiler import Compiler, read_compiler
from kinetree.io.mjcf_defaults import Defaults
from kinetree.io.mjcf_include import expand_includes
from kinetree.io.placement import HERE, ORIGIN, from_euler
from kinetree.io.report import Log
from kinetree.io.xml import Element, read_xml
from kinetree.spatial.pose import Pose

_COPIES = 10_000
_DEEPEST = 8  # models that attach models


@dataclass(slots=True)
class Spec:
    """One MJCF model: its elements, settings, defaults, and the prefix its names get where it is attached."""

    root: Element
    directory: Path | None
    compiler: Compiler
    defaults: Defaults
    prefix: str
    depth: int = 0


def read_spec(root: Element, directory: Path | None, prefix: str, log: Log, depth: int = 0) -> Spec:
    """The model of a root element, with its includes expanded."""
    expand_includes(root, directory)
    return Spec(root, directory, read_compiler(root, log), Defaults(root, log), prefix, depth)


def expand_attach(element: Element, spec: Spec, log: Log) -> tuple[list[Element], Spec] | None:
    """What `<attach model= body= prefix=/>` brings, a body or a whole world, and the model it is from."""
    name, prefix, wanted = element.get("model"), element.get("prefix") or "", element.get("body")
    assets = (asset for section in spec.root.all("asset") for asset in section.all("model"))
    asset = next((a for a in assets if a.get("name") == name), None)
    file = asset.get("file") if asset is not None else None
    if file is None or spec.directory is None or spec.depth >= _DEEPEST:
        problem = f"model {shorten(name or '')!r} to attach is not known, or attached too deeply"
        log.add("include", element.where, problem)
        return None
    path = confined(file, spec.directory, spec.directory)
    if path is None or not path.is_file():
        problem = f"model file {shorten(file)!r} does not exist in the model's directory"
        log.add("include", element.where, problem)
        return None
    root = read_xml(read_bytes(path), str(path))
    attached = read_spec(root, spec.directory, spec.prefix + prefix, log, spec.depth + 1)
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
    """The pose and the suffix of names of every copy that `<replicate>` makes."""
    count = number(element, "count", None, log)
    if not 0 < count <= _COPIES or count != int(count):
        problem = f"count={shorten(element.get('count') or '')!r}"
        log.add("value", element.where, problem, f"Use a whole number up to {_COPIES}.")
        return
    offset = vector(element, "offset", 3, ORIGIN, log)
    a, b, c = (compiler.angle(v) for v in vector(element, "euler", 3, ORIGIN, log))
    step = Pose(from_euler((a, b, c), compiler.eulerseq), offset)  # type: ignore[arg-type]
    digits, separator, pose = len(str(int(count) - 1)), element.get("sep") or "", HERE
    for k in range(int(count)):
        yield pose, f"{separator}{k:0{digits}d}"
        pose = step @ pose
