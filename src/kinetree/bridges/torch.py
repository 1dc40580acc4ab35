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

    It takes the arguments of `function` after the model, by position or by name, `parameters` and `gravity`
    too; leading axes are batches and broadcast. Every tensor can be differentiated by, to any order. q is a
    tensor of nq numbers like any other, and derivatives are those by its numbers.

    Args:
        function: a function of a model, such as `kinetree.inverse_dynamics`, or one of your own.
        model: the robot.
        fixed: arguments that calls need not give: options (`frame="tool"`), but arrays too (`dt=0.01`).
    """
    needed("torch", "kt.torch")
    return Wrap(function, model, fixed)


class Wrap:
    """What `wrap` returns; it can be pickled, and be part of a module."""

    def __init__(self, function: Function, model: Model, fixed: dict[str, Any]):
        from torch.compiler import allow_in_graph

        from kinetree.bridges.torch_operator import TorchFunction

        inner = TorchFunction(function, model, fixed)
        # what torch.compile does not look into, since it is one operator
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
