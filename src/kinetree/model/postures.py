"""Named configurations of a model, such as keyframes of its file; edits of the model keep them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import AssemblyError, ModelError
from kinetree.model import loop_entries
from kinetree.model.closed_positions import loop_nodes
from kinetree.model.parts import Posture
from kinetree.model.validate import numbers, shown

if TYPE_CHECKING:
    from kinetree.model.model import Model

_ROUNDING = 1e-12  # rad or m: a configuration this near to a closed one counts as closed


def arrays(model: Model) -> Mapping[str, np.ndarray]:
    """q (nq,) of each configuration by name; joints that it does not mention are neutral."""
    found = {posture.name: model.positions(dict(posture.positions)) for posture in model.postures}
    for q in found.values():
        q.flags.writeable = False
    return MappingProxyType(found)


def read(model: Model, given: Mapping[str, Any]) -> tuple[Posture, ...]:
    """The configurations in a dict from names to q, or to dicts from joint names to positions."""
    found = []
    for name, value in given.items():
        if not isinstance(name, str) or not name:
            raise ModelError(f"model '{model.name}': configuration {shown(name)}: the name must be a string")
        q = model.positions(value) if hasattr(value, "keys") else np.asarray(value, dtype=float)
        owner = f"model '{model.name}': configuration '{name}'"
        split = model.split_positions(np.array(numbers(q.tolist(), model.nq, owner), dtype=float))
        rows = {joint: tuple(row.tolist()) for joint, row in split.items()}
        posture = Posture(name, tuple(rows.items()))
        if model.loops and not is_closed(model, posture):
            raise AssemblyError(f"{owner}: a loop is open there: give model.assemble(q)")
        found.append(posture)
    return tuple(found)


def kept(model: Model, *before: tuple[Model, str]) -> Model:
    """The model with the configurations of the models it was made of, their names prefixed."""
    if not any(other.postures for other, _ in before):
        return model
    widths = {joint: len(row) for joint, row in model.split_positions(model.neutral()).items()}
    found: dict[str, Posture] = {}
    for other, prefix in before:
        for posture in other.postures:
            rows = [(prefix + joint, row) for joint, row in posture.positions]
            own = tuple((joint, row) for joint, row in rows if widths.get(joint) == len(row))
            found.setdefault(prefix + posture.name, Posture(prefix + posture.name, own))
    return carrying(model, tuple(found.values()))


def closed(model: Model) -> Model:
    """The model with its configurations closed; those that cannot be closed are left out."""
    if not (model.loops and model.postures):
        return model
    return carrying(model, tuple(p for p in (assembled(model, p) for p in model.postures) if p is not None))


def is_closed(model: Model, posture: Posture) -> bool:
    """Whether the loops of a model are closed in a configuration, to the tolerance of functions."""
    q = model.positions(dict(posture.positions))
    return all(
        np.all(np.asarray(x) >= 1)
        for node in loop_nodes(model)
        for x in node.openness([q[k] for k in node.q_index])
    )


def assembled(model: Model, posture: Posture) -> Posture | None:
    """A configuration in which all loops are closed: itself, or one nearby, or None if there is none.

    The independent joints of loops stay if the loops can be closed that way.
    """
    q = model.positions(dict(posture.positions))
    try:
        found = model.assemble(q)
    except AssemblyError:
        return None
    if np.abs(found - q).max(initial=0.0) < _ROUNDING:
        return posture
    rows = ((joint, tuple(row.tolist())) for joint, row in model.split_positions(found).items())
    return Posture(posture.name, tuple(rows))


def carrying(model: Model, postures: tuple[Posture, ...]) -> Model:
    """The model with these configurations instead of its own."""
    if postures == model.postures:
        return model
    return model.remade(postures=postures)


def to_dict(model: Model) -> dict[str, Any]:
    """The whole model as a dictionary; without an entry for configurations if there are none."""
    rows = {p.name: {joint: list(row) for joint, row in p.positions} for p in model.postures}
    return loop_entries.to_dict(model) | ({"configurations": rows} if rows else {})


def from_dict(data: Any, check: str | None) -> Model:
    """The model of a dictionary from `to_dict`."""
    rows: Any = {}
    if isinstance(data, dict):
        data = dict(data)
        rows = data.pop("configurations", rows)
    model = loop_entries.from_dict(data, check)
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        what = "configurations must be a dict from names to dicts from joint names to positions"
        raise ModelError(f"model '{model.name}': {what}, got {shown(rows)}")
    return carrying(model, read(model, rows))
