"""Linear algebra on a tree: factors of matrices whose entries belong to pairs of velocities on one path.

M = L^T D L with a unit triangular L that has the pattern of M (no fill-in); N = L^-1 has that pattern too. A
table holds the entries [k, i] for i inboard of k.

Reference: Featherstone (2005), Efficient factorization of the joint-space inertia matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kinetree.sweep import Sweep


def factored(tree: Sweep, H: Any) -> tuple[Any, Any]:
    """The tables N = L^-1 (off the diagonal) and 1 / D of a positive definite matrix H, which is overwritten.

        L_ki = H_ki / H_kk        H_ij -= L_ki H_kj        N_ia = -L_ia - sum_b L_ib N_ba, b between i and a
    """
    walk = tree.velocities
    L, N, r = walk.table("nv", "nv"), walk.table("nv", "nv"), walk.table("nv")
    for k in walk.inward():
        r[k] = scale = walk.reciprocal(k, H[k, k])
        for i in walk.above(k):
            L[k, i] = share = H[k, i] * scale
            H.add(-share * H[k, i], i, i)
            for j in walk.above(i):
                H.add(-share * H[k, j], i, j)
    for i in walk.outward():
        for b in walk.above(i):
            share = -L[i, b]
            N.add(share, i, b)
            for a in walk.above(b):
                N.add(share * N[b, a], i, a)
    return N, r


def inverted(tree: Sweep, N: Any, r: Any, inverse: Any) -> None:
    """Write M^-1 = N D^-1 N^T; only common ancestors contribute terms."""
    walk = tree.velocities
    row = walk.table("nv")
    for i in walk.outward():
        for c in walk.before(i):
            row[c] = 0
        row[i] = r[i]
        for a in walk.above(i):
            row[a] = N[i, a] * r[a]
        for c in walk.before(i):
            for a in walk.above(c):
                row.add(N[c, a] * row[a], c)
            inverse[i, c] = inverse[c, i] = row[c]


def solve(tree: Sweep, N: Any, r: Any, z: Any, b: Callable[[Any], Any], sign: int = 1) -> None:
    """Set z to M^-1 b, or -M^-1 b, for one vector b or several: z = N D^-1 N^T b."""
    walk = tree.velocities
    for k in walk.outward():
        z[k] = b(k)
    for k in walk.outward():
        for i in walk.above(k):
            z.add(b(k) * N[k, i], i)
    for k in walk.outward():
        z[k] = z[k] * (r[k] if sign > 0 else -r[k])
    for k in walk.inward():
        for i in walk.above(k):
            z.add(z[i] * N[k, i], k)


def _entry(b: Any, c: Any, k: Any) -> Any:
    return b[k, c]


def solved(tree: Sweep, N: Any, r: Any, b: Any, x: Any, sign: int = 1) -> None:
    """Write the matrix x = M^-1 b, or -M^-1 b."""
    b = tree.velocities.in_blocks(b)
    for c in tree.velocities.blocks():
        z = tree.velocities.column(c)
        solve(tree, N, r, z, partial(_entry, b, c), sign)
        for k in tree.velocities.outward():
            x[k, c] = z[k]
