"""Second-order Taylor arithmetic: arrays with their exact derivatives in n directions."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


class Jet:
    """An array f with its derivatives d[k] = df/dx_k and h[k, j] = d2f/dx_k dx_j at x = 0."""

    def __init__(self, f: Any, d: Array, h: Array) -> None:
        self.f, self.d, self.h = np.asarray(f), d, h

    @classmethod
    def variables(cls, values: Array) -> list[Jet]:
        """Scalar jets x_k = values[k] + dx_k."""
        n = len(values)
        unit = np.eye(n, dtype=int).astype(values.dtype)
        return [cls(values[k], unit[k], np.zeros((n, n), values.dtype)) for k in range(n)]

    @classmethod
    def constant(cls, f: Any, n: int) -> Jet:
        f = np.asarray(f)
        return cls(f, np.zeros((n, *f.shape), f.dtype), np.zeros((n, n, *f.shape), f.dtype))

    @property
    def n(self) -> int:
        return len(self.d)

    def __add__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return Jet(self.f + other, self.d, self.h)
        return Jet(self.f + other.f, self.d + other.d, self.h + other.h)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.f, -self.d, -self.h)

    def __sub__(self, other: Any) -> Jet:
        return self + (-other)

    def __rsub__(self, other: Any) -> Jet:
        return (-self) + other

    def __mul__(self, other: Any) -> Jet:
        """Product of scalars, or of a scalar with a constant array."""
        if not isinstance(other, Jet):
            c = np.asarray(other)
            return Jet(self.f * c, np.multiply.outer(self.d, c), np.multiply.outer(self.h, c))
        cross = np.multiply.outer(self.d, other.d)
        f, d = self.f * other.f, self.d * other.f + self.f * other.d
        return Jet(f, d, self.h * other.f + self.f * other.h + cross + cross.T)

    __rmul__ = __mul__

    def __matmul__(self, other: Jet) -> Jet:
        """Product of matrices."""
        cross = self.d[:, None] @ other.d[None]
        d = self.d @ other.f + self.f @ other.d
        return Jet(self.f @ other.f, d, self.h @ other.f + self.f @ other.h + cross + cross.swapaxes(0, 1))

    def chain(self, f: Any, first: Any, second: Any) -> Jet:
        """g(self) of a scalar jet, from the value and the two derivatives of g."""
        return Jet(f, first * self.d, first * self.h + second * np.multiply.outer(self.d, self.d))

    def spread(self, directions: list[int], n: int) -> Jet:
        """The same function, its directions being some of `n` (one may occur twice)."""
        if directions == list(range(n)):
            return self
        pick = np.zeros((len(directions), n), self.f.dtype)
        for row, k in enumerate(directions):
            pick[row, k] += 1
        d = np.tensordot(pick.T, self.d, 1)
        h = np.tensordot(pick.T, np.tensordot(pick.T, self.h, 1).swapaxes(0, 1), 1).swapaxes(0, 1)
        return Jet(self.f, d, h)


def cos_sin(x: Jet) -> tuple[Jet, Jet]:
    """Cosine and sine of a scalar jet (floats or mpmath numbers)."""
    if x.f.dtype == object:
        import mpmath

        c, s = mpmath.cos(x.f.item()), mpmath.sin(x.f.item())
    else:
        c, s = np.cos(x.f), np.sin(x.f)
    return x.chain(c, -s, -c), x.chain(s, c, -s)


def assemble(rows: list[list[Any]], n: int, dtype: Any) -> Jet:
    """A matrix from scalar jets and plain numbers."""
    shape = (len(rows), len(rows[0]))
    out = Jet.constant(np.zeros(shape, dtype), n)
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            if isinstance(x, Jet):
                out.f[i, j], out.d[:, i, j], out.h[:, :, i, j] = x.f, x.d, x.h
            else:
                out.f[i, j] = x
    return out
