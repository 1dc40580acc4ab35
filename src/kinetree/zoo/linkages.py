"""Planar linkages and gears with closed loops."""

from __future__ import annotations

import math
from typing import Any

from kinetree.joints import Fixed, Prismatic, Revolute
from kinetree.model import Limits, Model
from kinetree.spatial import vector as vec
from kinetree.spatial.vector import Vector
from kinetree.zoo.drawing import Drawing, meeting
from kinetree.zoo.shapes import ball, box, rod

ORIGIN = vec.ZERO
PIN = Revolute((0, 1, 0))  # linkages move in the plane y = 0
ACROSS: Vector = (0, 1, 0)


def four_bar(independent: Any = ("crank",)) -> Model:
    """A crank-rocker of 0.10, 0.25, 0.20 and 0.25 m: a geared motor turns the crank, the rocker swings.

    Three joints, one degree of freedom. All coordinates are zero with the crank upright.

    Args:
        independent: the joint whose velocity is v: "crank", "coupler" or "rocker". The rocker has dead points
            where crank and coupler are aligned.
    """
    crank_pin, pivot = (0.0, 0.0, 0.10), (0.25, 0.0, 0.0)
    rocker_pin = meeting(crank_pin, 0.25, pivot, 0.20)
    drawing = Drawing("four_bar")
    drawing.bar("crank", "world", PIN, ORIGIN, crank_pin, 0.12, damping=0.01, limits=_drive(60.0, 8.0))
    drawing.bar("coupler", "crank", PIN, crank_pin, rocker_pin, 0.25, damping=0.002)
    drawing.bar("rocker", "world", PIN, pivot, rocker_pin, 0.20, damping=0.002)
    drawing.motor("crank", ACROSS, ratio=20.0, mass=0.08, radius=0.015)
    drawing.close("coupler", "rocker", PIN, rocker_pin, independent=independent, name="four_bar")
    drawing.frame("coupler_end", "coupler", rocker_pin)
    return drawing.model()


def slider_crank(radius: float = 0.04, rod_length: float = 0.14, offset: float = 0.0) -> Model:
    """A crank, a connecting rod and a piston that slides along x: an engine with one cylinder.

    The piston pin is at x = r cos(q) + sqrt(l^2 - (r sin(q) + offset)^2); q = 0 is the outer dead centre if
    there is no offset. The piston's coordinate is zero there.

    Args:
        radius: of the crank, m.
        rod_length: of the connecting rod, m.
        offset: the piston pin moves along the line z = offset, m.
    """
    crank_pin = (radius, 0.0, 0.0)
    piston_pin = (radius + math.sqrt(rod_length * rod_length - offset * offset), 0.0, offset)
    drawing = Drawing("slider_crank")
    flywheel = rod(2.5, 0.07, 0.03, 1) + ball(0.3, 0.02, crank_pin)
    drawing.body("crank", "world", PIN, ORIGIN, flywheel, damping=0.005, limits=_drive(600.0, 80.0))
    drawing.bar("rod", "crank", PIN, crank_pin, piston_pin, 0.45, 0.012)
    piston = rod(0.35, 0.04, 0.05, 0, piston_pin)
    drawing.body("piston", "world", Prismatic((1, 0, 0)), piston_pin, piston, friction=5.0)
    drawing.motor("crank", ACROSS, ratio=-1.5, mass=0.8, radius=0.03)  # a starter on the same shaft
    drawing.close("rod", "piston", PIN, piston_pin, independent=("crank",), name="slider_crank")
    return drawing.model()


