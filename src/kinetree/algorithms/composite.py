"""Composite inertias: what a body feels like while all joints outboard of it are locked."""

from __future__ import annotations

from typing import Any

from kinetree.spatial import Inertia, Transform
from kinetree.sweep import Sweep, algorithm


@algorithm("q -> I(nb, 6, 6)")
def composite_inertias(tree: Sweep, q: Any) -> Any:
    """The composite inertia I^C of every body, 6 x 6 in body axes: everything outboard is locked to it.

        I^C_p = I_p + sum X^T I^C X

    Cost O(N).

    Reference: Featherstone (2008) eq. 6.15; Jain, spatial operator algebra part 4; thesis eq. 2.17.
    """
    (X,) = tree.fields(Transform)
    I = tree.sums(Inertia)
    out = tree.array("nb", 6, 6)
    for i in tree.outward():
        X[i], _ = tree.joint(i, q[i])
        I[i] = tree.inertia(i)
    for i in tree.inward():
        out[i] = tree.gathered(i, X[i], I[i]).matrix()
        I.add(tree.parent(i), X[i].T @ I[i] @ X[i])
    return out
