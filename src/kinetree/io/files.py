"""Opening files: regular ones only, of bounded size, and never outside of where they are allowed to be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from kinetree.io.report import FileError, Where, refuse
from kinetree.io.xml import LIMITS


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a regular file, refused if it is larger than any document may be."""
    name = os.fspath(path)
    where = Where(name if isinstance(name, str) and name.isprintable() else repr(name), 0, "file")
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            refuse("file", where, "this is a directory or a device, not a file")
        if status.st_size > LIMITS.size:
            refuse("xml-limit", where, f"the file has {status.st_size} bytes; at most {LIMITS.size} are read")
        with open(path, "rb") as stream:
            return stream.read(LIMITS.size + 1)
    except FileError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        refuse("file", where, f"cannot be read: {reason}", _path_remedy(name))


def _path_remedy(name: str | bytes) -> str:
    return (
        "Check the path; a text must begin with '<' or '{'."
        if len(name) < 200
        else "A text must begin with '<' or '{'."
    )


def confined(path: str, base: Path, root: Path) -> Path | None:
    """The file `path` as seen from `base`, or None if it leaves `root`; links are followed before judging."""
    if "\0" in path or os.path.isabs(path) or "://" in path:
        return None
    try:
        target = (base / path.replace("\\", "/")).resolve()
        inside = target.is_relative_to(root.resolve())
    except (OSError, ValueError, RuntimeError):
        return None
    return target if inside else None
