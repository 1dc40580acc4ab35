"""Functions of a model in PyTorch: with autograd, `torch.func.vmap` and `torch.compile`.

    f = kt.torch.wrap(kt.forward_dynamics, robot)
    a = f(q, v, tau)
    a.sum().backward()

On the CPU a call runs machine code on the memory of the tensors; tensors on a GPU stay there, and the kernel
runs on PyTorch's current stream.
"""

from __future__ import annotations

from functools import update_wrapper
from typing import Any

from kinetree.extras import needed
from kinetree.model import Model
from kinetree.stages.function import Function


def wrap(function: Function, model: Model, **fixed: Any) -> Wrap:
    """The function of one model as a function of tensors.

    It takes the arguments of `function` after the model, by position or by name, including `parameters` and
    `gravity`; leading axes are batch axes and broadcast. It can be differentiated with respect to every
    tensor, to any order. q is a plain tensor of nq numbers, and derivatives are with respect to these
    numbers.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`, or one of your own.
        model: the robot.
        fixed: arguments fixed for all calls: options (`frame="tool"`), and also arrays (`dt=0.01`).
    """
    needed("torch", "kt.torch")
    return Wrap(function, model, fixed)


class Wrap:
    """The result of `wrap`; it can be pickled, and be part of a module."""

    def __init__(self, function: Function, model: Model, fixed: dict[str, Any]):
        from torch.compiler import allow_in_graph

        from kinetree.bridges.torch_operator import TorchFunction

        inner = TorchFunction(function, model, fixed)
        # opaque to torch.compile: one operator
        self.opaque = allow_in_graph(lambda *args, **keywords: inner(*args, **keywords))
        self.given = function, model, fixed
        update_wrapper(self, inner, assigned=("__module__", "__name__", "__doc__"), updated=())

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.opaque(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return Wrap, self.given


__all__ = ["wrap"]