def gripper() -> Model:
    """An adaptive gripper with two fingers of four links, after the Robotiq 2F-85: three degrees of freedom.

    One motor drives both fingers; springs hold the other degree of freedom of each until it touches
    something. Hinges close the linkages, and three of the five rows of each are redundant, because a planar
    linkage stays in its plane anyway.

    Reference: pins, masses, springs and limits of the 2F-85 in the MuJoCo Menagerie, rounded.
    """
    drawing = Drawing("gripper")
    for side, s in (("left", 1.0), ("right", -1.0)):
        hinge = Revolute((0.0, s, 0.0))
        driver, knuckle = (0.0306 * s, 0.0, 0.0549), (0.0621 * s, 0.0, 0.0508)
        spring, joint, pin = (0.0132 * s, 0.0, 0.0609), (0.0682 * s, 0.0, 0.0984), (0.0617 * s, 0.0, 0.1028)
        follows = None if side == "left" else ("left_driver", 1.0, 0.0)
        more: Any = {"damping": 0.1, "mimic": follows, "limits": Limits(-0.9, 0.1, 2.0, 5.0)}
        name = f"{side}_driver"
        drawing.bar(name, "world", hinge, driver, knuckle, 0.009, 0.004, **more)
        drawing.bar(f"{side}_coupler", name, hinge, knuckle, pin, 0.014, 0.004)
        name = f"{side}_spring"
        drawing.bar(name, "world", hinge, spring, joint, 0.022, 0.004, stiffness=0.05, damping=0.00125)
        finger = box(0.016, (0.012, 0.022, 0.045), (joint[0] - 0.01 * s, 0.0, joint[2] + 0.02))
        drawing.body(f"{side}_finger", name, hinge, joint, finger)
        drawing.frame(f"{side}_pad", f"{side}_finger", (joint[0] - 0.016 * s, 0.0, joint[2] + 0.035))
        more = {"independent": ("left_driver", name), "name": f"{side}_linkage"}
        drawing.close(f"{side}_finger", f"{side}_coupler", hinge, pin, **more)
    drawing.motor("left_driver", ACROSS, ratio=250.0, mass=0.03, radius=0.008)
    return drawing.model()


def differential(independent: Any = ("left", "right"), ratio: float = 1.5) -> Model:
    """A wrist with a bevel-gear differential: two motors on the base turn and tilt one output.

        left = pitch + ratio roll        right = pitch - ratio roll

    Both side gears turn on the base; each is welded to its mesh, a massless body on the cross that turns with
    the roll. Such loops are linear: G is constant, and mimic joints could express the same.

    Args:
        independent: ("left", "right"), the motors, or ("pitch", "roll"), the output.
        ratio: teeth of the output gear over those of a side gear.
    """
    drawing = Drawing("differential")
    roll, chosen = Revolute((1, 0, 0)), {"left": (), "right": independent}
    cross = box(0.25, (0.04, 0.10, 0.04)) + ball(0.05, 0.02, (0.02, 0.0, 0.0))
    drawing.body("pitch", "world", PIN, ORIGIN, cross, limits=Limits(-1.6, 1.6))
    tool = rod(0.30, 0.025, 0.15, 0, (0.12, 0.005, 0.0))
    drawing.body("roll", "pitch", roll, (0.04, 0.0, 0.0), tool, limits=Limits(-3.1, 3.1))
    for side, s in (("left", 1.0), ("right", -1.0)):
        at = (0.0, 0.04 * s, 0.0)
        gear = rod(0.08, 0.03, 0.012, 1, at)
        drawing.body(side, "world", PIN, at, gear, damping=0.02, limits=_drive(12.0, 6.0))
        drawing.motor(side, ACROSS, ratio=36.0, mass=0.05, radius=0.012)
        drawing.body(f"{side}_mesh", "pitch", PIN, at)
        drawing.builder.add_relation(f"{side}_mesh", "roll", (0.0, ratio * s), name=f"{side}_teeth")
        drawing.close(side, f"{side}_mesh", Fixed(), at, name=f"{side}_gear", independent=chosen[side])
    drawing.frame("tool", "roll", (0.195, 0.0, 0.0))
    return drawing.model()


def _drive(speed: float, effort: float) -> Limits:
    """The limits of a motor that turns without end stops."""
    return Limits(velocity=speed, effort=effort)
