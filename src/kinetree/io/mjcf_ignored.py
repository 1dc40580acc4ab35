"""What an MJCF file has beside the tree, said once per kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kinetree.io.attributes import parse_numbers
from kinetree.io.report import Log, Where
from kinetree.io.save_mjcf import CUSTOM
from kinetree.io.words import MJCF, check_words
from kinetree.io.xml import Element

_READ = ("compiler", "option", "default", "worldbody", "equality", "keyframe")
_ACTING = ("tendon", "deformable", "extension", "composite", "flexcomp")  # sections that act on the motion
_IN_BODIES = ("body", "joint", "freejoint", "inertial", "site", "frame", "replicate", "attach")


def _dynamic(root: Element) -> Iterator[Element]:
    """The elements that say something about the dynamics."""
    yield root
    for section in root.all("compiler", "option", "worldbody"):
        yield from section.walk()
    for section in root.all("default"):
        yield from (e for e in section.walk() if e.tag in ("joint", "geom", "site"))


def list_ignored(root: Element, log: Log) -> None:
    """One finding for each kind of element that had no part in the model, and for each unknown word."""
    check_words(_dynamic(root), MJCF, log)
    for actuator in (a for section in root.all("actuator") for a in section.children):
        for name in ("armature", "damping"):
            if any(parse_numbers(actuator.get(name) or "")):
                log.add("unsupported", actuator.where, f"the {name} of an actuator is not modelled")
    for section in root.children:
        if section.tag not in _READ:
            unread = [e for e in section.children if not (e.get("name") or "").startswith(CUSTOM)]
            if section.children and not unread:
                continue
            kinds = Counter(child.tag for child in unread)
            shown = ", ".join(f"{count} {tag}" for tag, count in kinds.items()) or "empty"
            rule = "unsupported" if section.tag in _ACTING and kinds else "ignored"
            log.add(rule, Where(section.file, section.line, f"<{section.tag}>"), f"not read: {shown}")
    count: Counter[str] = Counter()
    first: dict[str, Element] = {}
    for world in root.all("worldbody"):
        for element in world.walk():
            if element.tag not in _IN_BODIES and element is not world:
                count[element.tag] += 1
                first.setdefault(element.tag, element)
    for tag, element in first.items():
        rule = "unsupported" if tag in _ACTING else "ignored"
        what = "contact and looks of geoms are" if tag == "geom" else f"<{tag}> is"
        log.add(
            rule,
            Where(element.file, element.line, f"<{tag}>"),
            f"{what} not modelled ({count[tag]} elements)",
        )
