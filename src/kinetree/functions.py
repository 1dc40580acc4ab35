"""The functions of a model: every algorithm of the registry as a callable, and functions composed of them."""

from __future__ import annotations

from kinetree import algorithms  # noqa: F401  fills the registry
from kinetree.stages import Function, SweepFunction, targets  # noqa: F401
from kinetree.sweep import REGISTRY

SWEEPS: dict[str, Function] = {name: SweepFunction(entry) for name, entry in REGISTRY.items()}
globals().update(SWEEPS)


def __getattr__(name: str) -> Function:
    raise AttributeError(f"there is no algorithm named {name!r}")
