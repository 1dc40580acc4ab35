"""Influence matrices: how a quantity at one body of a tree reaches the others.

Any blocks A_i, one for each body, define a nilpotent matrix and its resolvent,

    [Phi]_{i, p(i)} = A_i        Psi = (1 - Phi)^-1 = 1 + Phi + ... + Phi^(d-1)

whose products with vectors are the two recursions of every tree algorithm: Psi from the root to the tips,
Psi^T from the tips to the root.

Reference: Concurrent Dynamics (2017), definitions 1 and 2; Jain (2011), spatial kernel and propagation
operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kinetree.errors import KinetreeError, ModelError, ShapeError
from kinetree.model.topology import Topology
from kinetree.soa.alphabet import Space, Spec
from kinetree.soa.blocks import WORLD, Blocks
from kinetree.soa.operator import Letter
from kinetree.soa.rules import Rule
from kinetree.soa.trees import TreeHome, stacked_slices

Array = np.ndarray
PARTS = Space("parts of bodies")
_LETTERS = {
    "Phi": Spec(PARTS, PARTS, r"\Phi", "shift", "The influence of each body on its children.", outward=True),
    "Psi": Spec(PARTS, PARTS, r"\Psi", "resolvent", "The influence of each body on all that it carries.",
                "Phi.T", invertible=True, outward=True),
}  # fmt: skip


class InfluenceMatrix(TreeHome):
    """The operators `Phi` and `Psi` of a tree with a block on each of its edges.

    Args:
        tree: a model, or the parent of each body: bodies are numbered from 1, parents first; 0 is the ground.
        blocks: A_i for each body, with as many rows as the part of body i and as many columns as that of its
            parent. The columns of a root's block belong to the ground and do not enter Phi.
    """

    def __init__(self, tree: Any, blocks: Sequence[Any]):
        parents = tuple(getattr(tree, "parents", tree))
        self.edges = tuple(np.array(block, float) for block in blocks)
        if len(self.edges) != len(parents):
            raise ShapeError(
                f"InfluenceMatrix: {len(self.edges)} blocks were given for {len(parents)} bodies"
            )
        for i, (p, block) in enumerate(zip(parents, self.edges), 1):
            if not 0 <= p < i:
                raise ModelError(
                    f"InfluenceMatrix: the parent of body {i} is {p}, but parents come first: number the "
                    "bodies from the root to the tips"
                )
            if block.ndim != 2 or (p and block.shape[1] != self.edges[p - 1].shape[0]):
                need = f"{self.edges[p - 1].shape[0]} columns, for body {p}" if p else "two axes"
                raise ShapeError(f"InfluenceMatrix: block {i} has shape {block.shape}, but needs {need}")
            block.flags.writeable = False
        self.topology = Topology(parents)
        self._parts = stacked_slices([block.shape[0] for block in self.edges])
        self._carriers = tuple(self._parts[p - 1] if p else WORLD for p in parents)
        # a root sends nothing to the ground: no rows
        steps = [block if p else np.zeros((block.shape[0], 6)) for p, block in zip(parents, self.edges)]
        self.blocks = Blocks(lambda name: steps, self._no_frame)

    def letter(self, name: str, *args: str) -> Letter:
        if name not in _LETTERS:
            raise KinetreeError(f"an influence matrix has the letters Phi and Psi, not {name!r}")
        return Letter.of(self, name, _LETTERS[name]).T

    def rules(self, use: str) -> tuple[Any, ...]:
        if use != "->":
            return ()
        pairs = [(1 - A, B.turned) for A, B in ((self.Phi, self.Psi), (self.Phi.T, self.Psi.T))]
        return tuple(Rule("OPR-6", "resolvent", left, right) for left, right in pairs)

    def places(self, space: Space) -> tuple[Any, ...]:
        return self._parts

    def _no_frame(self, name: str) -> Any:
        raise KinetreeError("an influence matrix has no frames")

    @property
    def Phi(self) -> Letter:
        """The influence of each body on its children: [Phi]_{i, p(i)} = A_i, zero elsewhere."""
        return self.letter("Phi")

    @property
    def Psi(self) -> Letter:
        """The influence of each body on everything it carries: (1 - Phi)^-1."""
        return self.letter("Psi")

    @property
    def nilpotency(self) -> int:
        """The smallest m for which Phi^m vanishes whatever the blocks: the depth of the tree."""
        return max(self.topology.depths)

    def gathered(self, blocks: Sequence[Array]) -> tuple[Array, ...]:
        """The diagonal R with R - Phi^T R Phi = the given one (forward Lyapunov equation), tips to root."""
        R = list(blocks)
        for i in range(len(R), 0, -1):
            p, A = self.topology.parent(i), self.edges[i - 1]
            if p:
                R[p - 1] = R[p - 1] + A.T @ R[i - 1] @ A
        return tuple(R)

    def scattered(self, blocks: Sequence[Array]) -> tuple[Array, ...]:
        """The diagonal Y with Y_i = A_i Y_p A_i^T + the given block (backward Lyapunov), root to tips."""
        Y = list(blocks)
        for i, (p, A) in enumerate(zip(self.topology.parents, self.edges)):
            if p:
                Y[i] = Y[i] + A @ Y[p - 1] @ A.T
        return tuple(Y)

    def __repr__(self) -> str:
        return f"<influence matrix of {len(self.edges)} bodies, nilpotent of index {self.nilpotency}>"
