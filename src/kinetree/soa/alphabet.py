"""The alphabet of the spatial operator algebra: the spaces each letter maps between, and its definition.

A letter is local (a block for each node), a shift (from each node to the one that carries it), the resolvent
of a shift, a boundary (between the nodes and a few frames, or the world), or defined by other letters.
"""

from __future__ import annotations

from typing import NamedTuple


class Space(NamedTuple):
    """The contents of a stacked vector; `of` names frames. Motions and forces are dual."""

    name: str
    of: tuple[str, ...] = ()

    @property
    def dual(self) -> Space:
        """The space that the transposed operator maps to."""
        return Space(DUAL.get(self.name, self.name), self.of)

    @property
    def is_stacked(self) -> bool:
        """True if it has a part for each node of the tree."""
        return self.name not in (*SMALL, *(DUAL[name] for name in SMALL))

    def __str__(self) -> str:
        return f"{self.name} {', '.join(self.of)}" if self.of else self.name


VELOCITIES, EFFORTS = Space("velocities"), Space("generalised forces")
MOTIONS, FORCES = Space("motions of bodies"), Space("forces on bodies")
MOTIONS_I, FORCES_I = (Space(f"{s.name} about the world origin") for s in (MOTIONS, FORCES))
WORLD_MOTION, WORLD_FORCE = Space("the motion of the world"), Space("the force on the world")
SMALL = {WORLD_MOTION.name: WORLD_FORCE.name, "motions of frames": "forces at frames"}
_PAIRS = {VELOCITIES: EFFORTS, MOTIONS: FORCES, MOTIONS_I: FORCES_I}
DUAL = {a.name: b.name for a, b in _PAIRS.items()} | SMALL
DUAL |= {b: a for a, b in DUAL.items()}


class Spec(NamedTuple):
    """A letter: rows <- columns, its LaTeX, its kind and meaning, and its definition by other letters."""

    rows: Space
    columns: Space
    latex: str
    kind: str  # "local", "shift", "resolvent", "boundary", "defined"
    meaning: str
    definition: str = ""
    symmetric: bool = False
    invertible: bool = False
    family: str = "X"  # for shifts and resolvents: the transforms along the edges
    outward: bool = False  # the name denotes the letter that goes from the root to the tips


def _local(rows: Space, columns: Space, latex: str, meaning: str, **more: bool) -> Spec:
    return Spec(rows, columns, latex, "local", meaning, **more)  # type: ignore[arg-type]


def _defined(rows: Space, columns: Space, latex: str, definition: str, meaning: str, **more: bool) -> Spec:
    return Spec(rows, columns, latex, "defined", meaning, definition, **more)  # type: ignore[arg-type]


_INERTIA = {"symmetric": True, "invertible": True}

ALPHABET: dict[str, Spec] = {
    # the tree
    "E_phi": Spec(FORCES, FORCES, r"\mathcal{E}_\phi", "shift",
        "Forces carried to the body next inboard: E_phi(p(i), i) = X_i^T."),
    "phi": Spec(FORCES, FORCES, r"\phi", "resolvent",
        "Forces of all bodies outboard, gathered: (1 - E_phi)^-1. Its transpose scatters motions.",
        "E_phi", invertible=True),
    "phi_tilde": _defined(FORCES, FORCES, r"\tilde\phi", "phi @ E_phi", "phi - 1 = E_phi phi."),
    "H": _local(EFFORTS, FORCES, "H",
        "Forces along the joints, diag(S_i^T). Its transpose makes motions of velocities."),
    "M": _local(FORCES, MOTIONS, "M", "The inertias of the bodies.", **_INERTIA),
    "E": Spec(WORLD_FORCE, FORCES, "E", "boundary",
        "The root bodies, picked off and carried to the world: forces on roots as one on the world."),
    # locked joints
    "R": _local(FORCES, MOTIONS, r"\mathcal{R}", "Composite inertias: M = R - E_phi R E_phi^T (Lyapunov).",
        **_INERTIA),
    # free joints
    "P": _local(FORCES, MOTIONS, "P", "Articulated inertias: M = P - E_psi P E_psi^T (Riccati).", **_INERTIA),
    "U": _local(FORCES, VELOCITIES, "U", "Articulated inertias seen from the joints: U = P H^T."),
    "D": _local(EFFORTS, VELOCITIES, "D", "Articulated inertias along the joints: D = H P H^T.", **_INERTIA),
    "G": _defined(FORCES, EFFORTS, r"\mathcal{G}", "U @ D.inverse", "Kalman gains: G = P H^T D^-1."),
    "K": _defined(FORCES, EFFORTS, r"\mathcal{K}", "E_phi @ G",
        "Gains at the body next inboard: K = E_phi G."),
    "tau": _defined(FORCES, FORCES, r"\tau", "G @ H", "Projections on what a joint takes up: tau = G H."),
    "taubar": _defined(FORCES, FORCES, r"\bar\tau", "1 - G @ H",
        "Projections on what passes a free joint: 1 - tau."),
    "E_psi": _defined(FORCES, FORCES, r"\mathcal{E}_\psi", "E_phi @ taubar",
        "Forces carried past a free joint: E_psi = E_phi taubar."),
    "psi": Spec(FORCES, FORCES, r"\psi", "resolvent", "(1 - E_psi)^-1: as phi, with free joints on the way.",
        "E_psi", invertible=True),
    "psi_tilde": _defined(FORCES, FORCES, r"\tilde\psi", "psi @ E_psi", "psi - 1 = E_psi psi."),
    # the operational space
    "Upsilon": _local(MOTIONS, FORCES, r"\Upsilon",
        "The blocks on the diagonal of Omega: Y_i = psi^T(i, p) Y_p psi(p, i) + S_i D_i^-1 S_i^T.",
        symmetric=True),
    "Omega": _defined(MOTIONS, FORCES, r"\Omega", "psi.T @ H.T @ D.inverse @ H @ psi",
        "Accelerations of bodies by forces on bodies: phi^T H^T (mass matrix)^-1 H phi.", symmetric=True),
    # everything about the world origin
    "O": _local(FORCES_I, FORCES, "O", "Forces on bodies, about the world origin and in world axes.",
        invertible=True),
    "E_I": Spec(FORCES_I, FORCES_I, r"\mathcal{E}_I", "shift",
        "Forces carried to the body next inboard: about one origin, its blocks are identities.", family="N"),
    "phi_I": Spec(FORCES_I, FORCES_I, r"\phi_I", "resolvent",
        "Forces of all bodies outboard, added: (1 - E_I)^-1, of zeros and identities.",
        "E_I", invertible=True, family="N"),
    "H_I": _local(EFFORTS, FORCES_I, "H_I", "Forces along the joints, about the world origin: H O^-1."),
    "M_I": _local(FORCES_I, MOTIONS_I, "M_I", "The inertias of the bodies about the world origin: O M O^T.",
        **_INERTIA),
}  # fmt: skip


def frames_map(frames: tuple[str, ...]) -> Spec:
    """B: forces at frames, in their axes, as forces on bodies. Its transpose gives the motions of frames."""
    return Spec(FORCES, Space("forces at frames", frames), "B", "boundary",
                "Forces at frames, in their axes, as forces on bodies.")  # fmt: skip
