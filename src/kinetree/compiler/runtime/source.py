"""Which source a process runs: what it made may be kept only for exactly this source.

The contents of all files decide. To read them takes some milliseconds, so their hash is remembered in the
cache, beside what the system says of every file. An edit can leave the size of a file and the time of its
modification alike, but not the time of its last change (ctime), which no program can set. Wherever that is in
doubt, the files are read: on other systems than Linux, on disks that are not local, if times are coarse, and
while a file is so young that one more edit might not show.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time

from kinetree.compiler.runtime import cache

SETTLED = 60 * 10**9  # ns: by then a change is on the disk, and the next one has another time
COARSE = 10**7  # ns: whole steps of this are times of FAT, of archives and of others that know no ctime

Files = list[os.DirEntry[str]]


def source_digest(root: str | os.PathLike[str]) -> str | None:
    """A hash of the names and contents of all Python files below `root`; None if there are none.

    They are read, unless the hash is remembered and no file was changed, added or removed since.
    """
    files = _files(root)
    if not files:  # all of it is in an archive, or without its source
        return None
    state = _state(files)  # before they are read: what is written meanwhile has another one
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
    for folder in folders:  # of which there are more and more
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".py") and entry.is_file():  # no link to nowhere, as editors leave
                    found.append(entry)
    return sorted(found, key=lambda entry: entry.path)


def _state(files: Files) -> bytes | None:
    """A hash of what the system says of the files; None if a change might not show in it."""
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
