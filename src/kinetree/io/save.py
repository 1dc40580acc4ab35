"""`kt.save`: a model to a file, as URDF where it fits and as JSON always."""

from __future__ import annotations

import os
from pathlib import Path

from kinetree.errors import ModelError
from kinetree.io.jsonfile import write_json
from kinetree.io.save_urdf import write_urdf
from kinetree.model import Model

_WRITERS = {".json": write_json, ".urdf": write_urdf}


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model to `path`; `kinetree.load` reads it back.

    Args:
        path: ending in `.json` (every model, without loss) or `.urdf` (fixed, revolute, prismatic, planar and
            free joints; gravity, springs and rotors in an extension element that only kinetree reads).

    Returns:
        The path.

    Raises:
        ModelError: the ending is unknown, or the model has something that the format cannot express.
    """
    target = Path(path)
    writer = _WRITERS.get(target.suffix.lower())
    if writer is None:
        raise ModelError(f"save: '{target}' must end in {' or '.join(_WRITERS)}")
    text = writer(model)
    target.write_text(text, encoding="utf-8")
    return target
