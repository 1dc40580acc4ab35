"""`kt.save`: a model to a file, as URDF where it fits and as JSON always."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from kinetree.errors import FileWarning, ModelError
from kinetree.io.files import write_text
from kinetree.io.formats import FORMATS
from kinetree.model import Model


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model to `path`; `kinetree.load` reads it back.

    Args:
        path: ending in `.json` (every model, without loss) or `.urdf` (fixed, revolute, prismatic, planar and
            free joints; gravity, springs and rotors in an extension element that only kinetree reads).

    Returns:
        The path.

    Warns:
        FileWarning: the format does not keep named configurations, which JSON and MJCF do.

    Raises:
        ModelError: the ending is unknown, or the model has something that the format cannot express.
    """
    formats = {ending: f for f in FORMATS.values() if f.write is not None for ending in f.suffixes}
    target = Path(path)
    format = formats.get(target.suffix.lower())
    if format is None or format.write is None:
        raise ModelError(f"save: '{target}' must end in {' or '.join(formats)}")
    if model.postures and not format.postures:
        names = ", ".join(repr(posture.name) for posture in model.postures)
        warnings.warn(f"save: '{target}' does not keep the configurations {names}", FileWarning, stacklevel=2)
    return write_text(target, format.write(model))
