"""Arrays of other libraries as arguments: the bridge to a library runs functions on its arrays.

    kt.inverse_dynamics(robot, q, v, a, target="eager")       arrays of JAX, also inside `jax.jit`
    kt.inverse_dynamics(robot, q, v, a)                       SX or MX of CasADi
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

# package of an array's type -> its bridge, which has `evaluated`
BRIDGES = {
    "jax": "kinetree.bridges.jax",
    "jaxlib": "kinetree.bridges.jax",
    "casadi": "kinetree.bridges.casadi",
}


def bridge_of(values: Iterable[Any]) -> Any:
    """The bridge to the library that one of these arrays belongs to, or None.

    Its `evaluated(function, model, args, keywords, out, target)` returns the result of the call, or None if
    the arrays can be treated as NumPy arrays.
    """
    for value in values:
        root = type(value).__module__.partition(".")[0]
        if root in BRIDGES:
            return importlib.import_module(BRIDGES[root])
    return None


__all__ = ["bridge_of"]
