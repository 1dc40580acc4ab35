"""Single bodies of any shape, to drop, slide and roll."""

from __future__ import annotations

import numpy as np

from kinetree.errors import ModelError
from kinetree.io.polyhedra import Mesh, MeshError, bulk
from kinetree.io.primitives import SIZES
from kinetree.io.primitives import solid as moments_of
from kinetree.joints import Free
from kinetree.model import Model, ModelBuilder
from kinetree.model.shapes import Box, Shape
from kinetree.spatial.inertia import Inertia
from kinetree.zoo.shapes import diagonal

BOX = Box((0.1, 0.1, 0.1))


def solid(shape: Shape = BOX, mass: float = 1.0) -> Model:
    """A free body of one shape and uniform density, with its origin at the centre of the shape.

    Args:
        shape: `Sphere`, `Capsule`, `Box`, `Cylinder`, `Vertices` with a volume, or `Point` for a point mass.
        mass: kg.
    """
    if not isinstance(shape, Shape):
        raise ModelError(f"solid: shape must be a shape, as in Sphere(0.1), got {shape!r}")
    builder = ModelBuilder(shape.kind)
    builder.add_body("body", None, Free(), inertia=_inertia(shape, mass))
    return builder.add_geometry("body", shape).build()


def _inertia(shape: Shape, mass: float) -> Inertia:
    """The inertia of a shape of uniform density."""
    if shape.kind in SIZES:
        _, moments = moments_of(shape.kind, shape.size)
        return Inertia(mass, (0.0, 0.0, 0.0), diagonal(*(mass * x for x in moments)))
    if shape.kind == "point":
        return Inertia(mass)
    try:
        found = bulk(Mesh(np.reshape(shape.size, (-1, 3)), np.zeros((0, 3), np.intp)), "convex")
    except MeshError as error:
        raise ModelError(f"solid: these vertices have no volume: {error}") from None
    return Inertia(mass, tuple(found.center.tolist()), (mass / found.size * found.moments).tolist())
