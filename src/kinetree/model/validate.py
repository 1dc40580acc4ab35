"""Validation of a model, done once, where the user's values come in.

Every message is one line: what was given, what was expected, for which named part, and what to do. Only plain
numbers are checked: symbols and expressions have no value yet.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.joints import Joint
from kinetree.model.parts import Body, Limits, Mimic, Numbers, Rotor
from kinetree.spatial.inertia import Inertia
from kinetree.spatial.pose import Pose

WORLD = "world"
CHECKS = ("physical", "finite")  # what inertias are checked for


def shown(x: Any) -> str:
    """`x` for a message: on one line, and not too long."""
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape}"
    text = " ".join(repr(x).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def new_name(name: Any, kind: str, taken: Iterable[str], model: str) -> str:
    """The name of a new part, checked to be a string not yet in use."""
    if not isinstance(name, str) or not name.strip():
        raise ModelError(
            f"model '{model}': the name of a {kind} must be a non-empty string, got {shown(name)}"
        )
    if not name.isprintable():
        raise ModelError(
            f"model '{model}': the name {shown(name)} of a {kind} holds characters that do not print"
        )
    if name == WORLD and kind != "joint":
        raise ModelError(
            f"model '{model}': a {kind} cannot be called 'world', which is the fixed body: rename it"
        )
    if name in taken:
        raise ModelError(
            f"model '{model}' already contains a {kind} named '{name}': {kind} names must be unique, choose "
            "another"
        )
    return name


def new_frame(name: Any, frames: Iterable[str], bodies: Iterable[str], model: str) -> str:
    """The name of a new frame, checked to be used by no other frame or body."""
    new_name(name, "frame", frames, model)
    if name in bodies:
        raise ModelError(f"model '{model}' already contains a body named '{name}': rename the frame")
    return name


def unknown(name: Any, kind: str, known: Iterable[str], owner: str) -> ModelError:
    """The error for an unknown name, with the names that were most likely meant."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3) if isinstance(name, str) else []
    if close:
        remedy = "did you mean " + " or ".join(f"'{c}'" for c in close) + "?"
    elif names:
        listed = ", ".join(f"'{n}'" for n in names[:6]) + (", ..." if len(names) > 6 else "")
        remedy = f"known: {listed}"
    else:
        remedy = "there are none yet: add it first"
    return ModelError(f"{owner}: there is no {kind} {shown(name)}; {remedy}")


def number(x: Any, what: str) -> Any:
    """`x`, checked to be a number of any kind and, if its value is known, finite."""
    if type(x) is float and math.isfinite(x):
        return x
    if ops.is_literal(x):
        if isinstance(x, bool) or not math.isfinite(x):
            raise ModelError(f"{what} is {x}: it must be a finite number")
        return x if type(x) is int else float(x)
    if x is None or isinstance(x, (str, bytes, list, tuple, dict, set, Pose, Inertia, Joint)):
        raise ModelError(f"{what} is {shown(x)}: it must be a number")
    if isinstance(x, np.ndarray):
        raise ModelError(f"{what} is an array of shape {x.shape}: it must be one number")
    if not hasattr(x, "__mul__"):
        raise ModelError(f"{what} is {shown(x)}: it must be a number")
    return x


def numbers(x: Any, count: int, what: str) -> Numbers:
    """`x` as a tuple of `count` numbers."""
    if isinstance(x, (str, bytes, dict, set)) or not hasattr(x, "__iter__"):
        needed = "a number" if count == 1 else f"{count} numbers"
        raise ModelError(f"{what} is {shown(x)}: it must be {needed}")
    given = tuple(x)
    if len(given) != count:
        raise ModelError(f"{what} has {len(given)} entries, but it needs {count}: got {shown(given)}")
    return tuple(number(a, what) for a in given)


def per_degree(x: Any, count: int, what: str) -> Numbers:
    """`x` as one number per degree of freedom; a single number is used for all."""
    if hasattr(x, "__iter__") and not isinstance(x, (str, bytes)):
        return numbers(x, count, what)
    value = number(x, what)
    return (value,) * count


def not_negative(values: Numbers, what: str) -> Numbers:
    for x in values:
        if ops.is_literal(x) and x < 0:
            raise ModelError(f"{what} is {x}: it cannot be negative")
    return values


def position(x: Any, joint: Joint, what: str) -> Numbers:
    """The coordinates of one joint; None for the neutral position; a plain number if there is only one."""
    if x is None:
        return joint.neutral()
    q = numbers(x, joint.nq, what) if hasattr(x, "__iter__") else per_degree(x, joint.nq, what)
    if any(ops.is_literal(s) and not s >= 1 for s in joint.soundness(q)):
        raise ModelError(f"{what}: {joint.fault(q)}: divide the quaternion by its length")
    return q


def pose(placement: Any, what: str) -> Pose:
    """The placement, checked to be a pose (which checks its own numbers); None means the identity."""
    if placement is None:
        return IDENTITY
    if not isinstance(placement, Pose):
        shape = f" of shape {placement.shape}" if isinstance(placement, np.ndarray) else ""
        raise ModelError(
            f"{what} must be a Pose, got {type(placement).__name__}{shape}: write Pose(R, p) with the 3x3 "
            "matrix R and the position p"
        )
    return placement


