"""The vocabulary of SDF 1.6 to 1.12: what is read, what affects the motion but is not modelled, and the rest.

In an entry, `@name` is an attribute and any other word an element. The content of an idle element is not
checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kinetree.io.attributes import parse_numbers
from kinetree.io.report import Log
from kinetree.io.words import Words, check_words, tally
from kinetree.io.xml import Element

_IDLE = "plugin sensor"
_AXIS = Words("xyz limit dynamics mimic use_parent_model_frame", idle="initial_position")
_INCLUDE = Words("@merge uri name pose static placement_frame", idle="plugin state model_state")

SDF = {
    "sdf": Words("@version world model include", idle="@xmlns actor light"),
    "world": Words(
        "@name gravity model include joint frame",
        "wind population",
        f"{_IDLE} @namespace actor atmosphere audio gui light magnetic_field physics road scene "
        "spherical_coordinates state",
    ),
    "model": Words(
        "@name @canonical_link @placement_frame static pose frame link joint include model",
        "enable_wind",
        f"{_IDLE} @namespace self_collide allow_auto_disable gripper state model_state",
    ),
    "include": _INCLUDE,
    "frame": Words("@name @attached_to pose"),
    "pose": Words("@relative_to @rotation_format @degrees @frame"),
    "link": Words(
        "@name pose inertial collision gravity",
        "enable_wind kinematic velocity_decay",
        f"{_IDLE} visual self_collide must_be_base_link projector audio_sink audio_source battery light "
        "particle_emitter",
    ),
    "inertial": Words("@auto pose mass inertia density", "fluid_added_mass", "auto_inertia_params frame"),
    "inertia": Words("ixx ixy ixz iyy iyz izz"),
    "collision": Words(
        "@name pose geometry density surface", idle="laser_retro max_contacts auto_inertia_params frame"
    ),
    "geometry": Words(
        "box sphere cylinder capsule ellipsoid cone mesh plane", idle="heightmap image polyline empty"
    ),
    "box": Words("size"),
    "sphere": Words("radius"),
    "cylinder": Words("radius length"),
    "capsule": Words("radius length"),
    "cone": Words("radius length"),
    "ellipsoid": Words("radii"),
    "mesh": Words("uri scale", idle="@optimization submesh convex_decomposition"),
    "joint": Words(
        "@name @type parent child pose axis axis2 thread_pitch screw_thread_pitch gearbox_ratio "
        "gearbox_reference_body physics",
        idle=_IDLE,
    ),
    "axis": _AXIS,
    "axis2": _AXIS,
    "xyz": Words("@expressed_in"),
    "limit": Words("lower upper velocity effort", idle="stiffness dissipation"),
    "dynamics": Words("damping friction spring_stiffness spring_reference"),
    "mimic": Words("@joint @axis multiplier offset reference"),
    "physics": Words("simbody", idle="ode provide_feedback"),
    "simbody": Words("must_be_loop_joint"),
}

_PARTS = ("world", "model", "include", "link", "joint", "frame")
_EXTENSIONS = (
    "drake:joint drake:linear_bushing_rpy drake:linear_spring_damper drake:tendon_constraint "
    "drake:ball_constraint drake:mimic"
).split()


def check_sdf_words(elements: Iterable[Element], log: Log) -> None:
    """Record words that SDF does not define, and those that affect the motion but are not modelled."""
    found = [element for part in elements for element in _below(part)]
    check_words(found, _APART, log)
    acting = ((element.tag, child.tag, child) for element in found for child in _acting(element))
    for (tag, inner), (child, count) in tally(((tag, inner), child) for tag, inner, child in acting).items():
        times = f" ({count} times)" if count > 1 else ""
        log.add("unsupported", child.where, f"<{inner}> in <{tag}> is not modelled{times}")


def _attributes(words: str) -> str:
    return " ".join(word[1:] for word in words.split() if word.startswith("@"))


def _apart(words: Words) -> Words:
    """An entry with attributes and elements separated."""
    read, acting, idle = map(_attributes, words[:3])
    return Words(read, acting, idle, " ".join(w for w in words.attributes if not w.startswith("@")))


_APART = {tag: _apart(words) for tag, words in SDF.items()}


def _below(element: Element) -> Iterator[Element]:
    """An element and the elements inside it that are read; models and their parts are handled separately."""
    stack = [element]
    while stack:
        here = stack.pop()
        yield here
        read = SDF[here.tag].read.split() if here.tag in SDF else []
        stack.extend(child for child in here.children if child.tag in read and child.tag not in _PARTS)


def _acting(element: Element) -> Iterator[Element]:
    """The children of an element that affect the motion but are not modelled."""
    words = SDF[element.tag].acting.split() if element.tag in SDF else []
    for child in element.children:
        if child.tag in _EXTENSIONS or (child.tag in words and any(map(_says, child.walk()))):
            yield child


def _says(element: Element) -> bool:
    """Whether an element has a value other than zero or false."""
    text = element.text.strip().lower()
    return text not in ("", "false") and any(parse_numbers(text))
