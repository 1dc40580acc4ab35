"""The identities of the algebra, checked numerically on a robot."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ModelError
from kinetree.model import Model
from kinetree.soa.operator import Identity, Letter, Operator
from kinetree.soa.rules import Law, laws
from kinetree.soa.state import SpatialOperators, operators

Array = np.ndarray
LARGE = 3000  # length of vectors over bodies above which matrices would fill the memory


class Residual(NamedTuple):
    """An identity, and the difference of its sides, relative to the sizes of their terms."""

    source: str
    name: str
    text: str
    residual: float


class Identities(tuple):
    """Identities with their residuals; printed as one line each."""

    model: Model

    @property
    def worst(self) -> float:
        """The largest residual."""
        return max((row.residual for row in self), default=0.0)

    def __str__(self) -> str:
        width = max(len(row.name) for row in self)
        lines = [f"{row.source:6}  {row.residual:7.1e}  {row.name:{width}}  {row.text}" for row in self]
        return "\n".join([f"identities on {self.model.name!r}, worst {self.worst:.1e}", *lines])

    __repr__ = __str__


def identities(model: Model, q: Any = None, *, seed: int = 0) -> Identities:
    """Every identity between the spatial operators with its residual: `print(kt.identities(robot))`.

    A residual is the largest entry of left minus right over the largest entry that the absolute values of all
    terms would give: about 1e-16 for rounding, of order one for a wrong identity. The matrices are dense, so
    it suits robots of up to some hundred bodies.

    Args:
        q: the position, (nq,); a random one if None.
        seed: of that random position.
    """
    place = model.random_state(np.random.default_rng(seed))[0] if q is None else q
    op = operators(model, place)
    size = op.size(op.M.rows)
    if size > LARGE:
        raise ModelError(
            f"identities: model {model.name!r} has {size} numbers over bodies, too many for dense matrices "
            f"({LARGE} at most): take a smaller one of its kind, or a subtree"
        )
    found = Identities(measured(op))
    found.model = model
    return found


def measured(op: SpatialOperators) -> list[Residual]:
    """The residual of every law of the table."""
    exact = _Values(op)
    sizes = _Values(op, absolute=True)
    rows = []
    for law in laws():
        sides = [_side(law, text, exact) for text in (law.left, law.right)]
        size = max(np.max(_side(law, text, sizes), initial=0.0) for text in (law.left, law.right))
        worst = float(np.max(np.abs(sides[0] - sides[1]), initial=0.0))
        rows.append(Residual(law.source, law.name, law.text, worst / max(size, 1e-300) if worst else 0.0))
    return rows


def _side(law: Law, text: str, values: _Values) -> Array:
    """One side of a law as a matrix; a number stands for that multiple of the identity."""
    found = eval(text, {"__builtins__": {}}, values)
    if isinstance(found, Matrix):
        return found.A
    other = eval(law.left, {"__builtins__": {}}, values)
    return found * np.eye(*other.A.shape)


class Matrix:
    """A matrix in an identity; with `absolute`, entries are absolute values, and differences become sums."""

    def __init__(self, A: Array, absolute: bool, turned: Operator | None = None):
        self.A, self.absolute = np.abs(A) if absolute else A, absolute
        self.turned = turned  # the inverse, if it is a letter

    def _made(self, A: Array) -> Matrix:
        return Matrix(A, self.absolute)

    def _other(self, other: Any) -> Array:
        return other.A if isinstance(other, Matrix) else other * np.eye(*self.A.shape)

    def __matmul__(self, other: Matrix) -> Matrix:
        return self._made(self.A @ other.A)

    def __add__(self, other: Any) -> Matrix:
        return self._made(self.A + self._other(other))

    def __sub__(self, other: Any) -> Matrix:
        return self._made(self.A + self._other(other) if self.absolute else self.A - self._other(other))

    def __rsub__(self, other: Any) -> Matrix:
        return self._made(self._other(other) + self.A if self.absolute else self._other(other) - self.A)

    def __rmul__(self, factor: float) -> Matrix:
        return self._made(factor * self.A)

    __radd__ = __add__

    @property
    def T(self) -> Matrix:
        return Matrix(self.A.T, self.absolute, None if self.turned is None else self.turned.T)

    @property
    def inverse(self) -> Matrix:
        assert self.turned is not None
        return Matrix(self.turned.dense(), self.absolute)


class _Values(dict):
    """The letters as matrices, by name, and the other names used in identities."""

    def __init__(self, op: SpatialOperators, absolute: bool = False):
        self.op, self.absolute = op, absolute
        frames = op.model.body_names[-2:]
        self.B = op.B(frames) if frames else None

    def __missing__(self, name: str) -> Any:
        found = self[name] = getattr(self, f"_{name}", lambda: self._matrix(self._operator(name)))()
        return found

    def _matrix(self, A: Operator) -> Matrix:
        if not isinstance(A, Letter):
            return Matrix(A.dense(), self.absolute)
        if self.absolute and A.spec.kind == "defined":  # the sizes of what it is made of
            found: Matrix = eval(A.spec.definition, {"__builtins__": {}}, self)
            return found
        return Matrix(A.dense(), self.absolute, A.inverse if A.spec.invertible else None)

    def _operator(self, name: str) -> Operator:
        return getattr(self.op, name)

    def _one_v(self) -> Matrix:
        efforts = self.op.D.rows
        return self._matrix(Identity(self.op, efforts, efforts))

    def _B(self) -> Matrix:
        return Matrix(self._frames().dense(), self.absolute)

    def _J(self) -> Matrix:
        """The Jacobians of the frames."""
        return Matrix((self._frames().T @ self.op.phi.T @ self.op.H.T).dense(), self.absolute)

    def _frames(self) -> Operator:
        return self.op.E_phi if self.B is None else self.B

    def _diagonal(self) -> Any:
        """The blocks on the diagonal of a matrix over bodies."""
        return lambda A: self._blockwise(A, lambda i, j: i == j)

    def _by_ancestors(self) -> Any:
        """Omega by the formula for its blocks, at nearest common ancestors."""
        op, places = self.op, self.op.places(self.op.M.rows)

        def made(A: Matrix) -> Matrix:
            found = np.zeros_like(A.A)
            for i, rows in enumerate(places, 1):
                for j, columns in enumerate(places, 1):
                    found[rows, columns] = op.Omega.block(i, j)
            return Matrix(found, self.absolute)

        return made

    def _blockwise(self, A: Matrix, keep: Any) -> Matrix:
        found = np.zeros_like(A.A)
        for i, rows in enumerate(self.op.places(self.op.M.rows)):
            for j, columns in enumerate(self.op.places(self.op.M.rows)):
                if keep(i, j):
                    found[rows, columns] = A.A[rows, columns]
        return Matrix(found, self.absolute)
