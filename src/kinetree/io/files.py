"""Files and texts: only regular files of bounded size are read; files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kinetree.errors import FileError
from kinetree.io.paths import Folders, Reach, folders_of
from kinetree.io.report import Where, refuse
from kinetree.io.xacro_file import expanded
from kinetree.io.xml import LIMITS, Element, read_xml

TEXTS = ("<", "{", "#usda ")  # a text begins with one of these, a path does not
LAYERS = (".usd", ".usda", ".usdc", ".usdz")
LARGEST_LAYER = 256 * 2**20  # bytes
_HEAD = 4096
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(path: str | os.PathLike[str], most: int = LIMITS.size, head: int | None = None) -> bytes:
    """The bytes of a regular file, or the first `head` of them; refused if it has more than `most`."""
    name = os.fspath(path)
    where = Where(name if isinstance(name, str) and name.isprintable() else repr(name), 0, "file")
    try:
        _refuse_special(os.stat(path), where, most)  # before opening, which may block or have side effects
        descriptor = os.open(path, _READ)
        with open(descriptor, "rb") as stream:
            _refuse_special(os.fstat(descriptor), where, most)
            return stream.read(most + 1 if head is None else head)
    except FileError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        refuse("file", where, f"cannot be read: {reason}", _path_remedy(name))


def _refuse_special(status: os.stat_result, where: Where, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        refuse("file", where, "this is a directory, a pipe or a device, not a file")
    if status.st_size > most:
        refuse("xml-limit", where, f"the file has {status.st_size} bytes; at most {most} are read")


def _path_remedy(name: str | bytes) -> str:
    text = "must begin with '<', '{' or '#usda'."
    return f"Check the path; a text {text}" if len(name) < 200 else f"A text {text}"


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text to a file atomically: the old content stays until the new one is safely on disk.

    The text is written to a new file in the same directory, which then replaces the old one and takes its
    mode. A symbolic link stays; the file it points to is replaced.

    Raises:
        OSError: the file is read-only or not a regular file, the link is dangling, or the system refuses.
    """
    given = Path(path)
    target = Path(os.path.realpath(given))
    mode = _mode_for(given, target)
    beside = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.part"
    descriptor = os.open(beside, _WRITE, 0o666 if mode is None else 0o600)  # minus the umask
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(descriptor)
        if mode is not None:
            os.chmod(beside, mode)
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _sync_directory(target.parent)
    return given


def _mode_for(given: Path, target: Path) -> int | None:
    """The mode of the existing file, None if there is none; OSError if it may not be written."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        if os.path.islink(given):
            raise FileNotFoundError(
                errno.ENOENT, "the link points to no file: remove it, or write elsewhere", str(given)
            ) from None
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "this is a directory, a pipe or a device, not a file", str(given))
    if not mode & 0o222 or not os.access(target, os.W_OK):
        raise PermissionError(
            errno.EACCES, "the file is read-only: make it writable, or write elsewhere", str(given)
        )
    return stat.S_IMODE(mode)


def _sync_directory(directory: Path) -> None:
    """Flush the directory entry to disk as well, where the system can."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass
class Document:
    """The content of a source, its name in messages, and its directory (None for text)."""

    content: bytes | str
    file: str
    directory: Path | None
    include_dirs: tuple[Path, ...] = ()
    package_dirs: tuple[Path, ...] = ()
    density: float | None = None  # for geometry without inertia, in formats that do not define a density

    @property
    def reach(self) -> Reach:
        """Where the files referenced by the document may be."""
        return Reach(self.directory, self.include_dirs, self.package_dirs)

    @property
    def opening(self) -> str:
        """The first non-blank character: `<` for XML, `{` for JSON."""
        head = self.content[:4096].lstrip()[:1]
        return head if isinstance(head, str) else head.decode("latin-1")

    @cached_property
    def root(self) -> Element:
        """The root element of an XML document."""
        return read_xml(self.content, self.file)


Source = str | bytes | os.PathLike[str] | Document


def open_document(
    source: Source,
    package_dirs: Folders = (),
    include_dirs: Folders = (),
    xacro_args: Mapping[str, Any] | None = None,
) -> Document:
    """Read a path, or take a text as it is; expand it with xacro if `xacro_args` is given.

    Referenced files may also be in the given folders.
    """
    document = source if isinstance(source, Document) else _opened(source)
    packages, included = folders_of(package_dirs), folders_of(include_dirs)
    if packages or included:
        document = replace(document, package_dirs=packages, include_dirs=included)
    return expanded(document, xacro_args)


def _opened(source: str | bytes | os.PathLike[str]) -> Document:
    if isinstance(source, (bytes, bytearray)):
        return Document(bytes(source), "<text>", None)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith(TEXTS):
        return Document(source.lstrip("\ufeff"), "<text>", None)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"load needs a path or a text, got {type(source).__name__}")
    path = Path(source)
    if path.suffix.lower() in LAYERS:  # USD reads them itself
        content = read_bytes(source, LARGEST_LAYER, _HEAD)
    else:
        content = read_bytes(source)
    return Document(content, os.fspath(source), path.resolve().parent)
