"""The elementary motions that a joint is made of: hinges, slides and balls, one after the other.

Converters to other libraries and files read joints in this form and need to know no joint type.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Vector = tuple[Any, Any, Any]
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)


class Step(NamedTuple):
    """One elementary motion; the successor side of a step is the predecessor side of the next.

    kind: "hinge" turns about `axis`, "slide" moves along `axis`, "ball" rotates by a quaternion [x y z w].
    axis: unit vector, the same on both sides; None for a ball.
    positions: the coordinates of the joint that drive it.
    velocities: the velocities of the joint that belong to it. If a joint's velocities are not the rates of
        its coordinates (a free joint), they are the same motion in the axes of the successor.
    ratio: angle or length of the step per unit of its coordinate. Two steps that share a coordinate, such as
        the rotation and the translation of a screw, are tied to each other.
    """

    kind: Literal["hinge", "slide", "ball"]
    axis: Vector | None
    positions: tuple[int, ...]
    velocities: tuple[int, ...]
    ratio: Any = 1


def hinge(axis: Vector, k: int = 0) -> Step:
    """A turn about `axis` by coordinate k of the joint."""
    return Step("hinge", axis, (k,), (k,))


def slide(axis: Vector, k: int = 0, ratio: Any = 1) -> Step:
    """A translation along `axis` by `ratio` times coordinate k of the joint."""
    return Step("slide", axis, (k,), (k,), ratio)


BALL = Step("ball", None, (0, 1, 2, 3), (0, 1, 2))
