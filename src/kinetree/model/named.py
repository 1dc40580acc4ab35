"""Stacked vectors by name: q and v taken apart into the coordinates of joints, and put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import ModelError, ShapeError
from kinetree.model import configuration
from kinetree.model.validate import shown

if TYPE_CHECKING:
    from kinetree.model.model import Model


def split(model: Model, name: str, x: Any) -> dict[str, np.ndarray]:
    """The coordinates of each joint that owns some: views of `x`, which is "q" or "v" with any batch axes."""
    array = configuration.read(model, "split", name, x)
    index = model.position_index if name == "q" else model.coordinate_index
    owners = (body.joint_name for body in model.bodies if body.mimic is None and body.joint.nv)
    return {joint: array[..., index(joint)] for joint in owners}


def stacked(model: Model, name: str, values: Mapping[str, Any]) -> np.ndarray:
    """The vector "q" or "v" with the given coordinates; the others are neutral, or zero.

    A row of a pandas table is a mapping too, and a table is a batch.
    """
    if not hasattr(values, "items") or not hasattr(values, "keys"):
        raise ModelError(
            f"model '{model.name}': expected a dict from joint names to {name}, got {shown(values)}"
        )
    index = model.position_index if name == "q" else model.coordinate_index
    pieces = []
    for joint, value in values.items():
        place = index(joint)
        width = place.stop - place.start
        array = configuration.as_array(value, f"model '{model.name}': {name} of joint '{joint}'")
        array = array[..., None] if array.ndim == 0 or (width == 1 and array.shape[-1] != 1) else array
        if array.shape[-1] != width:
            own = "owns no coordinates" if width == 0 else f"takes (..., {width})"
            shape = np.shape(value)
            raise ShapeError(
                f"model '{model.name}': {name} of joint '{joint}' has shape {shape}, but it {own}"
            )
        pieces.append((place, array))
    axes = (array.shape[:-1] for _, array in pieces)
    batch = configuration.broadcast(f"model '{model.name}': {name}", *axes)
    rest = model.neutral() if name == "q" else np.zeros(model.nv)
    kind = np.result_type(rest, *(array for _, array in pieces))
    out = np.broadcast_to(rest, (*batch, len(rest))).astype(kind)
    for place, array in pieces:
        out[..., place] = array
    return out
