"""The source is identified by its contents."""

from __future__ import annotations

import os

from kinetree.compiler.runtime.source import source_digest


def test_every_change_is_seen(tmp_path) -> None:
    (tmp_path / "part").mkdir()
    first, second = tmp_path / "a.py", tmp_path / "part" / "b.py"
    first.write_text("x = 1\n")
    second.write_text("y = 2\n")
    seen = {source_digest(tmp_path)}
    status = first.stat()
    first.write_text("x = 3\n")
    os.utime(first, ns=(status.st_atime_ns, status.st_mtime_ns))  # an edit that leaves time and size alone
    assert (first.stat().st_mtime_ns, first.stat().st_size) == (status.st_mtime_ns, status.st_size)
    seen.add(source_digest(tmp_path))
    second.rename(tmp_path / "part" / "c.py")
    seen.add(source_digest(tmp_path))
    first.write_text("x = 3\ny = 2\n")
    seen.add(source_digest(tmp_path))
    (tmp_path / "part" / "c.py").unlink()
    seen.add(source_digest(tmp_path))
    assert len(seen) == 5


def test_nothing_else_is_seen(tmp_path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    before = source_digest(tmp_path)
    (tmp_path / "a.pyc").write_bytes(b"...")
    (tmp_path / "notes.txt").write_text("...")
    os.utime(tmp_path / "a.py", (0, 0))
    assert source_digest(str(tmp_path)) == before
