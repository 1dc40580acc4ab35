"""Results for triples of velocities on one path: packed, without the zeros of branches."""

from __future__ import annotations

from typing import Any, NamedTuple

from kinetree.interpreters import results, storage
from kinetree.model.sparsity import Paths
from kinetree.ops.expr import iadd, imul
from kinetree.spatial.value import as_numbers


class Spot:
    """A velocity of a triple: its index on the path and in the outermost node (None if it is above)."""

    __slots__ = ("own", "place")

    def __init__(self, place: Any, own: int | None):
        self.place, self.own = place, own


class Facts(NamedTuple):
    """Of a node: where its triples start, and how many velocities are above it and in it."""

    start: Any
    above: Any
    own: int


class Packed(results.Output):
    """Maps a triple to its index, in the order of `kinetree.model.sparsity`. Numbers may be expressions."""

    outermost: Facts

    def facts(self, i: Any) -> Facts:
        """The facts of a node."""
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        node = next(k.handle for k in key if hasattr(k, "handle"))
        self.outermost = self.facts(node)
        spots = [self._spots(k, node) for k in key]
        if () not in spots:
            self._fill(spots, (), as_numbers(value))

    def _spots(self, k: Any, node: Any) -> Any:
        """The spots of a node, or that of one velocity of the outermost node."""
        if hasattr(k, "handle"):
            return Spot(iadd(self.outermost.above, k.local), k.local)
        found, inside = self.facts(k), k == node
        return tuple(Spot(iadd(found.above, n), n if inside else None) for n in range(found.own))

    def put(self, index: tuple[Any, ...], value: Any) -> None:
        (i, j, k), (start, above, own) = index, self.outermost
        path = iadd(above, own)
        first, second = imul(imul(path, path), own), imul(imul(above, path), own)  # sizes of two parts
        if i.own is not None:
            places, widths = (i.own, j.place, k.place), (own, path, path)
        elif j.own is not None:
            start, places, widths = iadd(start, first), (i.place, j.own, k.place), (above, own, path)
        else:
            start = iadd(start, iadd(first, second))
            places, widths = (i.place, j.place, k.own), (above, above, own)
        place: Any = 0
        for spot, width in zip(places, widths, strict=True):
            place = iadd(imul(place, width), spot)
        super().put((iadd(start, place),), value)


class Triples(Packed):
    """Triples of an eager or unrolled run."""

    def __init__(self, tree: Any):
        super().__init__(tree, ("triples",))
        self.paths = Paths(tree.nodes)

    def facts(self, i: Any) -> Facts:
        paths, n = self.paths, i.node
        return Facts(int(paths.start[n]), int(paths.above[n]), int(paths.own[n]))


class LoopedTriples(Packed, storage.Output):
    """Triples of a recorded loop: the facts of a node are read from tables."""

    def __init__(self, tree: Any):
        super().__init__(tree, ("triples",))
        self.paths = Paths(tree.nodes)

    def facts(self, i: Any) -> Facts:
        look, paths = self.tree.lookup, self.paths
        start = look("start of triples", paths.start[:-1], i.node)
        return Facts(start, look("velocities above", paths.above, i.node), len(i.kind.sample.v_index))
