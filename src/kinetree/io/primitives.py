"""Volumes and moments of primitives, solid or hollow: one table for all formats."""

from __future__ import annotations

from math import pi

Moments = tuple[float, float, float]

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}  # numbers per size
_P = 1.6075  # Thomsen's exponent for the surface of an ellipsoid
_SKIN = 1e-6  # m: thickness of the shell of an ellipsoid


def solid(kind: str, size: tuple[float, ...]) -> tuple[float, Moments]:
    """The volume of a primitive, and its principal moments for unit mass.

    Args:
        size: radius of a sphere; radius and half length of a cylinder or capsule (along z); half axes of a
            box or an ellipsoid.
    """
    match kind, size:
        case "sphere", (r,):
            return 4 / 3 * pi * r**3, (0.4 * r * r,) * 3
        case "ellipsoid", (a, b, c):
            return 4 / 3 * pi * a * b * c, ((b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5)
        case "box", (a, b, c):
            return 8 * a * b * c, ((b * b + c * c) / 3, (a * a + c * c) / 3, (a * a + b * b) / 3)
        case "cylinder", (r, half):
            across = (3 * r * r + 4 * half * half) / 12
            return 2 * pi * r * r * half, (across, across, r * r / 2)
        case "capsule", (r, half):  # a cylinder and two half balls
            h = 2 * half
            ball = 4 * r / (4 * r + 3 * h)  # the balls' share of the mass
            across = (1 - ball) * (3 * r * r + h * h) / 12 + ball * (0.4 * r * r + h * (3 * r + 2 * h) / 8)
            along = (1 - ball) * r * r / 2 + ball * 0.4 * r * r
            return pi * r * r * h + 4 / 3 * pi * r**3, (across, across, along)
    raise AssertionError(kind)


def shell(kind: str, size: tuple[float, ...]) -> tuple[float, Moments]:
    """The surface area of a primitive, and the principal moments of the surface for unit mass."""
    match kind, size:
        case "sphere", (r,):
            return 4 * pi * r * r, (2 / 3 * r * r,) * 3
        case "ellipsoid", (a, b, c):
            mean = ((a * b) ** _P + (a * c) ** _P + (b * c) ** _P) / 3
            return 4 * pi * mean ** (1 / _P), _skin(a, b, c)
        case "box", (a, b, c):  # three pairs of plates
            x, y, z = b * c, a * c, a * b
            area = x + y + z
            xx = (z * (b * b / 3 + c * c) + y * (c * c / 3 + b * b) + x * (b * b + c * c) / 3) / area
            yy = (z * (a * a / 3 + c * c) + x * (c * c / 3 + a * a) + y * (a * a + c * c) / 3) / area
            zz = (y * (a * a / 3 + b * b) + x * (b * b / 3 + a * a) + z * (a * a + b * b) / 3) / area
            return 8 * area, (xx, yy, zz)
        case "cylinder", (r, half):  # a tube and two discs
            tube = 2 * half / (2 * half + r)
            across = tube * (r * r / 2 + half * half / 3) + (1 - tube) * (r * r / 4 + half * half)
            return 2 * pi * r * (2 * half + r), (across, across, tube * r * r + (1 - tube) * r * r / 2)
        case "capsule", (r, half):  # a tube and two half spheres, whose centres are r / 2 from their rims
            tube = half / (half + r)
            cap = 2 / 3 * r * r - r * r / 4 + (half + r / 2) ** 2
            across = tube * (r * r / 2 + half * half / 3) + (1 - tube) * cap
            return 4 * pi * r * (half + r), (across, across, tube * r * r + (1 - tube) * 2 / 3 * r * r)
    raise AssertionError(kind)


def _skin(a: float, b: float, c: float) -> Moments:
    """Moments for unit mass of the shell between an ellipsoid and one with half axes longer by `_SKIN`.

    The difference of abc (b^2 + c^2) / 5, computed without cancellation from the differences of the factors.
    """
    axes = (a, b, c)
    larger = tuple(x + _SKIN for x in axes)
    volume = _SKIN * (b * c + larger[0] * c + larger[0] * larger[1])  # difference of abc
    inner, growth = a * b * c, [_SKIN * (2 * x + _SKIN) for x in axes]  # differences of a^2, b^2, c^2

    def moment(i: int, j: int) -> float:
        squares = larger[i] ** 2 + larger[j] ** 2
        return (volume * squares + inner * (growth[i] + growth[j])) / (5 * volume)

    return moment(1, 2), moment(0, 2), moment(0, 1)
