"""Machine code on disk, so that the next process need not compile it again.

One file per entry, named by the hash of everything that decides its contents, in a directory that only
the user can read or write. A file is written under another name and then renamed, so readers see all of it
or none; its checksum is verified before anything in it is believed, and it holds no pickles. When the files
exceed the limit, the least recently used go. A disk that is full or read-only means that nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from pathlib import Path

from kinetree.compiler.runtime.entry import Entry

SUFFIX = ".kto"
LARGEST = 1 << 26  # bytes: larger entries are not kept
_limit = 1 << 28  # bytes for all entries


def directory() -> Path:
    """Where machine code is kept: `kinetree` in the user's cache directory (XDG_CACHE_HOME if it is set)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base and os.path.isabs(base):
        return Path(base) / "kinetree"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "kinetree" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinetree"
    return Path.home() / ".cache" / "kinetree"


def size() -> int:
    """The bytes that all entries take."""
    return sum(status.st_size for _, status in _files())


def set_limit(limit: int) -> None:
    """Keep at most `limit` bytes; 0 keeps nothing."""
    global _limit
    if limit < 0:
        raise ValueError(f"the limit of the cache is a number of bytes, not {limit}")
    _limit = limit
    _evict()


def clear() -> None:
    """Delete all entries."""
    for path, _ in _files():
        with contextlib.suppress(OSError):
            path.unlink()


def load(key: str) -> Entry | None:
    """The entry named `key`, if it is there, whole and ours."""
    try:
        path = _private(create=False) / (key + SUFFIX)
        data = path.read_bytes()
        entry = Entry.unpack(data)
        if entry is None:
            path.unlink(missing_ok=True)
            return None
        os.utime(path)
        return entry
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None


def store(key: str, entry: Entry) -> None:
    """Keep an entry under the name `key`; without effect if that is not possible."""
    data = entry.pack()
    if len(data) > min(LARGEST, _limit):
        return
    try:
        folder = _private(create=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, folder / (key + SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _evict()
    except (OSError, RuntimeError):
        return


def _private(create: bool) -> Path:
    """The directory, if it belongs to this user and nobody else can write to it; OSError otherwise."""
    folder = directory()
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.stat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(folder)
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            raise PermissionError(f"{folder} belongs to another user")
        if status.st_mode & 0o077:
            os.chmod(folder, 0o700)
    return folder


def _files() -> list[tuple[Path, os.stat_result]]:
    """The entries and what is left of interrupted writes."""
    found = []
    try:
        for item in os.scandir(_private(create=False)):
            with contextlib.suppress(OSError):
                if item.name.endswith((SUFFIX, ".tmp")) and item.is_file(follow_symlinks=False):
                    found.append((Path(item.path), item.stat()))
    except (OSError, RuntimeError):
        return []
    return found


def _evict() -> None:
    files = sorted(_files(), key=lambda f: f[1].st_mtime)
    total = sum(status.st_size for _, status in files)
    for path, status in files:
        if total <= _limit:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            total -= status.st_size
