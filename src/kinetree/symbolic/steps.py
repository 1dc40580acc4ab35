"""Long expressions in steps: parts that occur several times get names, as with `sympy.cse`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from kinetree.extras import needed


def steps(x: Any, symbols: Iterable[Any] | None = None) -> tuple[list[tuple[Any, Any]], Any]:
    """An expression or an array of them as steps: ([(x0, part), (x1, part of x0 ...), ...], the rest).

    Symbolic results of a model with many bodies share their parts; written out, they would be enormous. This
    names the shared parts in time proportional to the number of operations, whereas `sympy.cse` must search.

    Args:
        x: an expression, or an array or matrix of them, as a function of a model returns.
        symbols: names to use, one after the other; x0, x1, ... if left out.
    """
    sympy = needed("sympy", "kt.symbolic.steps")
    names = iter(sympy.numbered_symbols("x") if symbols is None else symbols)
    roots = [sympy.sympify(e) for e in np.asarray(x, object).flat]
    order, uses = _order(roots)
    found: list[tuple[Any, Any]] = []
    short: dict[int, Any] = {}
    for e in order:
        part = e.func(*(short[id(a)] for a in e.args)) if e.args else e
        if e.args and uses[id(e)] > 1 and not part.is_Atom and not (-part).is_Atom:
            name = next(names)
            found.append((name, part))
            part = name
        short[id(e)] = part
    rest = [short[id(e)] for e in roots]
    if not np.ndim(np.asarray(x, object)):
        return found, rest[0]
    result = np.empty(len(rest), object)
    result[:] = rest
    result = result.reshape(np.shape(x))
    return found, type(x)(result) if isinstance(x, sympy.MatrixBase) else result


def _order(roots: list[Any]) -> tuple[list[Any], Counter[int]]:
    """Every expression once, arguments first, and its number of uses; not recursive, as they may be deep."""
    order, uses, known = [], Counter(map(id, roots)), set()
    pending = [*reversed(roots)]
    while pending:
        e = pending[-1]
        missing = [a for a in e.args if id(a) not in known]
        if id(e) in known or not missing:
            pending.pop()
            if id(e) not in known:
                known.add(id(e))
                order.append(e)
                uses.update(map(id, e.args))
        else:
            pending += missing
    return order, uses
