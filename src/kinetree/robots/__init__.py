"""Robot files that come with the library, to try functions that take a file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files(__name__)))


def path(name: str) -> Path:
    """The path of a robot file: `path("arm7.urdf")`."""
    found = FOLDER / name
    if Path(name).name != name or not found.is_file():
        from kinetree.errors import ArgumentError

        known = ", ".join(sorted(p.name for p in FOLDER.glob("*.urdf")))
        raise ArgumentError(f"there is no robot file {name!r} in the library; it has: {known}")
    return found
