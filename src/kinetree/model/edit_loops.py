"""The loops of an edited model: kept, renumbered, solved again, or rejected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kinetree.errors import ModelError
from kinetree.model.assembly import RigidError
from kinetree.model.closures import Closure
from kinetree.model.loops import closed_model
from kinetree.model.parts import Loop
from kinetree.spatial import vector as vec
from kinetree.spatial.pose import Pose
from kinetree.spatial.vector import Matrix

if TYPE_CHECKING:
    from kinetree.model.model import Model


def solved_again(
    model: Model, tree: Model, changed: Collection[int], start: Mapping[str, Any] | None = None
) -> tuple[Model, dict[str, Any]]:
    """The edited model with its loops; those with changed bodies in their nodes are solved again.

    Args:
        model: the model before the edit.
        tree: the model after it, with the same bodies and without loops.
        changed: the bodies whose placements or joints have changed.
        start: initial positions of joints, besides the reference of each loop.

    Returns:
        The model, and the joint positions of loops that can no longer move; these loops are left out.
    """
    nodes = {model.location(i)[0] for i in changed}
    kept: list[Loop] = []
    stale: list[Loop] = []
    for loop in model.loops:
        (stale if node_of(model, loop) in nodes else kept).append(loop)
    positions = {joint: row for loop in stale for joint, row in loop.reference} | dict(start or {})
    own = {joint for joint, row in tree.split_positions(tree.neutral()).items() if row.size}
    stiff: dict[str, Any] = {}

    def refused(closures: Sequence[Closure], error: ModelError) -> None:
        if not isinstance(error, RigidError):
            raise error
        stiff.update(error.positions)

    made = closed_model(
        tree,
        [closure for loop in stale for closure in loop.closures],
        start={joint: row for joint, row in positions.items() if joint in own},
        preferred={velocity for loop in stale for velocity in loop.independent},
        refused=refused,
        kept=kept,
    )
    return made, stiff


def node_of(model: Model, loop: Loop) -> int:
    """The node that a loop is in."""
    return model.location(model.joint_index(loop.reference[0][0]))[0]


def attached(other: Model, shift: int, carrier: int, where: Pose, prefix: str) -> tuple[Loop, ...]:
    """Loops after the bodies of their model were renumbered and its world was put on a carrier."""

    def place(body: int) -> tuple[int, Pose | None]:
        return (body + shift, None) if body else (carrier, where)

    return tuple(
        loop._replace(
            closures=tuple(closure.placed(place, prefix) for closure in loop.closures),
            independent=tuple((prefix + joint, k) for joint, k in loop.independent),
            dependent=tuple((prefix + joint, k) for joint, k in loop.dependent),
            reference=tuple((prefix + joint, row) for joint, row in loop.reference),
            axes=tuple(_on(where, axes) for axes in loop.axes) if _is_on_world(other, loop) else loop.axes,
        )
        for loop in other.loops
    )


def _is_on_world(model: Model, loop: Loop) -> bool:
    return model.nodes[node_of(model, loop)].predecessor[0] < 0


def _on(where: Pose, axes: Matrix) -> Matrix:
    """The axes of a world that was put on a body, in that body."""
    x, y, z = (vec.mat_vec(where.R, c) for c in axes)
    return x, y, z


def within(model: Model, number: Mapping[int, int], what: str) -> tuple[Loop, ...]:
    """The loops among these bodies, renumbered; ModelError for a loop that is cut."""
    found = []
    for loop in model.loops:
        inside = [sum(body in number for body in closure.bodies) for closure in loop.closures]
        if not any(inside):
            continue
        for count, closure in zip(inside, loop.closures, strict=True):
            if count < 2:
                raise ModelError(
                    f"model '{model.name}': {what} would cut the loop '{closure.name}': lock its joints "
                    "first, or take a larger subtree"
                )
        placed = (closure.placed(lambda body: (number[body], None)) for closure in loop.closures)
        found.append(loop._replace(closures=tuple(placed)))
    return tuple(found)


def are_cut(model: Model, inside: Collection[int]) -> bool:
    """Whether a loop has one end among these bodies and the other end elsewhere."""
    return any(
        sum(body in inside for body in closure.bodies) == 1
        for loop in model.loops
        for closure in loop.closures
    )