def inertia(value: Any, what: str) -> Inertia:
    """The inertia, checked to be finite; None means no inertia."""
    if value is None:
        return NO_INERTIA
    if not isinstance(value, Inertia):
        raise ModelError(
            f"{what} must be an Inertia, got {type(value).__name__}: write Inertia(mass, com, inertia) with "
            "the 3x3 inertia about the centre of mass"
        )
    for x in value.parameters:
        if ops.is_literal(x) and not math.isfinite(x):
            raise ModelError(f"{what} contains {x}: mass, centre of mass and moments must be finite")
    return value


def refuse_unknown_check(check: Any, what: str) -> None:
    if check not in CHECKS:
        raise ModelError(f"{what}: check is {shown(check)}: it must be 'physical' or 'finite'")


def physical(value: Inertia, what: str, *, rotor: bool = False) -> None:
    """ModelError for an inertia that no mass distribution has; a rotor may be a mere spin inertia."""
    if value is NO_INERTIA:
        return
    fault = value.fault(spins=rotor)
    if fault is not None:
        remedy = "correct the numbers, or give check='finite' to keep them as they are"
        raise ModelError(f"{what}: {fault}: {remedy}")


def is_physical(bodies: Iterable[Body], rotors: Iterable[Rotor]) -> bool:
    """True if every inertia is one that a real body can have."""
    try:
        refuse_unphysical(bodies, rotors, "")
    except ModelError:
        return False
    return True


def refuse_unphysical(bodies: Iterable[Body], rotors: Iterable[Rotor], model: str) -> None:
    for body in bodies:
        physical(body.inertia, f"model '{model}': body '{body.name}'")
    for rotor in rotors:
        physical(rotor.inertia, f"model '{model}': rotor of joint '{rotor.joint}'", rotor=True)


def limits(value: Any, count: int, what: str) -> Limits:
    """One limit for each degree of freedom, from a `Limits`, a (lower, upper) pair, a dict or None."""
    if value is None:
        return _no_limits(count)
    if isinstance(value, dict):
        wrong = sorted(set(value) - set(Limits._fields), key=str)
        if wrong:
            raise unknown(wrong[0], "limit", Limits._fields, what)
        value = Limits(**value)
    elif not isinstance(value, Limits):
        if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or len(value) != 2:
            raise ModelError(
                f"{what} must be (lower, upper), a Limits or a dict of its fields, got {shown(value)}"
            )
        value = Limits(value[0], value[1])
    read = Limits(*(_limit(x, count, f"{what}, {field}") for field, x in zip(Limits._fields, value)))
    for low, high in zip(read.lower, read.upper):
        if ops.is_literal(low) and ops.is_literal(high) and low > high:
            raise ModelError(
                f"{what}: the lower limit {low:g} is above the upper limit {high:g}: exchange them"
            )
        if (ops.is_literal(low) and low == math.inf) or (ops.is_literal(high) and high == -math.inf):
            raise ModelError(
                f"{what}: no position lies between the limits {shown(low)} and {shown(high)}: "
                "no limit is -inf below and inf above"
            )
    not_negative(read.velocity, f"{what}, velocity")
    not_negative(read.effort, f"{what}, effort")
    return read


@cache
def _no_limits(count: int) -> Limits:
    return Limits(*((x,) * count for x in Limits()))


def _limit(x: Any, count: int, what: str) -> Numbers:
    """One limit per degree of freedom; infinity means no limit."""
    given = tuple(x) if hasattr(x, "__iter__") and not isinstance(x, (str, bytes)) else (x,) * count
    finite = tuple(0.0 if ops.is_literal(a) and math.isinf(a) else a for a in given)
    checked = per_degree(finite, count, what)
    return tuple(float(a) if ops.is_literal(a) and math.isinf(a) else b for a, b in zip(given, checked))


def mimic(value: Any, joint: Joint, owner: str) -> Mimic | None:
    """The rule of a joint that follows another: from (joint, multiplier, offset), a joint's name, or None."""
    if value is None:
        return None
    listed = hasattr(value, "__iter__") and not isinstance(value, (dict, set))
    given = (value,) if isinstance(value, str) else tuple(value) if listed else ()
    if not 1 <= len(given) <= 3 or not isinstance(given[0], str):
        raise ModelError(f"{owner}: mimic must be (joint name, multiplier, offset), got {shown(value)}")
    if joint.nv != 1:
        raise ModelError(
            f"{owner}: a {joint.type_name} joint has {joint.nv} degrees of freedom and cannot follow "
            f"'{given[0]}': only joints with one can mimic"
        )
    rule = Mimic(*given)
    return Mimic(
        rule.joint, number(rule.multiplier, f"{owner}: multiplier"), number(rule.offset, f"{owner}: offset")
    )


def _resistance(x: Any, joint: Joint, what: str) -> Numbers:
    return not_negative(per_degree(x, joint.nv, what), what)


# How the fields of a body and its joint are read: field -> check(value, joint, what).
Check = Callable[[Any, Joint, str], Any]
BODY_FIELDS: dict[str, Check] = {
    "inertia": lambda x, joint, what: inertia(x, what),
    "placement": lambda x, joint, what: pose(x, what),
}
JOINT_FIELDS: dict[str, Check] = {
    "armature": _resistance,
    "damping": _resistance,
    "friction": _resistance,
    "stiffness": lambda x, joint, what: per_degree(x, joint.nv, what),
    "spring_reference": position,
    "limits": lambda x, joint, what: limits(x, joint.nv, what),
}
IDENTITY = Pose.identity()
NO_INERTIA = Inertia.zero()
