"""Boyden's layout, as in Featherstone's first book: forces are [force; moment], motions [angular; linear].

With the halves of forces swapped by Pi = [0 1; 1 0], one transform X and one cross product serve motions and
forces alike, an inertia is Pi I (not symmetric) and transforms as X I X^-1, and power needs the spatial
transpose (.)^S = Pi (.)^T Pi.

| there | here |
|---|---|
| force f, momentum | Pi F |
| inertia I | Pi I |
| X for forces, p X o | Pi X^-T Pi = X |
| v x f | Pi (V x* F) |
| S^S f | S^T F |
"""

from __future__ import annotations

from typing import Any

from kinetree.spatial.inertia import Inertia
from kinetree.spatial.motion import Force, Motion
from kinetree.spatial.transform import Transform
from kinetree.textbook.dense import Rows, crm, inner


def swapped(x: Any) -> tuple:
    """Pi x: the halves of six numbers, or of six rows, exchanged."""
    return (*x[3:], *x[:3])


def from_force(F: Force) -> tuple:
    """[f; n]: a force as six numbers in Boyden's layout."""
    return swapped(F.components)


def to_force(f: Any) -> Force:
    """The force with the six numbers [f; n]."""
    return Force.from_components(swapped(tuple(f)))


def from_inertia(I: Inertia) -> Rows:
    """Pi I: takes velocity to [linear; angular] momentum."""
    return swapped(I.matrix())


def transform_matrix(X: Transform) -> Rows:
    """[E 0; E r~^T E], for motions and for forces."""
    return X.matrix()


def cross_matrix(V: Motion) -> Rows:
    """[a b] x = [a~ 0; b~ a~], for motions and for forces."""
    return crm(V)


def spatial_transpose(A: Any) -> Rows:
    """[A B; C D]^S = [D^T B^T; C^T A^T] for a 6x6 matrix; for a 6xk matrix S^S = S^T Pi."""
    rows = tuple(zip(*A, strict=True))
    turned = tuple(swapped(row) for row in rows)
    return swapped(turned) if len(turned) == 6 else turned


def scalar_product(f: Any, d: Any) -> Any:
    """f^S d = f . d_o + f_o . d: the work of the force [f; f_o] over the displacement [d; d_o]."""
    return inner(swapped(tuple(f)), tuple(d))
