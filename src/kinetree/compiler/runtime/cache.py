"""The disk cache, so that the next process need not compile again.

One file per entry, in a directory that only this user can read or write. Machine code is executed, so nothing
is trusted that somebody else could have written: a file must be a plain file that belongs to this user and
that only this user can write to, and it starts with a keyed hash of its name and contents. The key is a
secret stored beside the entries. A directory that others could write to is emptied and made private first.

A file is written under another name and then renamed, so readers see all of it or none. When the files exceed
the limit, the least recently used are deleted. If the disk is full or read-only, nothing is cached.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FORMAT = b"kinetree cache 2\n"
SUFFIX = ".kto"
SECRET = "secret"
SECRET_BYTES = 32
LARGEST = 1 << 26  # bytes: larger entries are not cached
SHARE = 16  # fraction of the limit that a process may write before it measures the size again
_limit = 1 << 28  # bytes for all entries
_room: dict[Path, int] = {}  # by directory: bytes left

# do not follow links, do not block on a pipe, do not leak into child processes
_OPEN = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _OPEN |= getattr(os, _flag, 0)


def directory() -> Path:
    """The cache directory: `kinetree` in the user's cache directory (XDG_CACHE_HOME if set)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base and os.path.isabs(base):
        return Path(base) / "kinetree"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "kinetree" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kinetree"
    return Path.home() / ".cache" / "kinetree"


def size() -> int:
    """The size of all entries in bytes."""
    return sum(status.st_size for _, status in _files())


def set_limit(limit: int) -> None:
    """Keep at most `limit` bytes, plus up to a sixteenth per process that writes; 0 disables the cache."""
    global _limit
    if limit < 0:
        raise ValueError(f"the limit of the cache is a number of bytes, not {limit}")
    _limit = limit
    _evict(limit)


def clear() -> None:
    """Delete all entries."""
    for path, _ in _files():
        with contextlib.suppress(OSError):
            path.unlink()


def load(name: str) -> bytes | None:
    """The data stored under `name`; None unless they are complete and our own."""
    try:
        folder = _private(create=False)
        path = folder / (name + SUFFIX)
        content = _read(path)
        head = len(FORMAT) + SECRET_BYTES
        data = content[head:]
        if not hmac.compare_digest(content[:head], _head(_secret(folder, create=False), name, data)):
            path.unlink(missing_ok=True)
            return None
        os.utime(path)
        return data
    except (OSError, RuntimeError):
        return None


def store(name: str, data: bytes) -> None:
    """Store data under `name`; without effect if that is not possible."""
    if len(FORMAT) + SECRET_BYTES + len(data) > min(LARGEST, _limit):
        return
    try:
        folder = _private(create=True)
        content = _head(_secret(folder, create=True), name, data) + data
        with _written(folder, content) as temporary:
            os.replace(temporary, folder / (name + SUFFIX))
        _room[folder] = _room.get(folder, 0) - len(content)
        if _room[folder] < 0:
            _evict(_limit - _limit // SHARE)
    except (OSError, RuntimeError):
        return


def _head(secret: bytes, name: str, data: bytes) -> bytes:
    """The header of an entry: the format, and a hash that requires the secret."""
    keyed = hmac.new(secret, name.encode() + b"\0", "sha256")
    keyed.update(data)
    return FORMAT + keyed.digest()


def _secret(folder: Path, create: bool) -> bytes:
    """The key of the hashes, created at random with the first entry."""
    path = folder / SECRET
    if create and not path.exists():
        with _written(folder, secrets.token_bytes(SECRET_BYTES)) as temporary:
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(temporary, path)
            os.unlink(temporary)
    secret = _read(path)
    if len(secret) != SECRET_BYTES:
        path.unlink()
        raise OSError(f"{path} is damaged")
    return secret


@contextlib.contextmanager
def _written(folder: Path, content: bytes) -> Iterator[str]:
    """A new private file with this content, to be renamed; deleted if that fails."""
    handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield temporary
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _read(path: Path) -> bytes:
    """The content of a plain file that only this user can have written; OSError otherwise."""
    descriptor = os.open(path, _OPEN)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise OSError(f"{path} is not a file of the cache")
        _check_owner(path, status)
        if hasattr(os, "getuid") and status.st_mode & 0o022:
            raise PermissionError(f"others can write to {path}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user")


def _private(create: bool) -> Path:
    """The directory, if it belongs to this user and is not a link; OSError otherwise."""
    folder = directory()
    if create:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = os.stat(folder, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(folder)
    _check_owner(folder, status)
    if hasattr(os, "getuid") and status.st_mode & 0o077:
        os.chmod(folder, 0o700)
        if status.st_mode & 0o022:  # others may have written its contents
            try:
                _empty(folder)
            except OSError:
                os.chmod(folder, stat.S_IMODE(status.st_mode))  # so that it is not trusted the next time
                raise
    return folder


def _empty(folder: Path) -> None:
    """Remove everything that could be mistaken for a part of the cache."""
    for item in os.scandir(folder):
        if item.name == SECRET or item.name.endswith((SUFFIX, ".tmp")):
            if item.is_dir(follow_symlinks=False):
                shutil.rmtree(item.path)
            else:
                os.unlink(item.path)


def _files() -> list[tuple[Path, os.stat_result]]:
    """The entries, and remains of interrupted writes."""
    found = []
    try:
        for item in os.scandir(_private(create=False)):
            with contextlib.suppress(OSError):
                if item.name.endswith((SUFFIX, ".tmp")) and item.is_file(follow_symlinks=False):
                    found.append((Path(item.path), item.stat(follow_symlinks=False)))
    except (OSError, RuntimeError):
        return []
    return found


def _evict(aim: int) -> None:
    """If the cache exceeds the limit, delete the least recently used entries until `aim` bytes are left."""
    files = _files()
    total = sum(status.st_size for _, status in files)
    if total > _limit:
        for path, status in sorted(files, key=lambda f: f[1].st_mtime):
            if total <= aim:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= status.st_size
    _room[directory()] = min(_limit - total, _limit // SHARE)
