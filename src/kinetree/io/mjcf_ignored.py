"""What an MJCF file has beside the tree, said once per kind."""

from __future__ import annotations

from collections import Counter

from kinetree.io.report import Log, Where
from kinetree.io.save_mjcf import CUSTOM
from kinetree.io.xml import Element

_READ = ("compiler", "option", "default", "worldbody", "equality")
_ACTING = ("tendon", "deformable", "extension", "composite", "flexcomp")  # sections that act on the motion
_IN_BODIES = ("body", "joint", "freejoint", "inertial", "site", "frame", "replicate", "attach")


def list_ignored(root: Element, log: Log) -> None:
    """One finding for each kind of element that had no part in the model."""
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
