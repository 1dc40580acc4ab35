"""The attributes of USD physics: what is read, what acts and is not modelled, what has no part in the motion.

Engines add attributes of their own. Those on bodies and joints that are not listed and say something are
findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kinetree.io.report import Log
from kinetree.io.usd_stage import Stage
from kinetree.io.words import Words

USD = {
    "PhysicsScene": Words("physics:gravityDirection physics:gravityMagnitude"),
    "PhysicsRigidBodyAPI": Words(
        "physics:rigidBodyEnabled physics:kinematicEnabled",
        "physxRigidBody:disableGravity physxRigidBody:linearDamping physxRigidBody:angularDamping "
        "physxRigidBody:lockedPosAxis physxRigidBody:lockedRotAxis physxRigidBody:enableGyroscopicForces",
        "physics:velocity physics:angularVelocity physics:startsAsleep physics:simulationOwner",
    ),
    "PhysicsMassAPI": Words(
        "physics:mass physics:density physics:centerOfMass physics:diagonalInertia physics:principalAxes"
    ),
    "PhysicsCollisionAPI": Words(idle="physics:collisionEnabled physics:approximation physics:filteredPairs"),
    "PhysicsMaterialAPI": Words(
        "physics:density", idle="physics:dynamicFriction physics:staticFriction physics:restitution"
    ),
    "PhysicsJoint": Words(
        "physics:body0 physics:body1 physics:localPos0 physics:localPos1 physics:localRot0 physics:localRot1 "
        "physics:jointEnabled physics:excludeFromArticulation physics:axis physics:lowerLimit "
        "physics:upperLimit physxJoint:armature physxJoint:maxJointVelocity",
        "physics:breakForce physics:breakTorque physics:minDistance physics:maxDistance "
        "physxJoint:jointFriction",
        "physics:collisionEnabled physics:coneAngle0Limit physics:coneAngle1Limit",
    ),
    "PhysicsLimitAPI": Words("physics:low physics:high"),
    "PhysicsDriveAPI": Words(
        "physics:stiffness physics:damping physics:targetPosition physics:maxForce physics:type",
        "physics:targetVelocity",
    ),
    "PhysicsArticulationRootAPI": Words("(the body that it is applied to)"),
}

_KNOWN = {word for words in USD.values() for word in f"{words.read} {words.idle}".split()}
_ACTING = {word for words in USD.values() for word in words.acting.split()}
_SAID = ("physics:targetVelocity", "physics:minDistance", "physics:maxDistance")  # with drives, with joints
_ENGINES = ("physx", "mjc", "newton")
_IDLE = (
    "physxRigidBody physxArticulation physxLimit physxCollision physxScene physxConvexHullCollision state "
    "physxContactReport"
).split()  # namespaces of settings of solvers and contacts
_MULTIPLE = ("drive", "limit")
_HARMLESS = ("physxRigidBody:enableGyroscopicForces",)  # act where they are false


def check_usd_words(prims: Iterable[Any], stage: Stage, log: Log) -> None:
    """Record attributes that are unknown, or act on the motion but are not modelled; each once."""
    found: dict[tuple[str, str], tuple[Any, int]] = {}
    for prim in prims:
        for rule, name in _odd(prim):
            first, count = found.get((rule, name), (prim, 0))
            found[rule, name] = first, count + 1
    for (rule, name), (prim, count) in found.items():
        times = f" ({count} times)" if count > 1 else ""
        what = "is not modelled" if rule == "unsupported" else "is no attribute of USD physics"
        log.add(rule, stage.where(prim), f"{name[:80]!r} {what}{times}")


def _odd(prim: Any) -> Iterator[tuple[str, str]]:
    """(rule, name) of everything that a prim says and that is not simply read or idle."""
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
    """Whether a value is anything but zero, false, empty or without bound."""
    try:
        numbers = np.atleast_1d(np.array(value, dtype=float))
    except (TypeError, ValueError):
        return bool(value) and str(value) not in ("none", "auto")
    return bool(np.any(numbers[np.isfinite(numbers)]))
