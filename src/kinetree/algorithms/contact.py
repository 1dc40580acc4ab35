"""A step in time with contact: one convex minimum, found by articulated-body sweeps.

    d = argmin 1/2 d^T (M + A) d - x . d + sum h N(u)        u = J (v + d) of each point, and joint that rubs

What touches the ground enlarges the inertia of its body alone, so that a Newton step is one sweep inward and
one outward. Where minus the gradient is s x + h J^T (f - z), a step of length a leaves s (1 - a) of s and
z + a (f - G du - z) of z: after one full step only the remainder f - z of the forces counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from kinetree import ops
from kinetree.algorithms.articulation import freed
from kinetree.algorithms.contact_law import Rub, least, touching
from kinetree.spatial import Coordinates, Factored, Force, ForceSet, Motion, Subspace, Transform
from kinetree.spatial.articulated import ArticulatedInertia
from kinetree.sweep import Sweep, algorithm

STEPS = 30  # Newton steps at most; 3 to 4 are usual
NEAR = 1e-4  # of all forces, what may be missing for a full step to be taken unseen
EARLY = 6  # steps in which the function may rise a little: later that could go on for ever
COARSE = 3e-6  # what may be missing with single numbers


@algorithm(
    "q, v, x, dt, contact_stiffness, contact_dissipation, contact_friction, creep, added?, rub? "
    "-> change(nv), force(points, 3), velocity(points, 3)",
    invariant=True,
    touching=True,
    listed=False,
)
def contact_response(
    tree: Sweep, q: Any, v: Any, x: Any, dt: Any, contact_stiffness: Any, contact_dissipation: Any,
    contact_friction: Any, creep: Any, added: Any, rub: Any, *, ground: Any, rubbing: tuple[int, ...] = (),
    fine: float = 1e-8,
) -> Any:  # fmt: skip
    """The change of velocity by the momentum `x` when points of the model touch the ground; their forces and
    velocities.

        (M + diag(added)) d = x + h J^T f(J (v + d))

    f are the forces of compliant contact with friction (in the results: in world axes) at the end of a step
    of length h = `dt`, and `rub`, dry friction of the joints whose velocities are in `rubbing`. The solution is
    unique, and follows from the state alone; `fine` is the share of all forces that may be missing. Cost O(N) for each of a few Newton steps.

    Reference: Castro and others (arXiv 2312.03908); Chan, Golub and Mulet (1999) for the duals.
    """
    X, S, P, V = tree.fields(Transform, Subspace, Transform, Motion)
    terms: list[Any] = []
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        P[i] = X[i] @ P[tree.parent(i)]
        V[i] = X[i] @ V[tree.parent(i)] + S[i] @ v[i]
        for k in tree.places_among(i, rubbing):
            terms.append(Rub(i, k, (tree.spread(i, q[i], v[i])[k],), rub[i][k], dt))
    points = zip(tree.contacts, contact_stiffness, contact_dissipation, contact_friction, strict=True)
    touches = [touching(*at, P, V, ground, numbers, creep, dt) for at, *numbers in points]
    terms = [*touches, *terms]
    loaded = tree.paths([term.body for term in terms])
    inertia = {i: tree.reflected(i, q[i], added[i]) for i in tree.outward() if any(map(_is_there, added[i]))}
    rest = _Sweeping(tree, q, X, S, {i: x[i] for i in tree.outward()}, inertia)
    for i in tree.outward():
        rest.I[i], rest.p[i] = tree.inertia(i), tree.zero(i, Force)
    slack = rest.inward(i for i in tree.inward() if i not in loaded)  # once: it is the same in all steps
    widths, duals = [[t.width for t in terms], [t.duals for t in terms]]

    def newton(d: Any, u: Any, z: Any, w: Any, s: Any, turn: Any, lack: Any) -> tuple:
        laws = [t.law(*parts) for t, *parts in zip(terms, _cut(u, widths), _cut(w, duals))]
        now = _Sweeping(tree, q, X, S, {i: x[i] * s for i in loaded}, dict(inertia))
        for i in tree.outward():
            if i in loaded:
                now.I[i], now.p[i] = rest.I[i], rest.p[i] * s
        for term, law, known in zip(terms, laws, _cut(z, widths)):
            term.load(now, law, known)
        decrement = now.inward(i for i in tree.inward() if i in loaded) + s * s * slack
        step = [x for i in now.outward(i for i in tree.outward() if i in loaded) for x in now.a[i]]
        du = [term.along(now) for term in terms]
        rising = ops.where(ops.less(lack, NEAR * NEAR), 1.0, ops.where(ops.less(turn, EARLY), 0.1, 1e-3))
        a = least(tree, terms, _cut(u, widths), du, laws, decrement, rising)
        left = [f - g for law, x in zip(laws, du) for f, g in zip(law.force, law.fall(x))]
        u = [x + a * dx for x, dx in zip(u, (x for part in du for x in part))]
        z = [x + a * (y - x) for x, y in zip(z, left)]
        w = [x for law, part in zip(laws, du) for x in law.dual(part)]
        s = s - a * s
        return [x + a * y for x, y in zip(d, step)], u, z, w, s, turn + 1, lacking(u, z, s)

    def lacking(u: Any, z: Any, s: Any) -> Any:
        """The share of the forces that is missing, squared."""
        force = [f for term, part in zip(terms, _cut(u, widths)) for f in term.law(part).force]
        missing, size = _square(f - x for f, x in zip(force, z)), _square(force)
        weight = tree.model.total_mass * 1e-3
        return missing * (dt * dt) / (size * (dt * dt) + weight * weight) + s * s

    start = [y for term in terms for y in term.start]
    state = [[0.0] * sum(len(v[i]) for i in loaded), start, [0.0] * len(start), [0.0] * sum(duals), 1.0, 0.0, 2.0]
    exact = ops.less(0.0, (dt + dt * 1e-9) - dt)  # true of double numbers
    allowed = ops.where(exact, fine * fine, COARSE * COARSE)
    d, u, _, _, s, *_ = tree.repeat(STEPS, newton, *state, until=lambda *state: _over(state[-1], allowed))
    change, force, velocity = tree.coordinates(), tree.array("points", 3), tree.array("points", 3)
    parts = iter(_cut(d, [len(v[i]) for i in tree.outward() if i in loaded]))
    for i in tree.outward():
        if i in loaded:
            change[i] = rest.move(i, Coordinates(next(parts)))
        else:
            change[i] = rest.answer(i, 1 - s)
    for k, (touch, part) in enumerate(zip(touches, _cut(u, widths))):
        for out, vector in ((force, touch.law(part).force), (velocity, part)):
            out[k, :] = (P[touch.body].turned_back(touch.way.turned_back(tuple(vector))),)  # type: ignore[arg-type]
    return change, force, velocity


class _Sweeping:
    """Sweeps over some of the nodes, with what each leaves there."""

    def __init__(self, tree: Sweep, q: Any, X: Any, S: Any, push: dict, inertia: dict):
        self.tree, self.q, self.X, self.S, self.push, self.inertia = tree, q, X, S, push, inertia
        self.I, self.p = tree.sums(ArticulatedInertia, Force)
        self.U, self.D, self.r, self.A = tree.fields(ForceSet, Factored, Coordinates, Motion)
        self.a: dict[Any, Any] = {}

    def inward(self, nodes: Iterable[Any]) -> Any:
        """Free the joints; r . D^-1 r of all of them."""
        tree, X, p, total = self.tree, self.X, self.p, 0
        for i in nodes:
            Ia = freed(tree, i, self.I, self.S, self.U, self.D, self.inertia.get(i))
            self.r[i] = r = self.push[i] - self.S[i].T @ p[i]
            y = self.D[i].solve(r)
            total = total + r.dot(y)
            self.I.add(tree.parent(i), X[i].T @ Ia @ X[i])
            p.add(tree.parent(i), X[i].T @ (p[i] + self.U[i] @ y))
        return total

    def outward(self, nodes: Iterable[Any]) -> Iterable[Any]:
        """Each node, once its velocities have been found."""
        for i in nodes:
            self.a[i] = self.answer(i)
            yield i

    def answer(self, i: Any, share: Any = 1) -> Any:
        """The velocities of a node that go with a share of r."""
        pulled = self.X[i] @ self.A[self.tree.parent(i)]
        return self.move(i, self.D[i].solve(self.r[i] * share - self.U[i].T @ pulled))

    def move(self, i: Any, a: Any) -> Any:
        """Velocities of a node, which move it."""
        self.A[i] = self.X[i] @ self.A[self.tree.parent(i)] + self.S[i] @ a
        return a

    def brake(self, i: Any, place: int, slope: Any, push: Any) -> None:
        """A force along one velocity of the joints of a node, and how it falls."""
        width = range(len(self.tree.node(i).u_index))
        stiff = self.tree.reflected(i, self.q[i], [slope if k == place else 0 for k in width])
        self.inertia[i] = self.inertia[i] + stiff if i in self.inertia else stiff
        force = self.tree.drawn(i, self.q[i], [push if k == place else 0 for k in width])
        self.push[i] = self.push[i] + force

    def spread(self, i: Any) -> Any:
        """The velocities of all joints of a node."""
        return self.tree.spread(i, self.q[i], self.a[i])


def _cut(numbers: Sequence[Any], widths: Sequence[int]) -> list[Sequence[Any]]:
    """A list in pieces."""
    return [numbers[a:b] for a, b in pairwise(accumulate(widths, initial=0))]


def _is_there(x: Any) -> bool:
    return not ops.is_literal(x) or x != 0


def _square(numbers: Iterable[Any]) -> Any:
    total: Any = 0
    for x in numbers:
        total = total + x * x
    return total


def _over(lack: Any, allowed: Any) -> Any:
    """True of what is not above what is allowed, NaN included."""
    return ops.less(ops.where(ops.less(allowed, lack), 1.0, 0.0), 0.5)
