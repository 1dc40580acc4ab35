"""A model with other numbers of any kind: how `parameters=` and `gravity=` reach the bodies."""

from __future__ import annotations

from typing import Any

from kinetree.model import Model
from kinetree.ops import Expr
from kinetree.spatial import Inertia
from kinetree.sweep.bounds import inertia_bounds


def with_numbers(model: Model, parameters: Any = None, gravity: Any = None) -> Model:
    """The model with other inertias and gravity: numbers, arrays of a batch or expressions, unchecked.

    `parameters` holds the mass, first moment and inertia about the body origin of each body.
    """
    if parameters is None and gravity is None:
        return model
    bodies = model.bodies
    if parameters is not None:
        bodies = tuple(
            body._replace(inertia=Inertia.from_parameters(tuple(row)))
            for body, row in zip(bodies, parameters, strict=True)
        )
    fall = model.gravity if gravity is None else tuple(gravity)
    changed = model.remade(gravity=fall, bodies=bodies, postures=())
    changed.memo("origin", lambda: (model, parameters, gravity))
    changed.memo("contact points", lambda: model.contact_points)  # as stiff as the model's own weight asks
    changed.memo("pair points", lambda: model.pair_points)
    if parameters is not None:
        bounds = inertia_bounds(model)  # the model's own inertias decide which pivots count as zero
        changed.memo("inertia bounds", lambda: bounds)
    return changed


def origin(model: Model) -> tuple[Model, dict[str, Any]]:
    """The model from which `with_numbers` made this one, and the inputs it was given."""
    base, parameters, gravity = model.memo("origin", lambda: (model, None, None))
    given = {"parameters": parameters, "gravity": gravity}
    return base, {name: value for name, value in given.items() if value is not None}


def tree_of(model: Model) -> Model:
    """The spanning tree of a model, with the same numbers."""
    base, given = origin(model)
    return with_numbers(base.spanning_tree, **given)


def holds_expressions(model: Model) -> bool:
    """True if some numbers of the model are known only when a program runs."""

    def find() -> bool:
        numbers = (*model.gravity, *(x for node in model.nodes for x in node.parameters))
        return any(isinstance(x, Expr) for x in numbers)

    return model.memo("holds expressions", find)
