"""A time step with contact: one convex minimisation, solved by articulated-body sweeps.

    d = argmin 1/2 d^T (M + A) d - x . d + sum h N(u)        u = J (v + d) of each point and friction joint

Contact with the ground adds inertia to its body alone, so a Newton step is one inward and one outward sweep
(`contact_newton.py`). Contact between bodies couples two paths into a knot (`knots.py`).
"""

from __future__ import annotations

from typing import Any

from kinetree import ops
from kinetree.algorithms import contact_search as search
from kinetree.algorithms.contact_joints import Bounded, Bounds, Rubs, bounded_joints
from kinetree.algorithms.contact_newton import Given, Minimum, least
from kinetree.algorithms.contact_pairs import pair_patches
from kinetree.algorithms.contact_patch import patches_of
from kinetree.algorithms.knotted import freeing
from kinetree.spatial import Coordinates, Motion, Subspace, Transform
from kinetree.sweep import Sweep, algorithm

STEPS = 30  # most Newton steps; 3 to 4 are usual


@algorithm(
    "q, v, x, dt, contact_stiffness, contact_dissipation, contact_friction, creep, contact_accuracy, "
    "added?, rub?, pulls?(bounded, 4) -> change(nv), force(points, 3), velocity(points, 3), newton_steps",
    invariant=True,
    touching=True,
    listed=False,
)
def contact_response(
    tree: Sweep, q: Any, v: Any, x: Any, dt: Any, contact_stiffness: Any, contact_dissipation: Any,
    contact_friction: Any, creep: Any, contact_accuracy: Any, added: Any, rub: Any, pulls: Any, *,
    ground: Any, rubbing: tuple[int, ...] = (), bounded: tuple[Bounds, ...] = (), newton_limit: Any = None,
) -> Any:  # fmt: skip
    """The change of velocity under the momentum `x` with contact, and the contact forces and velocities.

        (M + diag(added)) d = x + h J^T f(J (v + d))

    f are the forces at the end of a step of length h = `dt`: compliant contact with friction (in world axes
    in the results), `rub`, the dry friction of the joints whose velocities are in `rubbing`, and `pulls`,
    forces along the velocities in `bounded`: offset, slope, and bounds. The solution is unique and depends on
    the state alone; `contact_accuracy` is the fraction of the forces that may be missing. Without `ground`
    nothing touches. Cost O(N) for each of a few Newton steps. There are at most `newton_limit` of them; the
    forces are then those found so far.

    Reference: Castro and others (2023); Chan, Golub and Mulet (1999) for the duals.
    """
    X, S, P, V = tree.fields(Transform, Subspace, Transform, Motion)
    rubs: list[tuple[Any, int, Any, Any]] = []
    nodes = list(tree.outward())
    for i in nodes:
        X[i], S[i] = tree.joint(i, q[i])
        P[i] = X[i] @ P[tree.parent(i)]
        V[i] = X[i] @ V[tree.parent(i)] + S[i] @ v[i]
        for k in tree.places_among(i, rubbing):
            rubs.append((i, k, tree.spread(i, q[i], v[i])[k], dt * rub[i][k]))
    given = list(zip(contact_stiffness, contact_dissipation, contact_friction, strict=True))
    patches = patches_of(tree, given, P, V, ground, creep, dt) if ground is not None else []
    pairs = pair_patches(tree, given, X, S, P, V, creep, dt) if ground is not None else []
    limited = bounded_joints(tree, nodes, q, v, bounded, pulls, dt)
    terms: list[Any] = [*(patch for patch, _ in patches), *(pair for pair, _ in pairs)]
    terms += [Rubs(tree, rubs)] if rubs else []
    terms += [Bounded(tree, group) for group in limited if group]
    extended = [i for i in nodes if not all(ops.is_literal(y) and y == 0 for y in added[i])]
    inertia = {i: tree.reflected(i, q[i], added[i]) for i in extended}
    knotted = freeing(tree, nodes, [pair for pair, _ in pairs])
    allowed = search.permitted(contact_accuracy, next((y for i in nodes for y in v[i]), 0.0))

    def free(push: dict[Any, Any]) -> Any:
        return knotted(tree, q, X, S, push, dict(inertia))

    def corrected(found: list[Any]) -> list[Any]:
        """The minimum after one more Newton step: it carries the derivatives with respect to all inputs."""
        now = free({i: x[i] for i in nodes})
        for i, part in zip(nodes, search.cut(found, [len(v[i]) for i in nodes])):
            now.move(i, Coordinates(part))
            now.I[i], now.p[i] = tree.inertia(i), tree.inertia(i) @ now.A[i]
            now.push[i] = x[i] - inertia[i] @ now.a[i] if i in inertia else x[i]
        own = [term.apart() for term in terms]
        for term in own:
            term.settle(now)
            term.load(now)
        now.inward(reversed(nodes))
        (now.A,) = tree.fields(Motion)
        step = now.outward(nodes)
        for term in own:
            term.moved(now)
        ends = [x + y for term in own for k in range(term.count) for x, y in zip(term.u[k], term.du[k])]
        return [*(x + y for x, y in zip(found, step)), *ends]

    whole = Minimum(Given(tree, nodes, x, allowed, free), terms)
    d, s, turn, lack = least(whole, newton_limit or STEPS)
    if newton_limit is None:
        search.require_end(lack, allowed, tree.model)
    changes = whole.all_moved(d, s)
    velocities = [x for term in terms for k in range(term.count) for x in term.end(whole.rest, k)]
    found = tree.implied([*changes, *velocities], corrected)
    rate = 1.0 / dt
    change, force, velocity = tree.coordinates(), tree.array("points", 3), tree.array("points", 3)
    *parts, ends = search.cut(found, [*(len(v[i]) for i in nodes), len(velocities)])
    for i, part in zip(nodes, parts):
        change[i] = part
    numbers = [(patch, k, place) for patch, places in (*patches, *pairs) for k, place in enumerate(places)]
    for (patch, k, place), end in zip(numbers, search.cut(ends, [3] * len(numbers))):
        force[place, :] = (patch.worldly(k, [x * rate for x in patch.law(k, end).force]),)
        velocity[place, :] = (patch.worldly(k, end),)
    count = tree.array()
    count[()] = turn
    return change, force, velocity, count
