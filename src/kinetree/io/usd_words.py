"""The attributes of USD physics: what is read, what affects the motion but is not modelled, and the rest.

Engines add their own attributes. Unlisted ones on bodies and joints that have a value are findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kinetree.io.report import Log
from kinetree.io.usd_stage import Stage
from kinetree.io.words import Words

USD = {
    "PhysicsScene": Words("gravityDirection gravityMagnitude"),
    "PhysicsRigidBodyAPI": Words(
        "rigidBodyEnabled kinematicEnabled", idle="velocity angularVelocity startsAsleep simulationOwner"
    ),
    "PhysicsMassAPI": Words("mass density centerOfMass diagonalInertia principalAxes"),
    "PhysicsCollisionAPI": Words("collisionEnabled", idle="simulationOwner filteredPairs"),
    "PhysicsMeshCollisionAPI": Words("approximation"),
    "PhysicsMaterialAPI": Words("density dynamicFriction staticFriction", idle="restitution"),
    "PhysicsJoint": Words(
        "body0 body1 localPos0 localPos1 localRot0 localRot1 jointEnabled excludeFromArticulation axis "
        "lowerLimit upperLimit",
        "breakForce breakTorque minDistance maxDistance",
        "collisionEnabled coneAngle0Limit coneAngle1Limit",
    ),
    "PhysicsLimitAPI": Words("low high"),
    "PhysicsDriveAPI": Words("stiffness damping targetPosition maxForce type", "targetVelocity"),
    "PhysicsArticulationRootAPI": Words(),
    "PhysxRigidBodyAPI": Words(
        "", "disableGravity linearDamping angularDamping lockedPosAxis lockedRotAxis enableGyroscopicForces"
    ),
    "PhysxJointAPI": Words("armature maxJointVelocity", "jointFriction"),
}

_NAMESPACES = {"PhysxRigidBodyAPI": "physxRigidBody", "PhysxJointAPI": "physxJoint"}  # the others: physics


def _named(*parts: int) -> set[str]:
    """The full names of attributes in some columns of the table."""
    return {
        f"{_NAMESPACES.get(schema, 'physics')}:{word}"
        for schema, words in USD.items()
        for k in parts
        for word in (words[k] or "").split()
    }


_KNOWN, _ACTING = _named(0, 2), _named(1)
_SAID = ("physics:targetVelocity", "physics:minDistance", "physics:maxDistance")  # reported elsewhere
_ENGINES = ("physx", "mjc", "newton")
_IDLE = (
    "physxRigidBody physxArticulation physxLimit physxCollision physxScene physxConvexHullCollision state "
    "physxContactReport"
).split()  # namespaces of solver and contact settings
_MULTIPLE = ("drive", "limit")
_HARMLESS = ("physxRigidBody:enableGyroscopicForces",)  # affect the motion only if false


def check_usd_words(prims: Iterable[Any], stage: Stage, log: Log) -> None:
    """Record attributes that are unknown, or affect the motion but are not modelled; each once."""
    found: dict[tuple[str, str], tuple[Any, int]] = {}
    for prim in prims:
        for rule, name in _odd(prim):
            first, count = found.get((rule, name), (prim, 0))
            found[rule, name] = first, count + 1
    for (rule, name), (prim, count) in found.items():
        times = f" ({count} times)" if count > 1 else ""
        what = "is not modelled" if rule == "unsupported" else "is not an attribute of USD physics"
        log.add(rule, stage.where(prim), f"{name[:80]!r} {what}{times}")


def _odd(prim: Any) -> Iterator[tuple[str, str]]:
    """(rule, name) of every attribute with a value that is neither read nor without effect."""
    for attribute in prim.GetAuthoredAttributes():
        name = attribute.GetName()
        first, _, rest = name.partition(":")
        plain = rest.partition(":")[2] if first in _MULTIPLE else name
        if plain in _KNOWN or plain in _SAID:
            continue
        if plain in _ACTING:
            if _says(attribute.Get()) != (plain in _HARMLESS):
                yield "unsupported", name
        elif first == "physics" or first in _MULTIPLE:
            yield "attribute-unknown", name
        elif first.startswith(_ENGINES) and first not in _IDLE and _says(attribute.Get()):
            yield "unsupported", name


def _says(value: Any) -> bool:
    """Whether a value is anything but zero, false, empty or unbounded."""
    try:
        numbers = np.atleast_1d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        return bool(value) and str(value) not in ("none", "auto")
    return bool(np.any(numbers[np.isfinite(numbers)]))
