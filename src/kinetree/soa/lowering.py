"""Expressions as sweeps over a tree: the one place that defines how an operator is applied to a vector.

A vector on its way through an expression is a sum of terms: local letters times a source that has a value at
each node (an input, or the result of a sweep). Local letters are deferred; shifts and resolvents are sweeps:

    gather    s_p += X_i^T (u + m s)_i                   s = E_phi u,  phi E_phi u,  psi E_phi u
    scatter   t_i = X_i y_p,  y_i = (w + m^T t)_i        t = E_phi^T w,  y = phi^T w,  y = psi^T w

with m = 0 for the shift E_phi, 1 for phi, taubar for psi. So phi u = u + s(u), psi u = u + s(taubar u), and
psi K = psi E_phi G is one sweep. A letter that begins several terms is applied once, to their sum:
G x - G H s becomes G (x - H s).

The tree is any sweep of the library, on numbers or expressions, or one of blocks of numbers (`blocks.py`);
the values are whatever `@`, `.T @`, + and - are defined for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kinetree.soa.alphabet import FORCES, Space
from kinetree.soa.operator import Identity, Inverse, Letter, Operator, Product, Sum, factors_of
from kinetree.spatial import Force, Motion


class Term(NamedTuple):
    """A multiple of local letters times the value of a source at each node."""

    factor: Any
    letters: tuple[Operator, ...]
    source: Any


class Stacked(NamedTuple):
    """A vector with a part at each node, not yet evaluated."""

    space: Space
    terms: tuple[Term, ...]

    def before(self, letter: Operator) -> Stacked:
        """The vector with a local letter in front of all terms."""
        return Stacked(
            letter.rows, tuple(Term(t.factor, _met(letter, t.letters), t.source) for t in self.terms)
        )

    def scaled(self, factor: Any) -> Stacked:
        return Stacked(self.space, tuple(t._replace(factor=factor * t.factor) for t in self.terms))

    def plus(self, other: Stacked) -> Stacked:
        found: dict[Any, Any] = {}
        for t in (*self.terms, *other.terms):
            key = (t.letters, t.source)
            found[key] = found.get(key, 0) + t.factor
        return Stacked(self.space, tuple(Term(c, *key) for key, c in found.items() if c != 0))


class Few(NamedTuple):
    """A vector with six numbers for each of a few frames, or for the world."""

    space: Space
    values: tuple[Any, ...]


Vector = Stacked | Few


def _met(letter: Operator, letters: tuple[Operator, ...]) -> tuple[Operator, ...]:
    """A letter in front of others; the known U and D replace P H^T, H U and H P."""
    if letters and isinstance(letter, Letter) and isinstance(letters[0], Letter):
        if letter.turned == letters[0]:
            return letters[1:]
        known = _MEETING.get((str(letter), str(letters[0])))
        if known:
            return (letter.home.read(known), *letters[1:])
    return (letter, *letters)


_MEETING = {("P", "H.T"): "U", ("H", "U"): "D", ("H", "P"): "U.T", ("U.T", "H.T"): "D"}

# The actions of local letters at node i: plain, and transposed.
Action = Callable[[Any, Any, Any], Any]
ACTIONS: dict[str, tuple[Action, Action | None]] = {
    "H": (lambda f, i, x: f.S[i].T @ x, lambda f, i, x: f.S[i] @ x),
    "M": (lambda f, i, x: f.I[i] @ x, None),
    "R": (lambda f, i, x: f.R[i] @ x, None),
    "P": (lambda f, i, x: f.P[i] @ x, None),
    "U": (lambda f, i, x: f.U[i] @ x, lambda f, i, x: f.U[i].T @ x),
    "D": (lambda f, i, x: (f.S[i].T @ f.U[i]) @ x, None),
    "D.inverse": (lambda f, i, x: f.D[i].solve(x), None),
    "Upsilon": (lambda f, i, x: f.compliance(i, x), None),
    "O": (lambda f, i, x: f.to_world(i, x), lambda f, i, x: f.from_world(i, x)),
    "O.inverse": (lambda f, i, x: f.force_back(i, x), lambda f, i, x: f.motion_back(i, x)),
    "H_I": (lambda f, i, x: f.S_I[i].T @ x, lambda f, i, x: f.S_I[i] @ x),
    "M_I": (lambda f, i, x: f.M_I[i] @ x, None),
    "M.inverse": (lambda f, i, x: f.solved(i, f.I[i], x), None),
    "R.inverse": (lambda f, i, x: f.solved(i, f.R[i], x), None),
    "P.inverse": (lambda f, i, x: f.solved(i, f.P[i], x), None),
    "M_I.inverse": (lambda f, i, x: f.solved(i, f.M_I[i], x), None),
}


def action_of(letter: Operator) -> Action:
    """The action of a local letter at a node."""
    if isinstance(letter, Identity):
        return lambda f, i, x: f.dual(i, x)
    assert isinstance(letter, Letter)
    forward, backward = ACTIONS[letter.name + ".inverse" * letter.inverted]
    return backward if letter.transposed and backward is not None else forward


class Lowering:
    """The sweeps of an expression over one tree, whose quantities are `fields` (`fields.py`, `blocks.py`)."""

    def __init__(self, tree: Any, fields: Any):
        self.tree, self.fields = tree, fields
        self.swept: dict[Any, Any] = {}  # results of sweeps at the nodes

    def apply(self, A: Operator, x: Vector) -> Vector:
        """A x."""
        if isinstance(A, Product):
            factors = _expanded(A)
            while factors:
                x = self._factor(factors, x)
            return x
        if isinstance(A, Sum):
            return self._sum(A, x)
        if isinstance(A, Inverse):
            return self._solved(A, x)
        if isinstance(A, Identity):
            return x if A.rows == A.columns else x.before(A) if isinstance(x, Stacked) else self._dual(A, x)
        assert isinstance(A, Letter)
        if A.spec.kind == "defined":
            return self.apply(A.definition, x)
        if A.spec.kind == "boundary":
            return self._boundary(A, x)
        assert isinstance(x, Stacked)
        if A.spec.kind == "local":
            return x.before(A)
        return self._shift(A, x) if A.spec.kind == "shift" else self._resolvent(A, x)

    # -- sums, products, small spaces

    def _sum(self, A: Sum, x: Vector) -> Vector:
        if A.rows.is_stacked:
            result = Stacked(A.rows, ())
            for c, part in A.terms:
                found = self.apply(part, x)
                assert isinstance(found, Stacked)
                result = result.plus(found.scaled(c))
            return result
        values = [self.fields.still(self.tree, _kind(A.rows)) for _ in range(self.count(A.rows))]
        for c, part in A.terms:
            found = self.apply(part, x)
            assert isinstance(found, Few)
            values = [a + b * c for a, b in zip(values, found.values, strict=True)]
        return Few(A.rows, tuple(values))

    def _factor(self, factors: list[Operator], x: Vector) -> Vector:
        """The last factor of a product, popped and applied to x; E_phi and its resolvent take one sweep."""
        A: Any = factors.pop()
        if factors and isinstance(x, Stacked) and _is_shift(A, False) and _resolves(factors[-1], A):
            return self.gathered(factors.pop(), x)  # type: ignore[arg-type]
        if factors and isinstance(x, Stacked) and _is_shift(factors[-1], True) and _resolves(A, factors[-1]):
            factors.pop()
            return self.scattered(A, x, before=True)
        return self.apply(A, x)

    def _solved(self, A: Inverse, x: Vector) -> Vector:
        """The inverse of an operator between small spaces: its matrix column by column, then a solve."""
        assert isinstance(x, Few)
        matrix = self.fields.factored(self, A.of)
        numbers = [n for value in x.values for n in self.fields.numbers(value)]
        return self.few(A.rows, list(matrix.solve(numbers)))

    def columns(self, A: Operator) -> list[list[Any]]:
        """The numbers of A applied to each unit vector of a small space."""
        found = []
        size = 6 * self.count(A.columns)
        for k in range(size):
            y = self.apply(A, self.few(A.columns, [float(n == k) for n in range(size)]))
            assert isinstance(y, Few)
            found.append([n for value in y.values for n in self.fields.numbers(value)])
        return found

    def few(self, space: Space, numbers: Any) -> Few:
        """A vector of a small space."""
        parts = [numbers[k : k + 6] for k in range(0, 6 * self.count(space), 6)]
        return Few(space, tuple(self.fields.single(_kind(space), part) for part in parts))

    def count(self, space: Space) -> int:
        return len(space.of) or 1

    def _dual(self, A: Identity, x: Few) -> Few:
        return self.few(A.rows, [n for value in x.values for n in self.fields.numbers(value)])

    # -- sweeps

    def _shift(self, A: Letter, x: Stacked) -> Stacked:
        if not A.transposed:
            return self.gathered(A, x)
        return self.scattered(A, x, before=True)

    def _resolvent(self, A: Letter, x: Stacked) -> Stacked:
        if A.inverted:
            step = self.apply(_transposed(A.home.read(A.spec.definition), A.transposed), x)
            assert isinstance(step, Stacked)
            return x.plus(step.scaled(-1))
        if A.transposed:
            return self.scattered(A, x)
        passed = self.apply(A.home.read("taubar"), x) if A.name == "psi" else x
        assert isinstance(passed, Stacked)
        return x.plus(self.gathered(A, passed))

    def gathered(self, A: Letter, u: Stacked) -> Stacked:
        """s with s_p = sum of X^T (u + m s): m is 0 for a shift, 1 for phi, taubar for psi."""
        if not u.terms:
            return Stacked(A.rows, ())
        key = ("gather", A, u.terms)
        s = self.swept.get(key)
        if s is None:
            tree, X = self.tree, self.fields.step(A.spec.family)
            s = self.swept[key] = _Source(tree.sums(Force))
            for i in tree.outward():
                s.field[i] = tree.zero(i, Force)
            sent = u
            if A.spec.kind == "resolvent":
                own = Stacked(u.space, (Term(1, (), s),))
                sent = u.plus(self.apply(A.home.read("taubar"), own) if A.name == "psi" else own)  # type: ignore[arg-type]
            value = self.values(sent)
            for i in tree.inward():
                s.field.add(tree.parent(i), X[i].T @ value(i))
        return Stacked(A.rows, (Term(1, (), s),))

    def scattered(self, A: Letter, w: Stacked, before: bool = False, world: Any = None) -> Stacked:
        """y = w + m^T t with t_i = X_i y_p; with `before`, t itself: what arrives from the predecessor."""
        if not w.terms and world is None:
            return Stacked(A.rows, ())
        key = ("scatter", A, w.terms, id(world))
        known = self.swept.get(key)
        if known is None:
            tree, X = self.tree, self.fields.step(A.spec.family)
            y, t = (_Source(field) for field in tree.fields(Motion, Motion))
            known = self.swept[key] = (y, t)
            if world is not None:
                y.field[tree.world] = world
            made = w
            if A.spec.kind == "resolvent":
                own = Stacked(w.space, (Term(1, (), t),))
                made = w.plus(self.apply(A.home.read("taubar.T"), own) if A.name == "psi" else own)  # type: ignore[arg-type]
            value, loose = self.values(made), self.fields.loose(A.spec.family)
            for i in tree.outward():
                t.field[i] = X[i] @ loose(y.field[tree.parent(i)])
                y.field[i] = value(i)
        return Stacked(A.rows, (Term(1, (), known[before]),))

    def _boundary(self, A: Letter, x: Vector) -> Vector:
        tree, E_phi, still = self.tree, A.home.letter("E_phi"), self.fields.still(self.tree, _kind(A.rows))
        if A.name == "E" and not A.transposed:
            assert isinstance(x, Stacked)
            terms = self.gathered(E_phi, x).terms
            return Few(A.rows, tuple(t.source.field[tree.world] for t in terms) or (still,))
        if A.name == "E":
            assert isinstance(x, Few)
            return self.scattered(E_phi.T, Stacked(A.rows, ()), before=True, world=x.values[0])
        places = [self.fields.frame(name) for name in A.args]
        if A.transposed:
            assert isinstance(x, Stacked)
            (field,) = tree.fields(Motion)
            value = self.values(x)
            for i in tree.outward():
                field[i] = value(i)
            return Few(A.rows, tuple(still if b is tree.world else X @ field[b] for b, X in places))
        assert isinstance(x, Few)
        s = _Source(tree.sums(Force))
        for i in tree.outward():
            s.field[i] = tree.zero(i, Force)
        for (body, X), force in zip(places, x.values, strict=True):
            if body is not tree.world:
                s.field.add(body, X.T @ force)
        return Stacked(FORCES, (Term(1, (), s),))

    # -- values

    def values(self, x: Stacked) -> Callable[[Any], Any]:
        """The value of the vector at a node, as a function."""
        return self._value(x.terms) or (lambda i: self.fields.nothing(i, x.space))

    def _value(self, terms: tuple[Term, ...]) -> Callable[[Any], Any] | None:
        """The sum of terms at a node, grouped by their first letter; None without terms."""
        total: Any = None
        groups: dict[Operator, list[Term]] = {}
        for t in terms:
            if t.letters:
                groups.setdefault(t.letters[0], []).append(t)
            else:
                total = _added(total, t.factor, t.source.__getitem__)
        for letter, group in groups.items():
            first = group[0].factor
            c = first if all(abs(t.factor) == abs(first) for t in group) else 1
            rest = [Term(t.factor / c if c != 1 else t.factor, t.letters[1:], t.source) for t in group]
            total = _added(total, c, self._acting(action_of(letter), self._value(tuple(rest))))
        return total

    def _acting(self, action: Action, inner: Any) -> Callable[[Any], Any]:
        fields = self.fields
        return lambda i: action(fields, i, inner(i))


class _Source:
    """A field filled by a sweep; each instance is distinct."""

    __slots__ = ("field",)

    def __init__(self, field: Any):
        self.field = field

    def __getitem__(self, i: Any) -> Any:
        return self.field[i]


def _added(total: Any, c: Any, value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A sum at each node, plus a multiple of another term."""
    if total is None:
        if c == 1:
            return value
        return (lambda i: -value(i)) if c == -1 else (lambda i: value(i) * c)
    if c == 1:
        return lambda i: total(i) + value(i)
    return (lambda i: total(i) - value(i)) if c == -1 else (lambda i: total(i) + value(i) * c)


