"""Handles of a looped trace: they stand for "this node" while the body of a loop is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinetree.interpreters.kinds import Kind
from kinetree.model import Node
from kinetree.sweep.sweep import Frame

if TYPE_CHECKING:
    from kinetree.interpreters.looped import LoopedSweep


class Handle:
    """A node of a known kind in the iteration being traced, or one of its members (a body on a path)."""

    def __init__(self, tree: LoopedSweep, kind: Kind, node: Any, slot: Any, member: int | None = None):
        self.tree, self.kind, self.node, self.member = tree, kind, node, member
        self.slot = slot  # of the first member
        self.ordinal = tree.lookup("ordinal", tree.structure.ordinal, node)
        if tree.frames == "common":
            self.frames = (tree.common,) * kind.width
        else:
            self.frames = tuple(
                Frame(f"member {m} of a node of kind {kind.number}") for m in range(kind.width)
            )
        self.above: Carrier | None = None
        self.rebuilt: Node | None = None
        self.block = tree.graph.block

    @property
    def carrier(self) -> Any:
        """The handle of the body that carries the node: the world for roots."""
        if self.kind.is_root:
            return self.tree.world
        if self.above is None:
            slot = self.tree.lookup("carrier", self.tree.structure.carrier_slot, self.node)
            self.above = Carrier(self.tree, slot)
        return self.above

    def slot_of(self, member: int) -> Any:
        return self.tree.graph.iadd(self.slot, member)


class Velocity:
    """One velocity: its index in outputs, and its index in a walk or a node where these are known."""

    def __init__(self, place: Any, order: Any = None, handle: Any = None, local: int = 0):
        self.place, self.order, self.handle, self.local = place, order, handle, local


class Block:
    """Some adjacent velocities."""

    def __init__(self, places: list[Any]):
        self.places = places


class Carrier:
    """A body of unknown kind: the predecessor of a node."""

    def __init__(self, tree: LoopedSweep, slot: Any):
        self.slot = slot
        self.frame = tree.common if tree.frames == "common" else Frame("the predecessor")


class World:
    """The handle of the world."""

    slot = 0

    def __init__(self, frame: Frame):
        self.frame = frame
