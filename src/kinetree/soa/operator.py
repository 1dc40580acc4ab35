"""Expressions of the spatial operator algebra: letters, products, sums, transposes and inverses.

    A @ x            the operator on a stacked vector, or on each column of a matrix, in O(N)
    A @ B            their product, applied from the right to the left
    A.T, A.inverse   the transpose; the inverse, by the rules of the algebra
    2 * A - B        sums and multiples; a number alone stands for that multiple of the identity: 1 + A
    A.simplify()     the same operator with fewer letters; A.derivation() shows the steps
    A.block(i, j)    one block, nodes numbered from 1
    A.dense()        the numbers

An expression belongs to a home: a state of a model (`kt.operators`), no state at all (`kt.letters`), or a
tree of blocks (`InfluenceMatrix`). The home knows what its letters are; expressions know how they combine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from kinetree.errors import ShapeError
from kinetree.soa.alphabet import Space, Spec

Array = np.ndarray


@dataclass(frozen=True, repr=False)
class Operator:
    """A linear map between stacked vectors. Immutable; equal if written alike."""

    home: Any
    rows: Space
    columns: Space
    history: tuple = field(default=(), compare=False, kw_only=True)  # the steps that led here

    __array_ufunc__ = None  # so array @ operator is handled here

    # -- what a kind of expression knows

    @property
    def T(self) -> Operator:
        """The transposed operator."""
        raise NotImplementedError

    def parts(self) -> tuple[Operator, ...]:
        """The operators that make up this one."""
        return ()

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        """The same expression with other parts."""
        return self

    # -- algebra

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, Operator):
            return self.home.apply(self, other)
        self._same_home(other, "@")
        if self.columns != other.rows:
            raise ShapeError(
                f"{self} @ {other}: the left one takes {self._sized(self.columns)}, the right one gives "
                f"{self._sized(other.rows)}; is a .T missing?"
            )
        return product(*_flat(self), *_flat(other))

    def __rmatmul__(self, other: Any) -> Any:
        return (self.T @ np.asarray(other).T).T

    def __add__(self, other: Any) -> Any:
        other = self._beside(other)
        if other is NotImplemented:
            return other
        self._same_home(other, "+")
        if (self.rows, self.columns) != (other.rows, other.columns):
            raise ShapeError(
                f"{self} + {other}: the first maps {self.columns} to {self.rows}, the second {other.columns} "
                f"to {other.rows}; a sum needs the same on both sides"
            )
        return Sum(self.home, self.rows, self.columns, terms_of(self) + terms_of(other))

    def __radd__(self, other: Any) -> Any:
        left = self._beside(other)
        return left if left is NotImplemented else left + self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return other + -self

    def __neg__(self) -> Operator:
        return -1 * self

    def __mul__(self, factor: Any) -> Any:
        if not isinstance(factor, Number):
            return NotImplemented
        return total(self, [(factor * c, A) for c, A in terms_of(self)])  # type: ignore[operator]

    __rmul__ = __mul__

    def _beside(self, other: Any) -> Any:
        """The other summand, as an operator."""
        if isinstance(other, Operator):
            return other
        if not isinstance(other, Number):
            return NotImplemented
        if self.rows not in (self.columns, self.columns.dual):
            raise ShapeError(
                f"a number plus {self} needs a square operator, but it maps {self.columns} to {self.rows}"
            )
        return total(self, [(other, Identity(self.home, self.rows, self.columns))])

    def _same_home(self, other: Operator, sign: str) -> None:
        if self.home is not other.home:
            raise ShapeError(
                f"{self} {sign} {other}: the first belongs to {self.home!r}, the second to {other.home!r}; "
                "take all letters from one of them, or bring one over by A.at(op)"
            )

    # -- rewriting

    @cached_property
    def words(self) -> frozenset[str]:
        """The letters of the expression, as written."""
        return frozenset(str(letter) for letter in letters_of(self))

    @property
    def inverse(self) -> Operator:
        """The inverse, found by the rules of the algebra; `derivation()` shows how."""
        from kinetree.soa.rewriting import inverted

        return inverted(self)

    def simplify(self) -> Operator:
        """The same operator, reduced by the rules of the algebra to as few letters as they allow."""
        from kinetree.soa.rewriting import simplified

        return simplified(self)

    def derivation(self) -> Any:
        """The steps from the origin of this expression to its simplest form, each with its rule."""
        from kinetree.soa.rewriting import Derivation

        return Derivation.of(self)

    def at(self, home: Any) -> Operator:
        """The same expression in the letters of another home: `A.at(kt.operators(model, q))`."""
        return self.with_parts(tuple(part.at(home) for part in self.parts())).moved(home)

    def moved(self, home: Any) -> Operator:
        """The expression itself, without its parts, in another home."""
        return replace(self, home=home, history=())

    # -- numbers

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return (self.home.size(self.rows), self.home.size(self.columns))

    def dense(self) -> Array:
        """The matrix of the operator, for inspection: it takes N applications."""
        return self @ np.eye(self.shape[1])

    def block(self, i: int, j: int) -> Array:
        """The block of row node i and column node j, both numbered from 1."""
        return self.home.block(self, i, j)

    __call__ = block

    @property
    def blocks(self) -> tuple[Array, ...]:
        """The blocks on the diagonal."""
        return tuple(self.block(i, i) for i in range(1, len(self.home.places(self.rows)) + 1))

    @property
    def structure(self) -> Any:
        """The blocks that can be nonzero, and the kind of operator that follows from them."""
        from kinetree.soa.structure import structure_of

        return structure_of(self)

    @property
    def cost(self) -> Any:
        """The cost of one application: sweeps over the tree and, at a state, operations."""
        from kinetree.soa.structure import cost_of

        return cost_of(self)

    # -- text

    def _sized(self, space: Space) -> str:
        return f"{space}" if self.home.is_abstract else f"{self.home.size(space)} numbers, {space}"

    def __str__(self) -> str:
        from kinetree.soa.text import plain

        return plain(self)

    def __repr__(self) -> str:
        size = "" if self.home.is_abstract else f"{self.shape[0]} x {self.shape[1]}, "
        return f"<operator {self}: {size}{self.rows} <- {self.columns}>"

    def _latex(self) -> str:
        from kinetree.soa.text import latex

        return latex(self)

    def _repr_latex_(self) -> str:
        return f"${self._latex()}$"


class Identity(Operator):
    """The identity operator."""

    @property
    def T(self) -> Operator:
        return Identity(self.home, self.columns.dual, self.rows.dual)


@dataclass(frozen=True, repr=False)
class Letter(Operator):
    """One letter of the alphabet, possibly transposed and inverted; `args` are the frames of a B."""

    name: str
    spec: Spec = field(compare=False)
    args: tuple[str, ...] = ()
    transposed: bool = False
    inverted: bool = False

    @classmethod
    def of(cls, home: Any, name: str, spec: Spec, args: tuple[str, ...] = ()) -> Letter:
        return cls(home, spec.rows, spec.columns, name, spec, args)

    @cached_property
    def T(self) -> Letter:  # type: ignore[override]
        if self.spec.symmetric:
            return self
        flipped = replace(self, transposed=not self.transposed, history=())
        flipped = replace(flipped, rows=self.columns.dual, columns=self.rows.dual)
        flipped.__dict__["T"] = self
        return flipped

    @cached_property
    def turned(self) -> Letter:
        """The inverse letter, without applying rules."""
        found = replace(self, rows=self.columns, columns=self.rows, inverted=not self.inverted, history=())
        found.__dict__["turned"] = self
        return found

    @property
    def definition(self) -> Operator:
        """The definition of the letter; the letter itself if it has none."""
        if self.spec.kind != "defined":
            return self
        found: Operator = self.home.read(self.spec.definition)
        return found.T if self.transposed else found

    def between(self, B: Letter) -> Array:
        """B^T A B for the frames of a B, pair by pair; O(m^2 d) for Omega."""
        return self.home.between(self, B)

    def moved(self, home: Any) -> Operator:
        own = home.letter(self.name, *self.args)
        own = own.turned if self.inverted else own
        return own.T if self.transposed else own


@dataclass(frozen=True, repr=False)
class Product(Operator):
    """A product of operators; the last one acts first."""

    factors: tuple[Operator, ...]

    @property
    def T(self) -> Operator:
        return product(*(factor.T for factor in reversed(self.factors)))

    def parts(self) -> tuple[Operator, ...]:
        return self.factors

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return product(*parts)

    def moved(self, home: Any) -> Operator:
        return self


@dataclass(frozen=True, repr=False)
class Sum(Operator):
    """A sum of multiples of operators; zero if empty."""

    terms: tuple[tuple[Any, Operator], ...]

    @property
    def T(self) -> Operator:
        return Sum(self.home, self.columns.dual, self.rows.dual, tuple((c, A.T) for c, A in self.terms))

    def parts(self) -> tuple[Operator, ...]:
        return tuple(A for _, A in self.terms)

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        if not parts:
            return self
        return total(parts[0], [(c, A) for (c, _), A in zip(self.terms, parts, strict=True)])

    def moved(self, home: Any) -> Operator:
        return self if self.terms else replace(self, home=home)


@dataclass(frozen=True, repr=False)
class Inverse(Operator):
    """The inverse of an expression, not yet resolved by a rule; over a few frames it is a small matrix."""

    of: Operator

    @classmethod
    def make(cls, A: Operator) -> Inverse:
        if A.rows not in (A.columns, A.columns.dual):
            raise ShapeError(f"{A} has no inverse: it maps {A.columns} to {A.rows}, which is not square")
        return cls(A.home, A.columns, A.rows, A)

    @property
    def T(self) -> Operator:
        return Inverse.make(self.of.T)

    def parts(self) -> tuple[Operator, ...]:
        return (self.of,)

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return Inverse.make(parts[0])

    def moved(self, home: Any) -> Operator:
        return self


def product(*factors: Operator) -> Operator:
    """The product of operators, without redundant identities."""
    kept = [A for factor in factors for A in _flat(factor) if not _is_one(A)]
    if not kept:
        return factors[0]
    if len(kept) == 1:
        return replace(kept[0], history=())
    return Product(kept[0].home, kept[0].rows, kept[-1].columns, tuple(kept))


def total(like: Operator, terms: Any) -> Operator:
    """The sum of terms (c, A) between the spaces of `like`; a single term with c = 1 is returned as it is."""
    terms = tuple(terms)
    if len(terms) == 1 and terms[0][0] == 1 and not isinstance(terms[0][0], bool):
        return terms[0][1]
    return Sum(like.home, like.rows, like.columns, terms)


def terms_of(A: Operator) -> tuple[tuple[Any, Operator], ...]:
    """The terms of a sum; any other operator is one term."""
    return A.terms if isinstance(A, Sum) else ((1, replace(A, history=())),)


def factors_of(A: Operator) -> tuple[Operator, ...]:
    """The factors of a product; any other operator is one factor, and the identity none."""
    return () if _is_one(A) else A.factors if isinstance(A, Product) else (A,)


def letters_of(A: Operator) -> Iterator[Letter]:
    """Every letter of an expression, in written order."""
    if isinstance(A, Letter):
        yield A
    for part in A.parts():
        yield from letters_of(part)


def coefficients(A: Operator) -> Iterator[Any]:
    """The numbers in an expression."""
    for c, _ in A.terms if isinstance(A, Sum) else ():
        yield c
    for part in A.parts():
        yield from coefficients(part)


def _is_one(A: Operator) -> bool:
    return isinstance(A, Identity) and A.rows == A.columns


def _flat(A: Operator) -> tuple[Operator, ...]:
    return A.factors if isinstance(A, Product) else (replace(A, history=()) if A.history else A,)
