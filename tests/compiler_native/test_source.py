"""The source is identified by its contents, whether they are read or remembered."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import SimpleNamespace
from unittest import mock

import pytest

import kinetree as kt
from kinetree.compiler.runtime import cache, source
from kinetree.compiler.runtime.source import SETTLED, source_digest
from kinetree.stages import job

remembering = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere files are always read")


@pytest.fixture
def root(tmp_path):
    """A folder with two files."""
    folder = tmp_path / "package"
    (folder / "part").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    (folder / "part" / "b.py").write_text("y = 2\n")
    return folder


@pytest.fixture
def reads(empty_cache, monkeypatch):
    """Counts how often files are read, as if all of them lay on a local disk for long."""
    monkeypatch.setattr(source, "SETTLED", 0)
    monkeypatch.setattr(os, "major", lambda device: 8, raising=False)
    counter = mock.Mock(side_effect=source._read)
    monkeypatch.setattr(source, "_read", counter)
    return counter


def quietly(path, text: str) -> None:
    """An edit that leaves size and time of modification alone."""
    time.sleep(0.02)  # a tick of the clock that files are stamped with
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)


def replaced(path, text: str) -> None:
    """The same by a new file in its place."""
    other = path.with_suffix(".new")
    other.write_text(text)
    shutil.copystat(path, other)
    other.replace(path)


def linked(path, text: str) -> None:
    """The same by a link to another file."""
    other = path.parent.parent / "elsewhere"
    other.write_text(text)
    shutil.copystat(path, other)
    path.unlink()
    path.symlink_to(other)


EDITS = {
    "quiet": lambda root: quietly(root / "a.py", "x = 3\n"),
    "replaced": lambda root: replaced(root / "a.py", "x = 3\n"),
    "linked": lambda root: linked(root / "a.py", "x = 3\n"),
    "longer": lambda root: (root / "a.py").write_text("x = 3\ny = 2\n"),
    "added": lambda root: (root / "part" / "c.py").write_text(""),
    "in a new folder": lambda root: shutil.copytree(root / "part", root / "more"),
    "removed": lambda root: (root / "part" / "b.py").unlink(),
    "renamed": lambda root: (root / "part" / "b.py").rename(root / "part" / "c.py"),
    "moved": lambda root: (root / "part" / "b.py").rename(root / "b.py"),
    "folder renamed": lambda root: (root / "part").rename(root / "other"),
}


@pytest.mark.parametrize("remembered", [False, pytest.param(True, marks=remembering)])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_every_change_is_seen(root, reads, monkeypatch, edit, remembered) -> None:
    if not remembered:
        monkeypatch.setattr(cache, "_limit", 0)
    before = source_digest(root)
    assert source_digest(root) == before and reads.call_count == (1 if remembered else 2)
    edit(root)
    after = source_digest(root)
    assert after != before
    cache.clear()
    assert source_digest(root) == after


@remembering
def test_nothing_else_is_seen(root, reads) -> None:
    before = source_digest(root)
    (root / "a.pyc").write_bytes(b"...")
    (root / "notes.txt").write_text("...")
    assert source_digest(root) == before and reads.call_count == 1
    os.utime(root / "a.py", (0, 0))
    assert source_digest(str(root)) == before and reads.call_count == 2
    assert source_digest(shutil.copytree(root, root.parent / "copy")) == before


@remembering
def test_a_file_behind_a_link_is_seen(root, reads) -> None:
    linked(root / "a.py", "x = 1\n")
    before = source_digest(root)
    assert source_digest(root) == before and reads.call_count == 1
    quietly(root.parent / "elsewhere", "x = 3\n")
    assert source_digest(root) != before


def test_a_link_to_nowhere_is_no_file(root, reads) -> None:
    """Emacs marks a file that is being edited by one."""
    before = source_digest(root)
    (root / ".#a.py").symlink_to("someone@somewhere.4711")
    assert source_digest(root) == before


def test_without_source_no_program_is_kept(root, reads, empty_cache, monkeypatch) -> None:
    """In an archive, say: programs of another version would have the same key."""
    archive = shutil.make_archive(str(root), "zip", root)
    assert source_digest(archive) is source_digest(root / "nowhere") is None
    monkeypatch.setattr(job, "_source", lambda: None)
    model = kt.zoo.double_pendulum()
    assert kt.compile(kt.mass_matrix, model).artifact.key is None
    assert kt.mass_matrix(model, [0.1, 0.2]).shape == (2, 2)


@remembering
def test_one_entry_for_a_folder(root, reads, empty_cache) -> None:
    for k in range(4):
        quietly(root / "a.py", f"x = {k}\n")
        source_digest(root)
    assert reads.call_count == 4 and len(list(empty_cache.glob("*.kto"))) == 1


DOUBTS = {
    "young": lambda patch: patch.setattr(source, "SETTLED", SETTLED),
    "from the future": lambda patch: patch.setattr(source, "time", SimpleNamespace(time_ns=lambda: 0)),
    "coarse": lambda patch: patch.setattr(source, "COARSE", 1),
    "not local": lambda patch: patch.setattr(os, "major", lambda device: 0, raising=False),
    "another system": lambda patch: patch.setattr(source, "sys", SimpleNamespace(platform="win32")),
}


@pytest.mark.parametrize("doubt", DOUBTS.values(), ids=DOUBTS.keys())
def test_in_doubt_files_are_read(root, reads, empty_cache, monkeypatch, doubt) -> None:
    doubt(monkeypatch)
    assert source_digest(root) == source_digest(root)
    assert reads.call_count == 2 and not empty_cache.exists()


@pytest.mark.parametrize("late", [False, True])
def test_an_edit_while_files_are_read(root, reads, late) -> None:
    """Whichever contents were read, they are not remembered for others."""

    def read(*args: object) -> str:
        early = reading(*args)
        quietly(root / "a.py", "x = 3\n")
        return early if late else reading(*args)

    reading = reads.side_effect
    before = reading(source._files(root), root)
    reads.side_effect = read
    assert (source_digest(root) == before) == late
    reads.side_effect = reading
    assert source_digest(root) == reading(source._files(root), root) != before


PLANTED = {
    "empty": lambda own, other: b"",
    "one bit": lambda own, other: own[:-9] + bytes([own[-9] ^ 1]) + own[-8:],
    "of another folder": lambda own, other: other,
    "another hash": lambda own, other: own[:-64] + b"0" * 64,
    "no more than the hash": lambda own, other: own[-64:],
}


@remembering
@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED.keys())
def test_what_was_planted_is_not_believed(root, reads, empty_cache, planted) -> None:
    before = source_digest(root)
    (entry,) = empty_cache.glob("*.kto")
    source_digest(shutil.copytree(root / "part", root.parent / "other"))
    (other,) = {*empty_cache.glob("*.kto")} - {entry}
    entry.write_bytes(planted(entry.read_bytes(), other.read_bytes()))
    assert source_digest(root) == before and reads.call_count == 3
    assert source_digest(root) == before and reads.call_count == 3


def test_without_a_cache_files_are_read(root, reads, empty_cache) -> None:
    empty_cache.parent.mkdir()
    empty_cache.write_text("in the way")
    assert source_digest(root) == source_digest(root) and reads.call_count == 2
