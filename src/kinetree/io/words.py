"""The vocabulary of each format: what is read, what affects the motion but is not modelled, and the rest.

Every other attribute or element is a finding, so that no typo goes unnoticed. Words with a prefix
(`drake:...`) are extensions, which other tools may read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from kinetree.io.attributes import parse_numbers, shorten
from kinetree.io.report import Log, Where
from kinetree.io.xml import Element


class Words(NamedTuple):
    """What one element may contain: attributes by how they are treated; children, None for anything."""

    read: str = ""
    acting: str = ""  # affect the motion but are not modelled: reported unless zero or false
    idle: str = ""  # have no effect on the motion
    children: str | None = None

    @property
    def attributes(self) -> list[str]:
        return f"{self.read} {self.acting} {self.idle}".split()


_POSE = "pos quat axisangle xyaxes zaxis euler"
_BODY = (
    "body joint freejoint inertial geom site frame replicate attach camera light plugin composite flexcomp"
)
_SOLVER = "solref solimp solreflimit solimplimit solreffriction solimpfriction margin"

URDF = {
    "robot": Words("name", idle="version"),
    "link": Words("name", idle="type"),
    "joint": Words(
        "name type independent",
        children="parent child origin axis limit dynamics mimic safety_controller calibration property "
        "hardwareInterface physics",
    ),
    "inertial": Words("", children="origin mass inertia"),
    "origin": Words("xyz rpy quat_xyzw"),
    "mass": Words("value"),
    "inertia": Words("ixx iyy izz ixy ixz iyz"),
    "parent": Words("link"),
    "child": Words("link"),
    "axis": Words("xyz"),
    "limit": Words("lower upper effort velocity", idle="acceleration jerk deceleration"),
    "dynamics": Words("damping friction armature"),
    "mimic": Words("joint multiplier offset"),
}

MJCF = {
    "mujoco": Words(
        "model",
        children="compiler option size statistic visual default extension custom asset worldbody deformable "
        "contact tendon equality actuator sensor keyframe",
    ),
    "compiler": Words(
        "angle assetdir autolimits balanceinertia boundinertia boundmass coordinate eulerseq "
        "exactmeshinertia fitaabb inertiafromgeom inertiagrouprange meshdir settotalmass strippath",
        "alignfree",
        "conflict convexhull discardvisual fusestatic passthrough savecanonical savecompiled saveinertial "
        "texturedir usethread",
    ),
    "option": Words(
        "gravity density viscosity wind timestep",
        idle="actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone impratio integrator "
        "iterations jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance "
        "noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints "
        "sdf_iterations sleep_tolerance solver tolerance",
    ),
    "flag": Words(
        "gravity equality constraint spring damper frictionloss passive contact override refsafe",
        idle="actuation autoreset clampctrl diagexact energy eulerdamp filterparent fwdinv "
        "invdiscrete ipc island limit midphase multiccd nativeccd sensor sensornoise sleep "
        "speculative warmstart",
    ),
    "worldbody": Words(idle=f"name {_POSE} childclass", children=_BODY),
    "body": Words(f"name childclass gravcomp mocap {_POSE}", idle="fuse simple sleep user", children=_BODY),
    "frame": Words(f"name childclass {_POSE}", children=_BODY),
    "replicate": Words("count offset euler sep childclass", children=_BODY),
    "attach": Words("model body prefix", "frame"),
    "inertial": Words(f"mass diaginertia fullinertia {_POSE}"),
    "joint": Words(
        "name class type pos axis ref range limited armature damping frictionloss stiffness springref "
        "springdamper actuatorfrcrange actuatorfrclimited",
        "actuatorgravcomp springyield",
        f"group user {_SOLVER}",
    ),
    "freejoint": Words("name", "align", "group"),
    "geom": Words(
        f"name class type size fromto mass density mesh fitscale shellinertia group {_POSE} "
        "conaffinity condim contype friction gap hfield margin priority solimp solmix solref",
        "adhesion fluidshape surfacevel",
        "castshadow fluidcoef material rgba solimpfriction solimplimit solreffriction solreflimit user",
    ),
    "pair": Words(
        "name class geom1 geom2 condim friction gap margin solimp solref", "adhesion solreffriction"
    ),
    "exclude": Words("name body1 body2"),
    "mesh": Words(
        "name class file content_type vertex face builtin params scale refpos refquat inertia maxhullvert",
        idle="material normal smoothnormal texcoord",
        children="plugin",
    ),
    "site": Words(f"name class fromto {_POSE}", idle="group material mesh rgba size type user"),
}  # fmt: skip

def table(words: dict[str, Words]) -> str:
    """How every element and attribute is treated, as a Markdown table."""
    head = ["| element | read | reported | no effect on the motion |", "|---|---|---|---|"]
    rows = [
        f"| `{tag}` | " + " | ".join(" ".join(f"`{w}`" for w in part.split()) for part in of[:3]) + " |"
        for tag, of in words.items()
    ]
    return "\n".join([*head, *rows])


_NEUTRAL = ("", "false", "none", "auto")
K = TypeVar("K")


def tally(found: Iterable[tuple[K, Element]]) -> dict[K, tuple[Element, int]]:
    """For each key, its first element and the number of elements."""
    counted: dict[K, tuple[Element, int]] = {}
    for key, element in found:
        first, count = counted.get(key, (element, 0))
        counted[key] = first, count + 1
    return counted


def check_words(elements: Iterable[Element], words: dict[str, Words], log: Log) -> None:
    """Record words that a format does not define, and those that affect the motion but are not modelled."""
    odd = ((key, element) for element in elements for key in _odd(element, words.get(element.tag)))
    for (rule, tag, word), (element, count) in tally(odd).items():
        where = Where(element.file, element.line, element.label)
        times = f" ({count} times)" if count > 1 else ""
        known, shown = words[tag], shorten(word)
        if rule == "unsupported":
            log.add(rule, where, f"attribute {shown!r} of <{tag}> is not modelled{times}")
        elif rule == "attribute-unknown":
            problem = f"<{tag}> has no attribute {shown!r}{times}"
            log.add(rule, where, problem, log.suggest(word, known.attributes))
        else:
            problem = f"<{tag}> cannot contain <{shown}>{times}"
            log.add(rule, where, problem, log.suggest(word, (known.children or "").split()))


def _odd(element: Element, known: Words | None) -> Iterable[tuple[str, str, str]]:
    """(rule, tag, word) for everything in an element that is neither read nor without effect."""
    if known is None:
        return
    attributes, acting = known.attributes, known.acting.split()
    for name, value in element.attributes.items():
        if name in acting:
            if value.strip() not in _NEUTRAL and any(parse_numbers(value)):
                yield "unsupported", element.tag, name
        elif name not in attributes and ":" not in name and name != "xmlns":
            yield "attribute-unknown", element.tag, name
    for child in element.children if known.children is not None else ():
        if child.tag not in (known.children or "").split() and ":" not in child.tag:
            yield "element-unknown", element.tag, child.tag
