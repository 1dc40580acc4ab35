"""The letters at the nodes of a tree: fields of spatial values, computed by the library's own sweeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from kinetree.algorithms.articulation import articulated
from kinetree.algorithms.composite import composite
from kinetree.algorithms.inertial import referenced
from kinetree.model.node import stacked
from kinetree.soa.alphabet import Space
from kinetree.soa.operator import Letter, Operator, letters_of
from kinetree.spatial import Coordinates, Factored, Force, Inertia, Matrix, Motion, Stack, Subspace, Transform
from kinetree.spatial.value import Tensor

# The sweep that computes the quantities of each letter.
NEEDS = (
    {"R": "composite", "M": "inertias", "Upsilon": "compliances"}
    | dict.fromkeys(("P", "U", "D", "psi"), "articulated")
    | dict.fromkeys(("O", "E_I", "phi_I", "H_I", "M_I"), "referenced")
)

SWEEPS = ("articulated", "composite", "joints", "inertias", "referenced", "compliances")


def bare(A: Operator) -> set[str]:
    """The letters of an expression after all definitions are expanded."""
    found: set[str] = set()
    for letter in letters_of(A):
        if letter.spec.kind == "defined":
            found |= bare(letter.definition)
        else:
            found.add(letter.name)
            if letter.spec.kind == "resolvent" and letter.inverted:
                found |= bare(letter.home.read(letter.spec.definition))
    return found


class Fields:
    """The quantities of a tree at the positions q, each computed by a sweep on first use."""

    def __init__(self, tree: Any, q: Any):
        self.tree, self.q = tree, q

    def prepare(self, A: Operator) -> None:
        """Run the sweeps that an expression needs before its own."""
        wanted = {NEEDS.get(letter, "joints") for letter in bare(A)} | {"joints"}
        for sweep in SWEEPS:  # always in this order: X and S come from the first
            if sweep in wanted:
                getattr(self, sweep)

    @cached_property
    def composite(self) -> tuple[Any, Any, Any]:
        return composite(self.tree, self.q)

    @cached_property
    def articulated(self) -> tuple[Any, ...]:
        return articulated(self.tree, self.q)

    @cached_property
    def referenced(self) -> tuple[Any, ...]:
        return referenced(self.tree, self.q)

    @cached_property
    def joints(self) -> tuple[Any, Any]:
        for known in ("articulated", "composite"):
            if known in self.__dict__:
                return self.__dict__[known][:2]
        X, S = self.tree.fields(Transform, Subspace)
        for i in self.tree.outward():
            X[i], S[i] = self.tree.joint(i, self.q[i])
        return X, S

    @cached_property
    def inertias(self) -> Any:
        (found,) = self.tree.fields(Inertia)
        _ = self.joints
        for i in self.tree.outward():
            found[i] = self.tree.inertia(i)
        return found

    I = property(lambda self: self.inertias)
    X = property(lambda self: self.joints[0])
    S = property(lambda self: self.joints[1])
    R = property(lambda self: self.composite[2])
    U = property(lambda self: self.articulated[2])
    D = property(lambda self: self.articulated[3])
    P = property(lambda self: self.articulated[4])
    pose = property(lambda self: self.referenced[0])
    N = property(lambda self: self.referenced[1])
    S_I = property(lambda self: self.referenced[2])
    M_I = property(lambda self: self.referenced[3])

    def step(self, family: str) -> Any:
        """The transforms along the edges: X between bodies, N about the world origin."""
        return getattr(self, family)

    def loose(self, family: str) -> Any:
        """The step for motions of a predecessor; where all share one origin, it drops the frame tag."""
        return (lambda motion: motion) if family == "X" else (lambda motion: motion.tagged(None))

    # -- the operational space

    @cached_property
    def compliances(self) -> Any:
        """The diagonal blocks of Upsilon, one per body, root to tips."""
        _ = self.articulated, self.joints
        (Y,) = self.tree.fields(Compliance)
        self._Y = Y
        for i in self.tree.outward():
            width = len(self.tree.node(i).members)
            found = []
            for m, frame in enumerate(self.tree.frame_of(i)):
                columns = []
                for k in range(6):
                    unit = [Force().tagged(f) for f in self.tree.frame_of(i)]
                    unit[m] = Force.from_components([int(n == k) for n in range(6)], frame)
                    moved = self.compliance(i, stacked(unit))
                    columns.append((moved.values[m] if width > 1 else moved).components)
                found.append(Compliance.of_columns(columns, frame))
            Y[i] = stacked(found)
        return Y

    def compliance(self, i: Any, f: Any) -> Any:
        """Upsilon at node i: taubar^T X Y_p X^T taubar f + S D^-1 S^T f."""
        along = self.D[i].solve(self.S[i].T @ f)
        behind = self.X[i].T @ (f - self.U[i] @ along)
        t = self.X[i] @ (self._Y[self.tree.parent(i)] @ behind)
        return t + self.S[i] @ (along - self.D[i].solve(self.U[i].T @ t))

    # -- between the world and the bodies

    def to_world(self, i: Any, f: Any) -> Any:
        return f.behind(self.pose[i]).tagged(None)

    def from_world(self, i: Any, m: Any) -> Any:
        return self.pose[i] @ m

    def force_back(self, i: Any, f: Any) -> Any:
        return f.behind(self.pose[i].inverse())

    def motion_back(self, i: Any, m: Any) -> Any:
        return (self.pose[i].inverse() @ m).tagged(None)

    # -- small things

    def solved(self, i: Any, inertia: Any, f: Any) -> Any:
        """The motions that forces produce in inertias, body by body."""
        inertias = inertia.values if isinstance(inertia, Stack) else (inertia,)
        forces = f.values if isinstance(f, Stack) else (f,)
        return stacked(
            [
                Motion.from_components(Factored(Matrix(I.matrix())).solve(force.components), force.frame)
                for I, force in zip(inertias, forces, strict=True)
            ]
        )

    def dual(self, i: Any, x: Any) -> Any:
        """A motion as a force with the same numbers, or the reverse."""
        if isinstance(x, Stack):
            return Stack(self.dual(i, value) for value in x.values)
        if isinstance(x, Coordinates):
            return x
        return (Force if isinstance(x, Motion) else Motion)(x.angular, x.linear, x.frame)

    def nothing(self, i: Any, space: Space) -> Any:
        """The part of a zero vector at node i."""
        if "bodies" not in space.name:
            return self.tree.absent("nv")[i]
        return self.tree.zero(i, Motion if "motions" in space.name else Force)

    def still(self, tree: Any, kind: Any) -> Any:
        """The part of a zero vector over frames."""
        return kind()

    def factored(self, lowering: Any, A: Operator) -> Factored:
        """The matrix of an operator between small spaces, factored for solving."""
        return Factored(Matrix(zip(*lowering.columns(A), strict=True)))

    def single(self, kind: Any, numbers: Sequence[Any]) -> Any:
        return kind.from_components(numbers)

    def numbers(self, value: Any) -> Iterable[Any]:
        return value.components

    def frame(self, name: str) -> tuple[Any, Transform]:
        """The body that carries a frame, and the transform to the frame."""
        body, X = self.tree.frame(name)
        return body, X.between(X.source, None)


class Compliance(Tensor):
    """The motion of a body per force on it: a symmetric 6 x 6 matrix, by the rows of its lower triangle."""

    __slots__ = ("frame", "rows")
    is_uniform = is_linear = True

    def __init__(self, rows: Any = None, frame: Any = None):
        self.rows = rows or tuple((0,) * (k + 1) for k in range(6))
        self.frame = frame

    @classmethod
    def of_columns(cls, columns: Any, frame: Any) -> Compliance:
        return cls(tuple(tuple(columns[j][i] for j in range(i + 1)) for i in range(6)), frame)

    @property
    def parts(self) -> tuple[Any, ...]:
        return tuple(x for row in self.rows for x in row)

    def with_parts(self, parts: Sequence[Any]) -> Compliance:
        rest = iter(parts)
        return Compliance(tuple(tuple(next(rest) for _ in range(k + 1)) for k in range(6)))

    def tagged(self, frame: Any) -> Compliance:
        return Compliance(self.rows, frame)

    def matrix(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(self.rows[max(i, j)][min(i, j)] for j in range(6)) for i in range(6))

    def __matmul__(self, force: Force) -> Motion:
        numbers = Matrix(self.matrix()) @ force.components
        return Motion.from_components(numbers, force.frame if self.frame is None else self.frame)


__all__ = ["Compliance", "Fields", "Letter", "bare"]
