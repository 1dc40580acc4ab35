"""Maps between the coordinates of a kinetree model and of its twin in another library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ShapeError
from kinetree.interop.charts import Array, Chart

NUMBERS = "fiu"  # kinds of NumPy types that are real numbers


class Piece(NamedTuple):
    """One joint on both sides, or a coordinate there that follows one here.

    With a factor, the coordinate there is chart(factor * x + offset): a mimic joint, or the sliding part of
    a screw. Only pieces that `own` their coordinates are used for the inverse map.
    """

    chart: Chart
    q: slice  # in q here
    v: slice  # in v here
    q_there: tuple[int, ...]
    v_there: tuple[int, ...]
    factor: float = 1.0
    offset: float = 0.0
    owns: bool = True


class Maps:
    """Maps states, forces and matrices from a kinetree model to its twin and back.

    Every argument belongs to the side that the conversion starts from. All functions take leading batch axes.
    Velocities there are w = T(q) v, with T from `velocity_map`. If mimic joints or screws have their own
    coordinates in the twin, it has more velocities than the model: T is then tall; positions, velocities and
    accelerations satisfy the coupling, and forces act on the coordinate that is followed. The same holds for
    joints of loops, which are open there: forces act on the independent ones.

    Attributes:
        joints: joint here -> joints there, by name.
        notes: how the twin differs from the model, in sentences.
    """

    def __init__(
        self,
        here: tuple[int, int],
        there: tuple[int, int],
        pieces: Sequence[Piece],
        neutral: Array,
        joints: dict[str, tuple[str, ...]],
        notes: Sequence[str] = (),
    ) -> None:
        self.nq, self.nv = here
        self.nq_there, self.nv_there = there
        self.pieces, self.joints, self.notes = tuple(pieces), joints, tuple(notes)
        self.neutral = np.array(neutral, dtype=float)  # positions there that have no counterpart here

    # --- kinetree -> peer ---
    def q(self, q: Any) -> Array:
        """Positions there (..., nq_there)."""
        q = as_numbers(q, self.nq, "q")
        out = np.broadcast_to(self.neutral, (*q.shape[:-1], self.nq_there)).copy()
        for piece in self.pieces:
            out[..., piece.q_there] = piece.chart.position(_own(piece, q))
        return out

    def v(self, q: Any, v: Any) -> Array:
        """Velocities there (..., nv_there): T v."""
        return self._forward(self.pieces, q, as_numbers(v, self.nv, "v"))

    def a(self, q: Any, v: Any, a: Any) -> Array:
        """Accelerations there (..., nv_there): T a + (dT/dt) v."""
        return self._forward(self.pieces, q, as_numbers(a, self.nv, "a")) + self.velocity_map_rate(q, v)

    def tau(self, q: Any, tau: Any) -> Array:
        """Generalised forces there (..., nv_there) with the same effect: tau = T' tau_there."""
        return self._forward(self._owners, q, as_numbers(tau, self.nv, "tau"))

    # --- peer -> kinetree ---
    def q_back(self, q: Any) -> Array:
        """Positions here (..., nq) from those there."""
        q = as_numbers(q, self.nq_there, "q of the twin")
        out = np.zeros((*q.shape[:-1], self.nq))
        for piece in self.pieces:
            if piece.owns:
                out[..., piece.q] = (piece.chart.back(q[..., piece.q_there]) - piece.offset) / piece.factor
        return out

    def v_back(self, q: Any, v: Any) -> Array:
        """Velocities here (..., nv) from the state there."""
        return self._backward(self._owners, self.q_back(q), as_numbers(v, self.nv_there, "v of the twin"))

    def a_back(self, q: Any, v: Any, a: Any) -> Array:
        """Accelerations here (..., nv) from those there."""
        here = self.q_back(q)
        rest = as_numbers(a, self.nv_there, "a of the twin") - self.velocity_map_rate(here, self.v_back(q, v))
        return self._backward(self._owners, here, rest)

    def tau_back(self, q: Any, tau: Any) -> Array:
        """Generalised forces here (..., nv) from those there: T' tau_there."""
        return self._backward(self.pieces, self.q_back(q), as_numbers(tau, self.nv_there, "tau of the twin"))

    # --- matrices; q and v are those of the kinetree model ---
    def velocity_map(self, q: Any) -> Array:
        """T(q) (..., nv_there, nv): velocities there are T v."""
        q = as_numbers(q, self.nq, "q")
        out = np.zeros((*q.shape[:-1], self.nv_there, self.nv))
        for piece in self.pieces:
            rows = np.array(piece.v_there, dtype=int)[:, None]
            out[..., rows, np.arange(piece.v.start, piece.v.stop)] = piece.factor * _matrix(piece, q)
        return out

    def velocity_map_rate(self, q: Any, v: Any) -> Array:
        """(dT/dt) v (..., nv_there): the acceleration there for constant `v` here."""
        q, v = as_numbers(q, self.nq, "q"), as_numbers(v, self.nv, "v")
        shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
        out = np.zeros((*shape, self.nv_there))
        for piece in self.pieces:
            x = np.broadcast_to(_own(piece, q), (*shape, piece.q.stop - piece.q.start))
            w = np.broadcast_to(v[..., piece.v], (*shape, piece.v.stop - piece.v.start))
            out[..., piece.v_there] = piece.chart.rate(x, piece.factor * w)
        return out

    def mass_matrix(self, q: Any, M: Any) -> Array:
        """The mass matrix here (..., nv, nv) from that there: T' M T."""
        T = self.velocity_map(q)
        return np.swapaxes(T, -1, -2) @ np.asarray(M, dtype=float) @ T

    def bias_force(self, q: Any, v: Any, M: Any, bias: Any) -> Array:
        """The bias force here (..., nv) from the mass matrix and the bias force there.

        T' (c + M (dT/dt) v): the force that constant velocities here require there.
        """
        moving = times(np.asarray(M, dtype=float), self.velocity_map_rate(q, v))
        return self._backward(self.pieces, q, np.asarray(bias, dtype=float) + moving)

    def jacobian(self, q: Any, J: Any) -> Array:
        """A Jacobian here (..., m, nv) from that there: J T. Its rows keep their order and meaning."""
        return np.asarray(J, dtype=float) @ self.velocity_map(q)

    @property
    def _owners(self) -> list[Piece]:
        """The pieces whose coordinates follow no others."""
        return [piece for piece in self.pieces if piece.owns]

    def _forward(self, pieces: Sequence[Piece], q: Any, v: Array) -> Array:
        """T v, with the rows of these pieces."""
        q = as_numbers(q, self.nq, "q")
        out = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.nv_there))
        for piece in pieces:
            out[..., piece.v_there] = piece.factor * times(_matrix(piece, q), v[..., piece.v])
        return out

    def _backward(self, pieces: Sequence[Piece], q: Any, w: Array) -> Array:
        """T' w, with the rows of these pieces."""
        q = as_numbers(q, self.nq, "q")
        out = np.zeros((*np.broadcast_shapes(q.shape[:-1], w.shape[:-1]), self.nv))
        for piece in pieces:
            T = np.swapaxes(_matrix(piece, q), -1, -2)
            out[..., piece.v] += piece.factor * times(T, w[..., piece.v_there])
        return out

    def __repr__(self) -> str:
        return f"Maps({self.nq} + {self.nv} coordinates here, {self.nq_there} + {self.nv_there} there)"


def angular_first(rows: Any) -> Array:
    """Swap the halves of the first six rows (6, n) or of a vector (6,): [linear; angular] and back."""
    rows = np.asarray(rows)
    return np.concatenate([rows[3:6], rows[:3]])


def _own(piece: Piece, q: Array) -> Array:
    """The coordinates here that a piece converts; a factor other than one implies a single coordinate."""
    x = q[..., piece.q]
    return x if piece.factor == 1.0 and piece.offset == 0.0 else piece.factor * x + piece.offset


def _matrix(piece: Piece, q: Array) -> Array:
    """T of one piece, without its factor."""
    return piece.chart.matrix(_own(piece, q), len(piece.v_there))


def times(T: Array, v: Array) -> Array:
    """A matrix times a vector, for batches of both."""
    return (T @ v[..., None])[..., 0]


def as_numbers(x: Any, width: int, name: str) -> Array:
    """An array whose last axis has `width` real numbers; ShapeError for anything else."""
    out = np.asarray(x)
    if out.dtype.kind not in NUMBERS or out.ndim == 0 or out.shape[-1] != width:
        raise ShapeError(
            f"{name} has shape {out.shape} and type {out.dtype}; expected numbers (..., {width})"
        )
    return out.astype(float, copy=False)
