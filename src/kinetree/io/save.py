"""`kt.save`: write a model to a file: JSON for every model; URDF, MJCF or SDF where they can express it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from kinetree.errors import FileWarning, ModelError
from kinetree.io.files import write_text
from kinetree.io.formats import FORMATS, Format
from kinetree.model import Model


def save(model: Model, path: str | os.PathLike[str]) -> Path:
    """Write a model to `path`; `kinetree.load` reads it back.

    Args:
        path: ending in `.json` (every model, without loss), `.urdf` (fixed, revolute, prismatic, planar and
            free joints), `.xml` or `.mjcf` (MJCF: joints made of hinges, slides and balls, no rotors) or
            `.sdf` (the same joints). What URDF and SDF cannot express is written to elements that only
            kinetree reads: rotors, and in URDF springs and gravity.

    Returns:
        The path.

    Warns:
        FileWarning: the format does not store named configurations (JSON and MJCF do).

    Raises:
        ModelError: the ending is unknown, or the model has something that the format cannot express.
    """
    target = Path(path)
    format, write = written_format(target)
    if model.postures and not format.postures:
        names = ", ".join(repr(posture.name) for posture in model.postures)
        warnings.warn(f"save: '{target}' does not keep the configurations {names}", FileWarning, stacklevel=2)
    return write_text(target, write(model))


def written_format(target: Path) -> tuple[Format, Callable[[Model], str]]:
    """The format of a file to be written, by its ending, and its writer; ModelError if there is none."""
    formats = {ending: f for f in FORMATS.values() if f.write is not None for ending in f.suffixes}
    format = formats.get(target.suffix.lower())
    if format is None or format.write is None:
        read = any(target.suffix.lower() in f.suffixes for f in FORMATS.values())
        only = f": files that end in '{target.suffix}' are read, not written" if read else ""
        raise ModelError(f"save: '{target}' must end in {' or '.join(formats)}{only}")
    return format, format.write
