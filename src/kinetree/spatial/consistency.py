"""Physical consistency of inertias: principal moments, the test, and the decomposition into six dyads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree import ops
from kinetree.spatial import vector as vec
from kinetree.spatial.even import decided
from kinetree.spatial.motion import Force
from kinetree.spatial.vector import IDENTITY, ZERO, Matrix, Number, Symmetric, Vector

if TYPE_CHECKING:
    from kinetree.spatial.inertia import Inertia


# How far a moment may be negative, relative to the trace of J about the origin: rounding of the parallel-axis
# theorem. File readers allow for the few digits of their files themselves.
TOLERANCE = 1e-9


class Dyad(NamedTuple):
    """One symmetric dyad of an inertia, value y y^T with y a force: the momentum per unit of y . V."""

    value: Number
    direction: Force


def principal_axes(second: Symmetric) -> tuple[Vector, Matrix]:
    """The eigenvalues of a symmetric 3x3 matrix (xx, yy, zz, xy, xz, yz), not sorted, and unit eigenvectors.

    Jacobi's method with a fixed number of rotations and no branches, so it also runs on batches and
    expressions. Literal zeros off the diagonal need no rotation.
    """
    a = [list(row) for row in vec.sym_matrix(second)]
    v = [list(row) for row in IDENTITY]  # columns are the axes
    for _ in range(_sweeps(second)):
        for p, q in ((0, 1), (0, 2), (1, 2)):
            if ops.is_literal(a[p][q]) and a[p][q] == 0:
                continue
            c, s = _jacobi_turn(a[p][p], a[q][q], a[p][q])
            for row in (*a, *v):
                row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
            a[p], a[q] = (
                [c * x - s * y for x, y in zip(a[p], a[q], strict=True)],
                [s * x + c * y for x, y in zip(a[p], a[q], strict=True)],
            )
            a[p][q] = a[q][p] = 0 * a[p][q]
    axes = vec.transpose(tuple((row[0], row[1], row[2]) for row in v))  # type: ignore[arg-type]
    return (a[0][0], a[1][1], a[2][2]), axes


def _sweeps(second: Symmetric) -> int:
    """Enough sweeps for the precision of the numbers: convergence is quadratic after the first few."""
    bits = max(getattr(getattr(x, "context", None), "prec", 53) for x in second)
    return 6 + max(0, bits // 53 - 1).bit_length()


def _jacobi_turn(p: Number, q: Number, off: Number) -> tuple[Number, Number]:
    """The cosine and sine of the smaller rotation that makes the off-diagonal entry vanish."""
    gap = q - p
    root = ops.sqrt(gap * gap + 4 * off * off)
    sum_ = gap + ops.where(decided(ops.less(gap, 0)), -root, root)
    tangent = 2 * off / ops.where(decided(ops.equal(sum_, 0)), 1.0, sum_)
    c = 1 / ops.sqrt(1 + tangent * tangent)
    return c, tangent * c


def second_moment_matrix(I: Inertia) -> Symmetric:
    """Sigma = tr(J_c) / 2 - J_c: the integral of r r^T dm about the centre of mass, as six entries."""
    xx, yy, zz, xy, xz, yz = I.about_com
    return ((yy + zz - xx) / 2, (xx + zz - yy) / 2, (xx + yy - zz) / 2, -xy, -xz, -yz)


def is_physical(I: Inertia, tolerance: float = TOLERANCE) -> Any:
    """True if some mass distribution has this inertia: m > 0, second-moment matrix positive semidefinite.

    This is stronger than a positive definite J: it includes the triangle inequalities of the principal
    moments. Flat and thin bodies are physical. `tolerance` is relative to the trace of J about the origin.
    """
    if all(ops.is_literal(x) for x in I.parameters):
        return bool(I.mass > 0) and fault(I, tolerance) is None
    floor = -tolerance * (I.second[0] + I.second[1] + I.second[2])
    if ops.is_literal(I.mass) and not I.mass > 0:
        return False
    a, b, c = principal_axes(second_moment_matrix(I))[0]
    smallest = ops.min(ops.min(a, b), c)
    return ops.less(0, ops.where(ops.less_equal(floor, smallest), I.mass, -1.0))


def fault(I: Inertia, tolerance: float = TOLERANCE, *, spins: bool = False) -> str | None:
    """Why no mass distribution has this inertia, in words; None if one has, or if it contains symbols.

    An inertia of all zeros is a body without mass, and valid. With `spins` (a rotor) any nonnegative moments
    are valid: the triangle inequality need not hold.
    """
    if not all(ops.is_literal(x) for x in I.parameters):
        return None
    if not all(math.isfinite(x) for x in I.parameters):
        return "the inertia is not finite"
    if I.mass < 0:
        return f"the mass is negative ({I.mass:g} kg)"
    if I.mass == 0 and any(I.first_moment):
        return f"the first moment {I.first_moment} needs a mass, but the mass is 0"
    if I.mass == 0 and not any(I.second):
        return None
    xx, yy, zz, xy, xz, yz = I.about_com
    if xy == xz == yz == 0:
        moments = sorted((xx, yy, zz))
    else:
        moments = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).tolist()
    floor = -tolerance * abs(I.second[0] + I.second[1] + I.second[2])
    shown = ", ".join(f"{m:.6g}" for m in moments)
    if moments[0] < floor:
        return f"the inertia is not positive definite (principal moments {shown})"
    if not spins and (moments[0] + moments[1] - moments[2]) / 2 < floor:
        return f"no body has the principal moments {shown}, because the largest exceeds the sum of the others"
    return None


def dyads(I: Inertia) -> tuple[Dyad, ...]:
    """Six dyads whose sum is I: three of the mass at its centre, three of the principal moments."""
    c = I.com
    moments, axes = principal_axes(I.about_com)
    masses = tuple(Dyad(I.mass, Force(vec.cross(c, e), e)) for e in IDENTITY)
    return masses + tuple(Dyad(J, Force(axis, ZERO)) for J, axis in zip(moments, axes, strict=True))