def _kind(space: Space) -> Any:
    return Force if "force" in space.name else Motion


def _transposed(A: Operator, transposed: bool) -> Operator:
    return A.T if transposed else A


def _is_shift(A: Operator, transposed: bool) -> bool:
    return isinstance(A, Letter) and A.spec.kind == "shift" and A.transposed is transposed


def _resolves(A: Operator, shift: Operator) -> bool:
    """True for phi and psi of E_phi, phi_I of E_I, in the same direction."""
    assert isinstance(shift, Letter)
    return (
        isinstance(A, Letter) and A.spec.kind == "resolvent" and not A.inverted
        and A.transposed == shift.transposed and A.spec.family == shift.spec.family
    )  # fmt: skip


def _expanded(A: Product) -> list[Operator]:
    """The factors, with letters that are defined as products expanded; resolvents before their shifts."""
    factors = list(A.factors)
    for k in range(len(factors) - 1):
        if _commute(factors[k], factors[k + 1]):
            factors[k : k + 2] = [factors[k + 1], factors[k]]
    found: list[Operator] = []
    for factor in factors:
        inner = factor.definition if isinstance(factor, Letter) else factor
        found += _expanded(inner) if isinstance(inner, Product) else factors_of(inner)
    return found


def _commute(A: Operator, B: Operator) -> bool:
    """True for E_phi phi, E_psi psi and their transposes, in the slower of the two orders."""
    if not (isinstance(A, Letter) and isinstance(B, Letter)) or A.transposed != B.transposed:
        return False
    shift, resolvent = (B, A) if A.transposed else (A, B)
    own = resolvent.spec.definition.removesuffix(".T")
    return resolvent.spec.kind == "resolvent" and not resolvent.inverted and own == shift.name
