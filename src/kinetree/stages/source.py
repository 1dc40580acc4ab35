"""The identity of this package's own source: machine code kept on disk belongs to exactly this text."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def source_digest() -> str:
    """A hash of all files of the package."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
