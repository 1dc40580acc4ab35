"""Functions of a model in JAX: under `jit`, `vmap`, `grad`, `jvp` and `scan`, to any order.

    f = kt.jax.wrap(kt.forward_dynamics, robot)
    a = jax.jit(jax.vmap(f))(q, v, tau)
    slope = jax.grad(lambda q: f(q, v, tau).sum())(q)

On the CPU, XLA calls the machine code of the function: a whole batch in one call, without Python. On NVIDIA
GPUs it launches the function's kernel on its own stream. On other devices, and with `target="eager"`, the
function becomes XLA operations.
"""

from __future__ import annotations

from typing import Any

from kinetree.bridges.calls import Wrapped
from kinetree.errors import ArgumentError
from kinetree.extras import needed
from kinetree.model import Model
from kinetree.stages.function import Function
from kinetree.sweep import choice


def wrap(function: Function, model: Model, *, target: str = "cpu", **fixed: Any) -> Wrapped:
    """The function of one model as a function of JAX arrays.

    It takes the arguments of `function` after the model, by position or by name, including `parameters` and
    `gravity`; leading axes are batch axes and broadcast. It can be differentiated with respect to every
    array. q is a plain array of nq numbers, and derivatives are with respect to these numbers. A state that
    the function refuses (a singular inertia, a quaternion far from unit length) raises an XLA error on the
    CPU; on GPUs, and where the function consists of XLA operations, its results are NaN.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`, or one of your own.
        model: the robot.
        target: "cpu" for machine code, or a kernel on a GPU if the arrays are there; "eager" for XLA
            operations everywhere.
        fixed: arguments fixed for all calls: options (`frame="tool"`), and also arrays (`dt=0.01`).
    """
    needed("jax", "kt.jax")
    from kinetree.bridges.jax_primitive import JaxFunction

    return JaxFunction(function, model, fixed, choice("target", target, "cpu", "eager") == "eager")


def evaluated(
    function: Function, model: Model, args: tuple, keywords: dict[str, Any], out: Any, target: str | None
) -> Any:
    """A call with JAX arrays: XLA operations for target "eager"; None if they can be treated as NumPy's."""
    from jax.core import Tracer

    traced = [x for x in (*args, *keywords.values()) if isinstance(x, Tracer)]
    if target != "eager":
        if not traced:
            return None
        raise ArgumentError(
            f"{function.name}: JAX is tracing its arguments (jit, grad, vmap, ...): call "
            f"kt.jax.wrap(kt.{function.name}, model) instead, or give target='eager' for operations of XLA"
        )
    if out is not None:
        raise ArgumentError(f"{function.name}: arrays of JAX cannot be written to: leave out= away")
    return wrap(function, model, target="eager")(*args, **keywords)


__all__ = ["wrap"]
