"""The identity of the source that a process runs: results may be cached only for exactly this source.

The contents of all files decide. Reading them takes some milliseconds, so their hash is cached together with
the file status that the system reports. An edit can keep the size and modification time of a file, but not
its change time (ctime), which no program can set. In case of doubt the files are read: on systems other than
Linux, on disks that are not local, if times are coarse, and while a file is so recent that another edit might
not show.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time

from kinetree.compiler.runtime import cache

SETTLED = 60 * 10**9  # ns: by then a change is on disk, and the next one has another time
COARSE = 10**7  # ns: multiples of this are times of FAT, archives and others without a ctime

Files = list[os.DirEntry[str]]


def source_digest(root: str | os.PathLike[str]) -> str | None:
    """A hash of the names and contents of all Python files below `root`; None if there are none.

    They are read, unless the hash is cached and no file was changed, added or removed since.
    """
    files = _files(root)
    if not files:  # everything is in an archive, or without source
        return None
    state = _state(files)  # before reading: a write in the meantime changes it
    if state is None:
        return _read(files, root)
    name = hashlib.sha256(b"source\0" + os.fsencode(root)).hexdigest()
    kept = cache.load(name)
    if kept is not None and kept.startswith(state):
        return kept[len(state) :].decode()
    digest = _read(files, root)
    cache.store(name, state + digest.encode())
    return digest


def _files(root: str | os.PathLike[str]) -> Files:
    """The Python files below a folder, in the order of their paths."""
    found: Files = []
    folders = [os.fspath(root)]
    for folder in folders:  # grows during the loop
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".py") and entry.is_file():  # not a dangling link, as editors leave
                    found.append(entry)
    return sorted(found, key=lambda entry: entry.path)


def _state(files: Files) -> bytes | None:
    """A hash of the status of the files; None if a change might not show in it."""
    if sys.platform != "linux":
        return None
    latest = time.time_ns() - SETTLED
    facts = []
    for file in files:
        status = file.stat()
        changed = status.st_ctime_ns
        if changed > latest or changed % COARSE == 0 or os.major(status.st_dev) == 0:
            return None
        facts.append((file.path, changed, status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev))
    return hashlib.sha256(repr(facts).encode()).digest()


def _read(files: Files, root: str | os.PathLike[str]) -> str:
    """The hash of names and contents."""
    start = len(os.fspath(root))
    digest = hashlib.sha256()
    for file in files:
        with open(file.path, "rb", buffering=0) as opened:
            content = opened.read()
        digest.update(f"{file.path[start:]}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
