"""Geometries, ground and pairs as extra texts in URDF, MJCF and SDF: entries of `Model.to_dict` as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kinetree.io.description import WORLD
from kinetree.io.text import GEOMETRY, GROUND, PAIR, escape
from kinetree.model import Model
from kinetree.model.serialize import geometry_entry, ground_entry, pair_entry


def touching_texts(model: Model) -> Iterator[tuple[str, str]]:
    """(kind, XML-escaped text) of geometries, ground and pairs, from which they are restored exactly."""
    names = (WORLD, *model.body_names)
    for part in model.geometries:
        entry = geometry_entry(part, names[part.body], f"model '{model.name}'")
        yield GEOMETRY, escape(json.dumps(entry))
    if model.ground is not None:
        yield GROUND, escape(json.dumps(ground_entry(model.ground)))
    for pair in model.pairs:
        yield PAIR, escape(json.dumps(pair_entry(pair)))
