"""Collision shapes as MJCF geoms, for MuJoCo and other tools; our reader uses separate custom texts instead.

Geoms collide with the ground, and with each other only by <pair> (contype 0, conaffinity 1). Their own
friction and stiffness count there, not a mean with those of the ground (priority 1). They have no mass and
are in group 3, which viewers hide. A point is a ball of 1 mm, and so is each vertex of a flat shape,
for which MuJoCo makes no hull.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import hypot, sqrt
from typing import Any

import numpy as np

from kinetree.io.description import Names
from kinetree.io.mjcf_collisions import FEET, SOLIMP, impedance
from kinetree.io.placement import from_z
from kinetree.io.save_touching import touching_texts
from kinetree.io.text import CUSTOM, element, number, numbers, place_of
from kinetree.model import Model
from kinetree.model.geometry import DISSIPATION, EARTH, Geometry, weights
from kinetree.model.ground import Ground, Heightfield
from kinetree.model.hull import FlatError, convex_hull
from kinetree.spatial.pose import Pose

_GRAIN = 1e-3  # m: radius of a ball that represents a point
_BELOW = 1.0  # m: thickness of the ground below a height field
_LEAST = 0.01  # smallest damping ratio: MuJoCo does not accept zero
_TOUCH = {"contype": "0", "conaffinity": "1", "priority": "1", "group": "3"}


class Geoms:
    """The geoms of a model: lines of each body (0 is the world), of `<asset>` and of `<custom>`."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.lines: dict[int, list[str]] = defaultdict(list)
        self.assets: list[str] = []
        self.custom = [
            f'<text name="{CUSTOM}{kind}:{k}" data="{text}"/>'
            for k, (kind, text) in enumerate(touching_texts(model))
        ]
        self.names = Names(model.geometry_names)
        self.weights = weights(model.remade(pairs=()))  # each robot stands alone
        for part in model.geometries:
            self._add(part)
        if model.ground is not None:
            self._add_ground(model.ground)
        self.contacts = list(self._pairs())

    def _pairs(self) -> Iterator[str]:
        """The `<pair>` elements; flat shapes have none."""
        felt = {(point.geometry, point.other): point.friction for point in self.model.pair_points}
        for (a, b), rough in felt.items():
            yield element("pair", geom1=a, geom2=b, friction=numbers((rough, rough)))

    def _add(self, part: Geometry) -> None:
        shape, contact = part.shape, self._contact(part)
        if shape.kind == "point":
            self._line(part, part.name, "sphere", (_GRAIN,), Pose.identity(), contact)
        elif shape.kind == "vertices":
            self._add_vertices(part, np.reshape(shape.size, (-1, 3)), contact)
        else:
            self._line(part, part.name, shape.kind, shape.size, Pose.identity(), contact)

    def _add_vertices(self, part: Geometry, points: Any, contact: dict[str, str]) -> None:
        try:
            convex_hull(points)
        except FlatError:
            for k, point in enumerate(points.tolist()):
                name = self.names.claim(f"{part.name}_{k}")
                self._line(part, name, "sphere", (_GRAIN,), Pose(p=point), contact)
            return
        self.assets.append(element("mesh", name=part.name, vertex=numbers(points.ravel().tolist())))
        self._line(part, part.name, "mesh", (), Pose.identity(), {"mesh": part.name, **contact})

    def _line(
        self, part: Geometry, name: str, kind: str, size: Any, inner: Pose, more: dict[str, str]
    ) -> None:
        place = place_of(part.placement @ inner, f"model '{self.model.name}': geometry '{part.name}'")
        sizes = {"size": numbers(size)} if size else {}
        self.lines[part.body].append(element("geom", name=name, type=kind, **sizes, **place, **more))

    def _contact(self, part: Geometry) -> dict[str, str]:
        """Friction, and the time constant that gives a standing robot the same penetration: see `sink`."""
        found = {"friction": number(part.friction), **_TOUCH}
        weight = self.weights[part.body]
        if part.stiffness is None or not weight:
            return found
        depth, fall = weight / part.stiffness, hypot(*self.model.gravity) or EARTH
        ratio, d = max(part.dissipation / DISSIPATION, _LEAST), impedance(SOLIMP, depth / FEET)
        time = sqrt(depth / ((1 - d) * fall)) * d / (SOLIMP[1] * ratio)
        return found | {"solref": numbers((time, ratio))}

    def _add_ground(self, ground: Ground | Heightfield) -> None:
        name = self.names.claim("ground")
        if isinstance(ground, Ground):
            foot = tuple(x * ground.height for x in ground.normal)
            place = place_of(Pose(from_z(ground.normal), foot), name)
            self.lines[0].append(element("geom", name=name, type="plane", size="0 0 1", **place))
            return
        heights = ground.array.T
        low, high = float(heights.min()), float(heights.max())
        half = [0.5 * step * (n - 1) for step, n in zip(ground.spacing, ground.shape)]
        rise = high - low or 1.0
        rows = numbers(((heights[::-1] - low) / rise).ravel().tolist())
        counts = {"nrow": str(heights.shape[0]), "ncol": str(heights.shape[1])}
        size = numbers((*half, rise, _BELOW))
        self.assets.append(element("hfield", name=name, size=size, **counts, elevation=rows))
        x, y, z = ground.origin
        pos = numbers((x + half[0], y + half[1], z + low))
        self.lines[0].append(element("geom", name=name, type="hfield", hfield=name, pos=pos))
