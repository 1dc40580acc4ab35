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
from kinetree.algorithms.contact_law import Rub, touching
from kinetree.algorithms.contact_search import least
from kinetree.algorithms.freed import Freed
from kinetree.spatial import Coordinates, Force, Motion, Subspace, Transform
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
    of length h = `dt`, and `rub`, dry friction of the joints whose velocities are in `rubbing`. The solution
    is unique, and follows from the state alone; `fine` is the share of the forces that may be missing. Cost
    O(N) for each of a few Newton steps.

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
    widths, duals = [len(t.start) for t in terms], [t.duals for t in terms]
    on_paths = tree.paths([term.body for term in terms])
    nodes = list(tree.outward())
    loaded = [i for i in nodes if i in on_paths]
    carried = {i: [k for k, t in enumerate(terms) if _carrier(tree, loaded, t) is i] for i in loaded}
    inertia = {i: tree.reflected(i, q[i], added[i]) for i in nodes if any(map(_is_there, added[i]))}
    rest = Freed(tree, q, X, S, {i: x[i] for i in nodes}, inertia)
    for i in nodes:
        rest.I[i], rest.p[i] = tree.inertia(i), tree.zero(i, Force)
    slack = rest.inward(i for i in reversed(nodes) if i not in on_paths)  # the same in all Newton steps

    def newton(d: Any, u: Any, z: Any, w: Any, s: Any, turn: Any, lack: Any) -> tuple:
        now = Freed(tree, q, X, S, {i: x[i] * s for i in loaded}, dict(inertia))
        given = list(zip(terms, _cut(u, widths), _cut(w, duals), _cut(z, widths)))
        laws: list[Any] = [None] * len(terms)
        du: list[Any] = [None] * len(terms)
        step: list[Any] = []
        decrement = s * s * slack
        for i in loaded:
            now.I[i], now.p[i] = rest.I[i], rest.p[i] * s
        for i in reversed(loaded):  # each law where it is needed: not all of them are kept at a time
            for k in carried[i]:
                term, velocity, dual, known = given[k]
                laws[k] = law = term.law(velocity, dual)
                term.load(now, law, known)
            decrement = decrement + now.inward([i])
        for i in loaded:
            step += now.answer(i)
            for k in carried[i]:
                du[k] = terms[k].along(now)
        rising = ops.where(ops.less(lack, NEAR * NEAR), 1.0, ops.where(ops.less(turn, EARLY), 0.1, 1e-3))
        a = least(tree, terms, _cut(u, widths), du, laws, decrement, rising)
        left = [f - g for law, x in zip(laws, du) for f, g in zip(law.force, law.fall(x))]
        u = [x + a * dx for x, dx in zip(u, _joined(du))]
        z = [x + a * (y - x) for x, y in zip(z, left)]
        w = _joined(law.dual(part) for law, part in zip(laws, du))
        s = s - a * s
        return [x + a * y for x, y in zip(d, step)], u, z, w, s, turn + 1, lacking(u, z, s)

    def lacking(u: Any, z: Any, s: Any) -> Any:
        """The share of the forces that is missing, squared."""
        force = _joined(term.law(part).force for term, part in zip(terms, _cut(u, widths)))
        missing, size = _square(f - x for f, x in zip(force, z)), _square(force)
        weight = tree.model.total_mass * 1e-3
        return missing * (dt * dt) / (size * (dt * dt) + weight * weight) + s * s

    def corrected(found: list[Any]) -> list[Any]:
        """What one more Newton step makes of the minimum: how it changes with all that it depends on."""
        now = Freed(tree, q, X, S, {i: x[i] for i in nodes}, dict(inertia))
        for i, part in zip(nodes, _cut(found, [len(v[i]) for i in nodes])):
            now.move(i, Coordinates(part))
            now.I[i], now.p[i] = tree.inertia(i), tree.inertia(i) @ now.A[i]
            now.push[i] = x[i] - inertia[i] @ now.a[i] if i in inertia else x[i]
        u = [[x + y for x, y in zip(term.start, term.along(now))] for term in terms]
        for term, part in zip(terms, u):
            term.load(now, term.law(part, term.law(part).t), [0] * len(term.start))
        now.inward(reversed(nodes))
        (now.A,) = tree.fields(Motion)
        step = [*now.outward(nodes), *_joined(term.along(now) for term in terms)]
        return [x + y for x, y in zip([*found[: len(found) - sum(widths)], *_joined(u)], step)]

    start = _joined(term.start for term in terms)
    state = (
        [0.0] * sum(len(v[i]) for i in loaded),
        start,
        [0.0] * len(start),
        [0.0] * sum(duals),
        1.0,
        0.0,
        2.0,
    )
    exact = ops.less(0.0, (dt + dt * 1e-9) - dt)  # true of double numbers
    allowed = ops.where(exact, fine * fine, COARSE * COARSE)
    d, u, _, _, s, *_ = tree.repeat(STEPS, newton, *state, until=lambda *state: _over(state[-1], allowed))
    parts = iter(_cut(d, [len(v[i]) for i in loaded]))
    for i in nodes:
        rest.move(i, Coordinates(next(parts))) if i in on_paths else rest.answer(i, 1 - s)
    found = tree.implied([*_joined(rest.a[i] for i in nodes), *u], corrected)
    change, force, velocity = tree.coordinates(), tree.array("points", 3), tree.array("points", 3)
    *changes, ends = _cut(found, [*(len(v[i]) for i in nodes), len(u)])
    for i, part in zip(nodes, changes):
        change[i] = part
    for k, (touch, end) in enumerate(zip(touches, _cut(ends, widths))):
        for out, vector in ((force, touch.law(end).force), (velocity, end)):
            out[k, :] = (P[touch.body].turned_back(touch.way.turned_back(tuple(vector))),)  # type: ignore[arg-type]
    return change, force, velocity


def _carrier(tree: Sweep, inward: Sequence[Any], term: Any) -> Any:
    """The node of a body that something touches or rubs."""
    path = tree.paths([term.body])
    return next(i for i in reversed(inward) if i in path)


def _cut(numbers: Sequence[Any], widths: Sequence[int]) -> list[Sequence[Any]]:
    """A list in pieces."""
    return [numbers[a:b] for a, b in pairwise(accumulate(widths, initial=0))]


def _joined(parts: Iterable[Iterable[Any]]) -> list[Any]:
    return [x for part in parts for x in part]


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
