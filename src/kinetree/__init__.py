"""kinetree: articulated rigid-body dynamics, written once and compiled for each robot.

    import kinetree as kt
    robot = kt.zoo.arm7()
    q, v = robot.random_state(rng)
    tau = kt.inverse_dynamics(robot, q, v, a)

Names are imported on first use, so `import kinetree` stays light. Type checkers and editors read them from
`__init__.pyi`, which `python -m docs.generate` writes.
"""

from __future__ import annotations

import importlib
from typing import Any

from kinetree.names import MODULE_OF, NAMESPACE_OF

__version__ = "0.1.0"
__all__ = [*MODULE_OF, *NAMESPACE_OF, "__version__"]


def __getattr__(name: str) -> Any:
    if name in MODULE_OF:
        value = getattr(importlib.import_module(MODULE_OF[name]), name)
    elif name in NAMESPACE_OF:
        value = importlib.import_module(NAMESPACE_OF[name])
    else:
        from kinetree.elsewhere import hint

        raise AttributeError(f"module 'kinetree' has no attribute {name!r}{hint(name, __all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
