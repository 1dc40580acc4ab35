"""The sparsity of an expression as a matrix, and the cost of applying it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import KinetreeError
from kinetree.soa.alphabet import Space
from kinetree.soa.operator import Identity, Inverse, Letter, Operator, Product, Sum, letters_of

Array = np.ndarray


class Structure(NamedTuple):
    """The blocks that can be nonzero: `pattern[i, j]` for row node i and column node j, from 0."""

    pattern: Array

    @property
    def kind(self) -> str:
        """In words: "zero", "diagonal", "upper triangular" (parents come first), and so on."""
        p = self.pattern
        if not p.any():
            return "zero"
        if p.shape[0] != p.shape[1]:
            return "rectangular"
        diagonal, upper, lower = (bool(f.any()) for f in (np.diag(np.diag(p)), np.triu(p, 1), np.tril(p, -1)))
        if upper and lower:
            symmetric = bool((p == p.T).all())
            return "full" if p.all() else "symmetric" if symmetric else "general"
        side = "upper" if upper else "lower"
        return "diagonal" if not (upper or lower) else f"{'' if diagonal else 'strictly '}{side} triangular"

    @property
    def filled(self) -> float:
        """The fraction of blocks that can be nonzero."""
        return float(self.pattern.mean()) if self.pattern.size else 0.0

    def __str__(self) -> str:
        """One character per block: x where it can be nonzero."""
        return "\n".join("".join("x" if x else "." for x in row) for row in self.pattern)

    def __repr__(self) -> str:
        rows, columns = self.pattern.shape
        return f"<structure: {self.kind}, {rows} x {columns} blocks, {self.filled:.0%} filled>\n{self}"


def structure_of(A: Operator) -> Structure:
    """The blocks of an expression that the tree does not force to be zero."""
    if A.home.is_abstract:
        raise KinetreeError(
            f"the structure of {A} depends on the tree: bring it to a state by A.at(kt.operators(model, q))"
        )
    return Structure(_pattern(A))


def _pattern(A: Operator) -> Array:
    if isinstance(A, Product):
        found = _pattern(A.factors[0])
        for factor in A.factors[1:]:
            found = (found.astype(np.float32) @ _pattern(factor).astype(np.float32)) > 0
        return found
    if isinstance(A, Sum):
        found = np.zeros((_count(A, A.rows), _count(A, A.columns)), bool)
        for c, term in A.terms:
            found |= _pattern(term) & (c != 0)
        return found
    if isinstance(A, Identity):
        return np.eye(_count(A, A.rows), dtype=bool)
    if isinstance(A, Inverse):
        return np.ones((_count(A, A.rows), _count(A, A.columns)), bool)
    assert isinstance(A, Letter)
    found = _of_letter(A)
    return found.T if A.transposed else found


def _of_letter(A: Letter) -> Array:
    """The pattern of a letter, untransposed, as in the alphabet."""
    home, kind = A.home, A.spec.kind
    if kind == "defined":
        return _pattern(home.letter(A.name, *A.args).definition)
    n = len(home.topology.parents)
    if kind == "local":
        return np.eye(n, dtype=bool)
    if A.name == "E":
        return np.array([[p == 0 for p in home.topology.parents]], bool)
    if A.name == "B":
        nodes = [home.node(home.model.frame(f)[0]) for f in A.args]
        return np.array([[i == node for node in nodes] for i in range(1, n + 1)], bool).reshape(n, len(nodes))
    shift = np.zeros((n, n), bool)
    for i, p in enumerate(home.topology.parents):
        if p:
            shift[p - 1, i] = True
    if kind == "shift":
        return shift
    if A.inverted:
        return shift | np.eye(n, dtype=bool)
    above = np.eye(n, dtype=bool)
    for i, p in enumerate(home.topology.parents):
        if p:
            above[:, i] |= above[:, p - 1]
    return above


def _count(A: Operator, space: Space) -> int:
    return len(A.home.places(space))


def is_local(A: Operator) -> bool:
    """True if only local letters remain after expanding definitions: the operator is block diagonal."""
    found = A.rows.is_stacked and A.columns.is_stacked
    for letter in letters_of(A):
        inner = letter.definition
        found = found and (is_local(inner) if inner is not letter else letter.spec.kind == "local")
    return found


class Cost(NamedTuple):
    """The cost of one application to a vector; `operations` are multiplications and additions at a state."""

    gathers: int
    scatters: int
    products: int
    operations: int | None = None

    def __str__(self) -> str:
        counts = {"gather": self.gathers, "scatter": self.scatters, "local product": self.products}
        sweeps = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts.items())
        return sweeps if self.operations is None else f"{sweeps}: {self.operations:,} operations"


def cost_of(A: Operator) -> Cost:
    """The sweeps of an expression; at a state also the operations, counted with `_Counting` numbers."""
    counts = {"gather": 0, "scatter": 0, "local": 0}
    _tally(A, counts)
    operations = None if A.home.is_abstract else _operations(A)
    return Cost(counts["gather"], counts["scatter"], counts["local"], operations)


def _tally(A: Operator, counts: dict[str, int]) -> None:
    for letter in letters_of(A):
        kind = letter.spec.kind
        if kind == "defined":
            _tally(letter.definition, counts)
        elif kind == "local":
            counts["local"] += 1
        else:
            counts["scatter" if letter.transposed else "gather"] += 1


class _Counting:
    """A number that counts the operations on it."""

    __slots__ = ("tally",)

    def __init__(self, tally: list[int]):
        self.tally = tally

    def _counted(self, other: Any) -> _Counting:
        self.tally[0] += 1
        return self

    __mul__ = __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = _counted

    def __neg__(self) -> _Counting:
        return self


def _operations(A: Operator) -> int:
    tally = [0]
    x = np.empty(A.shape[1], object)
    x[:] = [_Counting(tally) for _ in x]
    A @ x
    return tally[0]
