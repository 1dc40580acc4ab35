"""The equations of motion of a model, term by term, in the shortest form found."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree import functions
from kinetree.errors import ArgumentError, ShapeError
from kinetree.extras import needed
from kinetree.interpreters.symbolic import Trace
from kinetree.joints import CoordinateJoint
from kinetree.model import Model
from kinetree.symbolic.normal import forms_of, shortest
from kinetree.symbolic.rings import Powers, Waves

if TYPE_CHECKING:
    import sympy


class Equations:
    """M(q) a + C(q, v) v + g(q) = tau of a model, in SymPy; each term is computed on first use.

    Attributes:
        model: the model; its numbers may be symbols.
        q, v, a: columns of symbols.
    """

    def __init__(self, model: Model, q: Any = None, v: Any = None, a: Any = None):
        self.model = model
        self.q, self.v, self.a = (
            _column(name, given, size)
            for name, given, size in (("q", q, model.nq), ("v", v, model.nv), ("a", a, model.nv))
        )

    @cached_property
    def M(self) -> sympy.Matrix:
        """The mass matrix."""
        return self._matrix(self.terms(functions.mass_matrix))

    @cached_property
    def C(self) -> sympy.Matrix:
        """The Coriolis matrix: C[i, j] = sum over k of Gamma[i, j, k] v[k]."""
        return self._matrix(self.terms(functions.coriolis_matrix))

    @cached_property
    def g(self) -> sympy.Matrix:
        """The force of gravity: a column."""
        return self._matrix(self.terms(functions.gravity_force))

    @cached_property
    def christoffel(self) -> sympy.ImmutableDenseNDimArray:
        """The Christoffel symbols of the first kind, Gamma[i, j, k]."""
        from sympy import ImmutableDenseNDimArray

        return ImmutableDenseNDimArray(self.terms(functions.christoffel_symbols))

    @cached_property
    def tau(self) -> sympy.Matrix:
        """The left side of the equations, a column: the forces that cause the accelerations a."""
        return self._matrix(self.terms(functions.inverse_dynamics))

    def terms(self, function: Any) -> np.ndarray:
        """The result of an algorithm for the model at q, v and a, each entry in the shortest form found."""
        given = {"q": self.q, "v": self.v, "a": self.a}
        values = {a.name: [*given[a.name]] for a in function.inputs if not a.optional}
        plain = function(self.model, **{name: np.array(x) for name, x in values.items()}, target="eager")
        trace = Trace(function.algorithm, self.model, values, {})
        rings = Waves(), Powers()
        forms = [(ring, forms_of(trace, ring)[0]) for ring in rings]
        known: dict[str, Any] = {}
        found = np.empty(plain.shape, object)
        for index in np.ndindex(plain.shape):
            here = [(ring, form.get(index, {})) for ring, form in forms]
            key = repr([form for _, form in here])  # equal forms, as in symmetric matrices, are written once
            if key not in known:
                known[key] = shortest(here, plain[index])
            found[index] = known[key]
        return found

    def _matrix(self, terms: np.ndarray) -> sympy.Matrix:
        from sympy import Matrix

        return Matrix(terms)

    def latex(self) -> str:
        """M, C and g as LaTeX, one equation each; the rates of coordinates are written as such."""
        from sympy import latex

        rates = all(isinstance(body.joint, CoordinateJoint) for body in self.model.bodies)
        names = {}
        for symbols, dots in ((self.v, r"\dot"), (self.a, r"\ddot")):
            for x, position in zip(symbols, self.q) if rates else ():
                names[x] = f"{dots}{{{latex(position)}}}"
        parts = {"M": self.M, "C": self.C, "g": self.g}
        lines = [f"{name} &= {latex(value, symbol_names=names)}" for name, value in parts.items()]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        return f"Equations(model={self.model.name!r}, nv={self.model.nv}): M a + C v + g = tau"


def equations(model: Model, q: Any = None, v: Any = None, a: Any = None) -> Equations:
    """The equations of motion M(q) a + C(q, v) v + g(q) = tau in symbols, in the shortest form found.

    They come from the same algorithms as the numbers. Masses, lengths, inertias and gravity of the model may
    be symbols. Functions of the angles are in normal form: equal functions are written alike.

    Args:
        model: the robot; models with a few degrees of freedom give readable equations.
        q, v, a: symbols or other expressions, nq or nv of them; `q1, q2, ...` and so on if left out.

    Returns:
        `Equations`, with M, C, g, the Christoffel symbols and LaTeX. Notebooks show it as formulas.

    Raises:
        ShapeError: the number of symbols does not match the model.

    Reference: Echeandia (2020) section 3.3.2 and Table 3.3; Concurrent Dynamics (2017), equations M4 and N4.
    """
    needed("sympy", "kt.symbolic.equations")
    if not isinstance(model, Model):
        raise ArgumentError(
            f"equations: the first argument must be a kinetree Model, got a {type(model).__name__}"
        )
    return Equations(model, q, v, a)


def _column(name: str, given: Any, size: int) -> sympy.Matrix:
    """Symbols as a column, with default names if none are given."""
    from sympy import Matrix, symbols

    found = symbols(f"{name}1:{size + 1}", real=True) if given is None else [*np.asarray(given, object).flat]
    if len(found) != size:
        raise ShapeError(f"equations: {name} has {len(found)} entries, but the model needs {size}")
    return Matrix(size, 1, found)
