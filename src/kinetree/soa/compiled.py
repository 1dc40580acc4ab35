"""Functions of a model from expressions: write the algebra, get machine code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from kinetree.compiler.ir.program import Program
from kinetree.errors import ArgumentError, ShapeError
from kinetree.model import Model
from kinetree.soa.alphabet import EFFORTS, MOTIONS, VELOCITIES, Space
from kinetree.soa.fields import Fields
from kinetree.soa.letters import letters
from kinetree.soa.lowering import Few, Lowering, Stacked, Term
from kinetree.soa.operator import Letter, Operator, factors_of
from kinetree.spatial import Motion, Stack
from kinetree.spatial.value import Value
from kinetree.stages.sweeps import UNROLLED_OPERATIONS, SweepFunction
from kinetree.sweep import Algorithm, Argument, Sweep
from kinetree.sweep.signature import read

OPERATIONS = 60.0  # rough number of operations for one column of a result at one body


class OperatorFunction(SweepFunction):
    """An expression of the spatial operator algebra as a function of a model."""

    def __init__(self, expression: Operator, signature: str, name: str):
        self.expression, self.text = expression, signature
        super().__init__(_algorithm(expression, signature, name))
        self.identity = f"{name}: {expression} by {signature}"

    def lower(
        self, model: Model, inputs: tuple[str, ...], options: dict[str, Any], mode: str | None = None
    ) -> Program:
        columns = self.outputs[0].sizes(model)[-1] if len(self.own_inputs) == 1 else 1
        if mode is None and OPERATIONS * columns * len(model.nodes) > UNROLLED_OPERATIONS:
            mode = "looped"
        return super().lower(model, inputs, options, mode)

    def __reduce__(self) -> Any:
        return _made, (self.expression, self.text, self.name)

    def __repr__(self) -> str:
        return f"<function {self.name} of a model: {self.expression}>"


def function_of(expression: Operator, signature: str, *, name: str | None = None) -> OperatorFunction:
    """An expression as a function of a model, which compiles, batches and exports like any other.

        L = kt.letters
        mass = L.H @ L.phi @ L.M @ L.phi.T @ L.H.T
        solve = kt.function_of(mass.inverse, "q, x -> a")
        a = solve(robot, q, tau)

    The expression becomes sweeps over the tree: `phi` gathers, `phi.T` scatters, and the other letters are
    products at the nodes. With a vector, the result is the expression applied to it, in O(N). Without one,
    "q -> y", it is the matrix; the expression must then act on joint velocities or forces, or at frames.

    Args:
        expression: of `kt.letters`; one of `kt.operators` is taken without its state.
        signature: positions, optionally a vector, and a result, with any names. Shapes follow from the
            expression: (nv,) over coordinates, (nb, 6) over bodies, (6 k,) at k frames. Rotors belong to the
            tree, not to vectors.
        name: of the function, for instance in C.

    Raises:
        ShapeError: if shapes in the signature differ from those of the expression.
    """
    if not isinstance(expression, Operator):
        raise ArgumentError(f"function_of: an expression of kt.letters is needed, not {expression!r}")
    if expression.home is not letters:
        expression = expression.at(letters)
    found = name or re.sub(r"\W+", "_", signature.partition("->")[2]).strip("_") or "expression"
    if not found.isidentifier():
        raise ArgumentError(f"function_of: the name {found!r} is no name of a function")
    return _made(expression, signature, found)


@lru_cache(maxsize=1024)
def _made(expression: Operator, signature: str, name: str) -> OperatorFunction:
    return OperatorFunction(expression, signature, name)


def _algorithm(A: Operator, signature: str, name: str) -> Algorithm:
    """The algorithm that applies A, with the signature that its spaces require."""
    given, results = read(signature)
    if not 1 <= len(given) <= 2 or len(results) != 1:
        raise ArgumentError(
            f"function_of: the signature {signature!r} must be positions, perhaps a vector, and one result: "
            '"q, x -> y" or "q -> y"'
        )
    with_vector = len(given) == 2
    rows, columns = _shape(A.rows), _shape(A.columns)
    if not with_vector and columns == ("nb", 6):
        raise ArgumentError(
            f"function_of: the matrix of {A} has six columns for each body: give the vector that it is "
            'applied to, "q, x -> y"'
        )
    shapes = [("nq",), columns] if with_vector else [("nq",)]
    result = rows if with_vector else rows + columns
    inputs = tuple(_argument(A, signature, a, shape) for a, shape in zip(given, shapes, strict=True))
    outputs = (_argument(A, signature, results[0], result),)
    return _Applied(name, _body(A, with_vector, name), inputs, outputs, invariant=_is_invariant(A))


class _Applied(Algorithm):
    """An algorithm that depends on the coordinates alone if the expression does."""

    @property
    def is_generalised(self) -> bool:
        return self.invariant


def _argument(A: Operator, signature: str, given: Argument, shape: tuple) -> Argument:
    if given.optional:
        raise ArgumentError(f"function_of: {given.name} in {signature!r} cannot be left out: remove the ?")
    if f"{given.name}(" in signature.replace(" ", "") and given.shape != shape:
        raise ShapeError(
            f"function_of: {given.name} has the shape {given.text} in {signature!r}, but {A} needs "
            f"{Argument(given.name, shape).text}"
        )
    return Argument(given.name, shape)


def _shape(space: Space) -> tuple[str | int, ...]:
    if space in (VELOCITIES, EFFORTS):
        return ("nv",)
    return ("nb", 6) if space.is_stacked else (6 * max(1, len(space.of)),)


def _is_invariant(A: Operator) -> bool:
    """True if the result depends only on the equations of motion, not on the bodies and frames behind them.

    Inertia that a joint does not feel may be on either side of it, so M must be between phi or psi and their
    transposes, and R and P next to H, which does not feel that inertia. Fixed joints may be removed, so a
    step to the next body must be one of many, as in psi K.
    """
    if not {A.rows, A.columns} <= {VELOCITIES, EFFORTS}:
        return False
    return all(_is_covariant(word) for word in _words(A))


def _words(A: Operator) -> Iterator[tuple[Operator, ...]]:
    """The products in an expression; sums within them stay as they are."""
    yield factors_of(A)
    for part in A.parts():
        if part.parts():
            yield from _words(part)


# Letters that do not depend on how a mechanism is described, and what must be next to some of them.
COVARIANT = {"H", "phi", "psi", "phi_tilde", "psi_tilde", "D", "G", "U", "K", "M", "R", "P"}
BEFORE, AFTER = ("phi", "psi"), ("phi.T", "psi.T")


def _is_covariant(word: tuple[Operator, ...]) -> bool:
    for letter in word:
        if isinstance(letter, Letter) and (
            letter.name not in COVARIANT or (letter.inverted and letter.name != "D")
        ):
            return False
    names = ["", *map(str, word), ""]
    for before, name, after in zip(names, names[1:], names[2:]):
        fits = {
            "M": before in BEFORE and after in AFTER, "K": before in BEFORE, "K.T": after in AFTER,
            "P": before == "H" or after == "H.T", "R": before == "H" or after == "H.T",
        }  # fmt: skip
        if not fits.get(name, True):
            return False
    return True


def _body(A: Operator, with_vector: bool, name: str) -> Any:
    """The body of the algorithm: first the quantities of the tree, then the expression."""

    def body(tree: Sweep, q: Any, *vector: Any) -> Any:
        fields = Fields(tree, q)
        fields.prepare(A)
        lowering = Lowering(tree, fields)
        rows, columns = _shape(A.rows), _shape(A.columns)
        if with_vector:
            out = tree.array(*rows)
            _write(tree, lowering, out, lowering.apply(A, _input(lowering, A.columns, vector[0])))
            return out
        out = tree.array(*rows, *columns)
        if columns == ("nv",):
            for e in tree.units():
                lowering.swept.clear()
                _write(tree, lowering, out, lowering.apply(A, _input(lowering, A.columns, e)), e.velocity)
            return out
        for k in range(int(columns[0])):
            unit = [float(n == k) for n in range(int(columns[0]))]
            _write(tree, lowering, out, lowering.apply(A, lowering.few(A.columns, unit)), k)
        return out

    body.__name__ = name
    body.__doc__ = f"y = {A} x" if with_vector else f"The matrix of {A}."
    return body


def _input(lowering: Lowering, space: Space, x: Any) -> Any:
    """An input as the vector that an expression is applied to."""
    if not space.is_stacked:
        return lowering.few(space, [x[k] for k in range(6 * max(1, len(space.of)))])
    return Stacked(space, (Term(1, (), _Moving(x) if space == MOTIONS else x),))


class _Moving:
    """An input over bodies, which is read as forces, converted to motions."""

    def __init__(self, forces: Any):
        self.forces = forces

    def __getitem__(self, i: Any) -> Any:
        f = self.forces[i]
        parts = [Motion(p.angular, p.linear, p.frame) for p in (f.values if isinstance(f, Stack) else (f,))]
        return Stack(parts) if isinstance(f, Stack) else parts[0]


def _write(tree: Sweep, lowering: Lowering, out: Any, y: Any, column: Any = None) -> None:
    """Write a vector as a result, or as one column of it, given by a velocity or a number."""
    if isinstance(y, Few):
        numbers = [n for value in y.values for n in value.components]
        if column is None:
            out[:] = numbers
        else:
            out[:, column] = [(n,) for n in numbers] if isinstance(column, int) else numbers
        return
    value, axes = lowering.values(y), (slice(None),) if "nb" in out.dimensions else ()
    for i in tree.outward():
        found = value(i)
        if column is None:
            out[i] = found
        else:
            out[(i, *axes, column)] = _as_column(found) if isinstance(column, int) else found


class _Column(Value):
    """A value whose numbers form a column."""

    def __init__(self, value: Any):
        self.value = value

    def numbers(self) -> tuple:
        return tuple((n,) for n in self.value.numbers())


def _as_column(value: Any) -> Any:
    return Stack(map(_Column, value.values)) if isinstance(value, Stack) else _Column(value)
