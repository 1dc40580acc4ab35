"""Machine code is loaded only from files that this user owns and only this user could have written."""

from __future__ import annotations

import hmac
import os
import stat
import sys
import threading

import pytest

from kinetree.compiler.runtime import cache

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs owners and modes of files")

NAME, OTHER, DATA = "a" * 64, "b" * 64, b"machine code"


@pytest.fixture
def entry(empty_cache):
    """The file of the one entry that there is."""
    cache.store(NAME, DATA)
    assert cache.load(NAME) == DATA
    return empty_cache / f"{NAME}.kto"


def is_private(path) -> bool:
    return not stat.S_IMODE(path.stat().st_mode) & 0o077


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702, 0o1777])
def test_a_directory_that_others_could_write_to_is_emptied(entry, mode) -> None:
    entry.parent.chmod(mode)
    assert cache.load(NAME) is None
    assert is_private(entry.parent) and list(entry.parent.iterdir()) == []
    cache.store(NAME, DATA)
    assert cache.load(NAME) == DATA


def test_so_is_one_with_folders_in_it(entry) -> None:
    for name in ("0.kto", "~.kto"):
        (entry.parent / name).mkdir()
        (entry.parent / name / "more").write_bytes(b"")
    entry.parent.chmod(0o777)
    assert cache.load(NAME) is None and list(entry.parent.iterdir()) == []


def test_one_that_cannot_be_emptied_is_not_believed_the_next_time(entry, monkeypatch) -> None:
    def refused(*_) -> None:
        raise PermissionError

    entry.parent.chmod(0o777)
    monkeypatch.setattr(os, "unlink", refused)
    assert cache.load(NAME) is None
    assert cache.load(NAME) is None and entry.exists()


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711])
def test_a_directory_that_others_could_read_is_made_private(entry, mode) -> None:
    entry.parent.chmod(mode)
    assert cache.load(NAME) == DATA
    assert is_private(entry.parent) and is_private(entry) and is_private(entry.parent / cache.SECRET)


def test_an_entry_is_bound_to_its_name(entry) -> None:
    os.rename(entry, entry.with_name(f"{OTHER}.kto"))
    assert cache.load(OTHER) is None and cache.load(NAME) is None
    assert not entry.with_name(f"{OTHER}.kto").exists()


def test_an_entry_of_another_cache_is_not_believed(entry) -> None:
    content = entry.read_bytes()
    (entry.parent / cache.SECRET).unlink()
    cache.store(OTHER, DATA)  # with a new secret
    entry.write_bytes(content)
    assert cache.load(NAME) is None and cache.load(OTHER) == DATA
    for secret in (b"", bytes(cache.SECRET_BYTES)):
        entry.write_bytes(cache.FORMAT + hmac.digest(secret, f"{NAME}\0".encode() + DATA, "sha256") + DATA)
        assert cache.load(NAME) is None


@pytest.mark.parametrize("which", ["entry", "secret"])
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_could_write_to_is_not_believed(entry, which, mode) -> None:
    path = entry if which == "entry" else entry.parent / cache.SECRET
    path.chmod(mode)
    assert cache.load(NAME) is None


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("which", ["entry", "secret"])
def test_a_file_of_somebody_else_is_not_believed(entry, which) -> None:
    os.chown(entry if which == "entry" else entry.parent / cache.SECRET, 12345, -1)
    assert cache.load(NAME) is None


def link(path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def pipe(path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def huge(path) -> None:
    os.truncate(path, 1 << 40)  # of which the disk holds nothing: to read it would take all memory


def folder(path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


@pytest.mark.parametrize("obstacle", [link, pipe, huge, folder])
@pytest.mark.parametrize("which", ["entry", "secret"])
def test_something_else_in_its_place(entry, obstacle, which) -> None:
    path = entry if which == "entry" else entry.parent / cache.SECRET
    obstacle(path)
    found = []
    reader = threading.Thread(target=lambda: found.append(cache.load(NAME)), daemon=True)
    reader.start()
    reader.join(timeout=20)
    assert found == [None]
    if which == "entry" and obstacle is not folder:
        cache.store(NAME, DATA)
        assert cache.load(NAME) == DATA and stat.S_ISREG(os.lstat(path).st_mode)


def test_a_link_to_a_directory_is_not_followed(entry) -> None:
    link(entry.parent)
    before = sorted(entry.parent.iterdir())
    assert cache.load(NAME) is None and cache.size() == 0
    cache.store(OTHER, DATA)
    cache.clear()
    assert sorted(entry.parent.iterdir()) == before


def test_a_damaged_secret_is_replaced(entry) -> None:
    secret = entry.parent / cache.SECRET
    secret.write_bytes(secret.read_bytes()[:5])
    assert cache.load(NAME) is None
    cache.store(NAME, DATA)
    assert cache.load(NAME) == DATA and len(secret.read_bytes()) == cache.SECRET_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_files_are_closed(entry) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for name in (NAME, OTHER):
        for _ in range(5):
            cache.load(name)
            cache.store(name, DATA)
    folder(entry)
    assert cache.load(NAME) is None
    assert len(os.listdir("/proc/self/fd")) == before
