"""Symbolic execution: an algorithm is traced to expressions once, which are converted to SymPy in one pass.

SymPy brings every sum and product into a canonical order, which costs a hundred times the operation itself.
A trace first shares common subexpressions and drops zeros. Results for a few bodies are brought into SymPy's
canonical form; larger ones keep the form in which the algorithm computes them, with shared subexpressions
(`kinetree.symbolic` brings either into a normal form).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kinetree import ops
from kinetree.compiler.ir.graph import Array, Graph
from kinetree.interpreters import eager
from kinetree.model import Model
from kinetree.ops import Expr
from kinetree.spatial.pose import Pose
from kinetree.sweep import Algorithm

FEW = 4  # the most nodes whose results are brought into SymPy's canonical form
# Literals that are multiples of this are written as fractions.
FINEST = 1.0 / 64


def is_symbol(x: Any) -> bool:
    """True for a SymPy number."""
    return type(x).__module__.partition(".")[0] == "sympy"


def appear(model: Model, arrays: dict[str, np.ndarray]) -> bool:
    """True if the model or the arrays hold SymPy numbers."""

    def find() -> bool:
        numbers = (*model.gravity, *(x for node in model.nodes for x in node.parameters))
        return any(map(is_symbol, numbers))

    objects = (array for array in arrays.values() if array.dtype == object)
    return model.memo("holds symbols", find) or any(is_symbol(x) for array in objects for x in array.flat)


class Trace:
    """A run of an algorithm with symbols, recorded as expressions of one graph.

    atoms: what each element of the graph's only input stands for.
    outputs: the results, whose values are expressions and numbers.
    """

    def __init__(
        self, algorithm: Algorithm, model: Model, values: dict[str, Any], options: dict[str, Any],
        frames: str = "body",
    ):  # fmt: skip
        self.graph = Graph()
        self.atoms: list[Any] = []
        self._array = Array("atoms", "input", 0)
        self._places: dict[Any, int] = {}
        with _unhurried():
            nodes = tuple(node.with_parameters([*map(self._read, node.parameters)]) for node in model.nodes)
            given, chosen = ({name: self._read_all(x) for name, x in d.items()} for d in (values, options))
            _, self.outputs = eager.run(algorithm, self._numbered(model), given, chosen, frames, nodes)

    def _read(self, x: Any) -> Any:
        """The expression that stands for a SymPy number; other numbers unchanged."""
        if not is_symbol(x):
            return x
        if x.is_Number and float(x) == x:
            return float(x)
        place = self._places.setdefault(x, len(self.atoms))
        if place == len(self.atoms):
            self.atoms.append(x)
        return self.graph.load(self._array, place)

    def _read_all(self, value: Any) -> Any:
        return tuple(map(self._read_all, value)) if isinstance(value, (list, tuple)) else self._read(value)

    def _numbered(self, model: Model) -> Model:
        """The model with expressions in its gravity and frames; those of its bodies are in the nodes."""
        places = (Pose._given(*map(self._read_all, (f.placement.R, f.placement.p))) for f in model.frames)
        frames = tuple(f._replace(placement=place) for f, place in zip(model.frames, places, strict=True))
        gravity = tuple(map(self._read, model.gravity))
        return model.remade(gravity=gravity, frames=frames, postures=())

    def live(self) -> Iterator[Expr]:
        """The expressions that the results depend on, operands first."""
        wanted = {value for output in self.outputs for value in output.values.values() if type(value) is Expr}
        statements = [s for s in self.graph.root.statements if type(s) is Expr]
        for s in reversed(statements):
            if s in wanted:
                for a in s.args:
                    if type(a) is Expr:
                        wanted.add(a)
        return (s for s in statements if s in wanted)

    def read_back(self, rules: dict[str, Callable], number: Callable[[Any], Any]) -> list[dict]:
        """The results in numbers of another kind.

        `rules` override the operations of `ops`; `number` converts a literal or an atom.
        """
        known: dict[Any, Any] = {}

        def operand(a: Any) -> Any:
            if a not in known:
                known[a] = number(a)
            return known[a]

        with _unhurried():
            for s in self.live():
                if s.op == "load":
                    known[s] = number(self.atoms[s.args[1]])
                else:
                    known[s] = (rules.get(s.op) or getattr(ops, s.op))(*map(operand, s.args))
            return [{k: operand(v) for k, v in output.values.items()} for output in self.outputs]


@contextmanager
def _unhurried() -> Iterator[None]:
    """Disable the garbage collector: everything made in this block is kept."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def as_sympy(x: Any) -> Any:
    """A number in SymPy; a float becomes a fraction if it is a simple one."""
    from sympy import Float, Rational

    if is_symbol(x):
        return x
    x = float(x)
    return Rational(x) if abs(x) < 2**20 and (x / FINEST).is_integer() else Float(x)


def _rules(is_small: bool) -> dict[str, Callable]:
    """The operations on SymPy numbers: in canonical form, or left as they are."""
    from sympy import Add, And, Integer, Mul, Not, Or

    rules: dict[str, Callable] = {
        "lt": ops.less, "le": ops.less_equal, "eq": ops.equal, "and": And, "or": Or, "not": Not,
    }  # fmt: skip
    if is_small:
        return rules | {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b, "neg": lambda a: -a,
        }  # fmt: skip
    add, mul, minus = Add._from_args, Mul._from_args, Integer(-1)  # True: numbers commute
    return rules | {
        "add": lambda a, b: add((a, b), True),
        "sub": lambda a, b: add((a, mul((minus, b), True)), True),
        "mul": lambda a, b: mul((a, b), True),
        "div": lambda a, b: mul((a, 1 / b), True),
        "neg": lambda a: mul((minus, a), True),
    }


def run(
    algorithm: Algorithm, model: Model, values: dict[str, Any], options: dict[str, Any]
) -> tuple[eager.Output, ...]:
    """The results of an algorithm in SymPy numbers, some of which are among the values or in the model."""
    is_small = len(model.nodes) <= FEW
    frames = "common" if algorithm.pairs and not is_small else "body"
    trace = Trace(algorithm, model, values, options, frames)
    for output, found in zip(trace.outputs, trace.read_back(_rules(is_small), as_sympy), strict=True):
        output.values = found
    return trace.outputs
