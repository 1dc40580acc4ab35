"""Features of a model that a format or another library cannot represent: refused, or noted."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree import ops
from kinetree.errors import ModelError
from kinetree.io.attributes import is_name
from kinetree.model import Model

Array = np.ndarray


class Notes(list):
    """Features that a peer cannot represent: an error if `strict`, otherwise a note."""

    def __init__(self, model: str, peer: str, strict: bool) -> None:
        super().__init__()
        self.model, self.peer, self.strict = model, peer, strict

    def cannot(self, what: str, instead: str, remedy: str) -> None:
        """Refuse or note a feature without which the dynamics of the twin differs."""
        if self.strict:
            raise ModelError(
                f"model '{self.model}': {self.peer} cannot represent {what}: {remedy}, or give strict=False: "
                f"then {instead}"
            )
        self.append(f"{what}: {instead}")


def without_rotors(model: Model, notes: Notes) -> Model:
    """The model with its rotors reflected, if it has any: no peer supports rotors."""
    if not model.rotors:
        return model
    notes.cannot(
        f"the rotors of {', '.join(sorted({repr(rotor.joint) for rotor in model.rotors}))}",
        "they are reflected: armature on the joint, their mass on the body that carries them",
        "use model.replace(rotors='reflected')",
    )
    return model.replace(rotors="reflected")


def check_names_and_masses(model: Model, format: str) -> None:
    """Refuse names and masses that no reader of a format accepts."""
    loops = (closure.name for loop in model.loops for closure in loop.closures)
    for name in (*model.body_names, *model.joint_names, *model.frame_names, *loops):
        if not is_name(name):
            raise ModelError(
                f"the name {name!r} in model '{model.name}' has quotes, brackets or control characters, "
                f"which {format} does not allow in names: rename it, or save the model as JSON"
            )
    for body in model.bodies:
        if ops.is_literal(body.inertia.mass) and body.inertia.mass < 0:
            raise ModelError(
                f"body '{body.name}' of model '{model.name}' has the negative mass {body.inertia.mass:g} kg, "
                f"which no reader of {format} accepts: correct it, or save the model as JSON"
            )


def floats(values: Any, owner: str) -> Array:
    """Plain floating-point numbers; ModelError for symbols and expressions."""
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(
            f"{owner}: {values!r} is not numeric: substitute values first"
        ) from None


def parts_of(name: str, count: int) -> list[str]:
    """The names of several joints in a peer that make up one joint here, or the other way round."""
    return [f"{name}/{k}" for k in range(1, count + 1)]
