"""The shortest of several normal forms; expressions from robots need no general simplifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.interpreters.symbolic import Trace, as_sympy, is_symbol
from kinetree.symbolic.rings import Form, Powers, Ring, TooLongError, Waves

GROUPED = 16  # most terms of a sum in which common factors are sought


def simplified(x: Any) -> Any:
    """A number, sequence, array or matrix of SymPy in the shortest of several normal forms.

    Equal expressions made of +, -, *, whole powers, sines and cosines get the same form. The forms are sums
    of waves (cos(q1 + q2)) and sums of products (cos(q1) sin(q2)), each with and without common factors
    factored out. Expressions with too many terms to be read are returned unchanged.

    Args:
        x: an expression, or a NumPy array, SymPy matrix or array of them.

    Returns:
        The same kind of object.
    """
    sympy = needed("sympy", "kt.symbolic")
    if isinstance(x, (sympy.MatrixBase, sympy.NDimArray)):
        return x.applyfunc(simplified)
    if isinstance(x, (np.ndarray, list, tuple)):
        given = np.asarray(x, object)
        found = np.empty(given.shape, object)
        for index in np.ndindex(given.shape):
            found[index] = simplified(given[index])
        return found if isinstance(x, np.ndarray) else type(x)(found.tolist())
    if not is_symbol(x) and not isinstance(x, Real):
        raise ArgumentError(f"simplified: expected expressions of SymPy or numbers, got a {type(x).__name__}")
    expression = as_sympy(x)
    return shortest([(ring, _read(expression, ring)) for ring in (Waves(), Powers())], expression)


def shortest(forms: Sequence[tuple[Ring, Form | None]], otherwise: Any) -> Any:
    """The shortest expression of a number with these forms; `otherwise` if it has none."""
    known = [(ring, ring.cleaned(form)) for ring, form in forms if form is not None]
    if not known:
        return otherwise
    fewest = min(len(form) for _, form in known)
    if fewest > GROUPED:
        return next(ring.expression(form) for ring, form in known if len(form) == fewest)
    ways = [way for ring, form in known for way in written(form, ring)]
    return min(ways, key=lambda e: e.count_ops())


def forms_of(trace: Trace, ring: Ring) -> list[dict[tuple[int, ...], Form | None]]:
    """The results of a trace in a ring; None for those it cannot represent, or not in reasonable time."""

    def careful(rule: Callable[..., Form]) -> Callable[..., Form | None]:
        def run(*parts: Form | None) -> Form | None:
            try:
                return None if None in parts else rule(*parts)
            except TooLongError:
                return None

        return run

    def number(x: Any) -> Form | None:
        return _read(x, ring) if is_symbol(x) else ring.number(float(x))

    rules = {name: careful(getattr(ring, name)) for name in ("add", "sub", "neg", "mul", "div", "sin", "cos")}
    return trace.read_back(_Rules(rules), number)


class _Rules(dict):
    """The operations of a ring; any other gives None, for what it cannot represent."""

    def get(self, op: str, default: Any = None) -> Any:
        return super().get(op) or (lambda *parts: None)


def written(a: Form, ring: Ring) -> list[Any]:
    """Ways to write a sum: as it is and, if it is not long, with common factors factored out."""
    from sympy import Add, Mul, factor_terms

    plain = ring.expression(a)
    if not 1 < len(a) <= GROUPED:
        return [plain]
    grouped = Add(*(Mul(factor_terms(Add(*terms)), part) for part, terms in ring.parts(a).items()))
    return [plain, factor_terms(plain), grouped, factor_terms(grouped)]


def _read(expression: Any, ring: Ring) -> Form | None:
    """A SymPy expression in a ring, None if too long; parts it cannot represent become new symbols."""
    try:
        return _read_all(expression, ring)
    except TooLongError:
        return None


def _read_all(expression: Any, ring: Ring) -> Form:
    known: dict[int, Form] = {}
    pending = [expression]
    while pending:  # no recursion: expressions may be deep
        e = pending[-1]
        missing = [a for a in e.args if id(a) not in known]
        if missing:
            pending += missing
        else:
            known[id(pending.pop())] = _made(e, [known[id(a)] for a in e.args], ring)
    return known[id(expression)]


def _made(e: Any, parts: list[Form], ring: Ring) -> Form:
    """An expression whose arguments have been read."""
    result: Form | None = None
    if e.is_Rational:
        result = ring.number(Fraction(int(e.p), int(e.q)))
    elif e.is_Float:
        result = ring.number(float(e))
    elif e.is_Add or e.is_Mul:
        result = parts[0]
        for part in parts[1:]:
            result = (ring.add if e.is_Add else ring.mul)(result, part)
    elif e.is_Pow and e.exp.is_Integer and e.exp > 0:
        result = ring.power(parts[0], int(e.exp))
    elif e.is_Pow and e.exp.is_Integer and e.base.is_Symbol:
        result = {(((ring.place(e.base), int(e.exp)),), ring.one): 1}
    elif e.func.__name__ in ("sin", "cos"):
        result = getattr(ring, e.func.__name__)(parts[0])
    return ring.symbol(e) if result is None else result
