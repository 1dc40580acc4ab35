"""Which source a process runs: what it made may be kept only for exactly this source."""

from __future__ import annotations

import hashlib
import os


def source_digest(root: str | os.PathLike[str]) -> str:
    """A hash of the names and contents of all Python files below `root`.

    Reading them takes some milliseconds. Times and sizes would be quicker, but an edit can leave both alike.
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(root):
        folders.sort()
        place = os.path.relpath(folder, root)
        for name in sorted(files):
            if name.endswith(".py"):
                with open(os.path.join(folder, name), "rb", buffering=0) as file:
                    content = file.read()
                digest.update(f"{place}/{name}\0{len(content)}\0".encode())
                digest.update(content)
    return digest.hexdigest()
