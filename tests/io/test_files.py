"""Files on the disk: written whole or not at all, links and modes kept, nothing opened that could block."""

from __future__ import annotations

import os
import stat

import pytest
from tests.io.seeds import URDF_ARM

import kinetree as kt
from kinetree.errors import FileError
from kinetree.io import files
from kinetree.io.files import write_text
from kinetree.io.lint import lint


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("the old file")
    return path


@pytest.fixture
def model():
    return kt.load(URDF_ARM)


@pytest.mark.parametrize("fault", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(old, model, monkeypatch, fault):
    def full(*_):
        raise OSError(28, "No space left on device")

    if fault == "write":
        real = open

        class Full:
            def __init__(self, stream):
                self.stream = stream

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.stream.close()

            def write(self, text):
                self.stream.write(text[: len(text) // 2])
                self.stream.flush()
                full()

        monkeypatch.setattr(files, "open", lambda *a, **o: Full(real(*a, **o)), raising=False)
    else:
        monkeypatch.setattr(files.os, fault, full)
    with pytest.raises(OSError, match="No space left"):
        kt.save(model, old)
    assert old.read_text() == "the old file"
    assert [path.name for path in old.parent.iterdir()] == [old.name]


def test_the_mode_of_the_file_stays(old, model):
    os.chmod(old, 0o640)
    kt.save(model, old)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640 and kt.load(old).nv == model.nv


def test_a_new_file_has_the_mode_that_the_user_wants(tmp_path, model):
    mask = os.umask(0o027)
    try:
        path = kt.save(model, tmp_path / "new.json")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_and_the_file_behind_it_is_written(old, model, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "link.urdf"
    link.symlink_to(os.path.relpath(old, folder))
    assert kt.save(model, link) == link
    assert link.is_symlink() and not old.is_symlink()
    assert kt.load(old).nv == model.nv and list(folder.iterdir()) == [link]


def test_a_dangling_link_is_not_followed(tmp_path, model):
    link = tmp_path / "link.urdf"
    link.symlink_to(tmp_path / "secret.urdf")
    with pytest.raises(FileNotFoundError, match="points to no file"):
        kt.save(model, link)
    assert os.listdir(tmp_path) == ["link.urdf"]


def test_a_read_only_file_is_refused(old, model):
    os.chmod(old, 0o444)
    with pytest.raises(PermissionError, match="read-only"):
        kt.save(model, old)
    assert old.read_text() == "the old file"


def test_only_regular_files_are_written(tmp_path, model):
    (tmp_path / "folder.urdf").mkdir()
    os.mkfifo(tmp_path / "pipe.urdf")
    for name in ("folder.urdf", "pipe.urdf"):
        with pytest.raises(OSError, match="not a file"):
            kt.save(model, tmp_path / name)


def test_a_text_is_written_as_it_is(tmp_path):
    path = write_text(tmp_path / "text", "é\n\r\n")
    assert path.read_bytes() == "é\n\r\n".encode()


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = {"pipe": tmp_path / "pipe", "folder": tmp_path, "device": "/dev/zero"}[kind]
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(FileError, match="not a file"):
        kt.load(path)
    assert [f.rule for f in lint(path)] == ["file"]
    (tmp_path / "main.xml").write_text('<mujoco><include file="pipe"/><worldbody/></mujoco>')
    if kind == "pipe":
        with pytest.raises(FileError):
            kt.load(tmp_path / "main.xml")


def test_long_names_in_any_script_are_written(tmp_path, model):
    path = tmp_path / ("\u673a" * 70 + ".json")  # 215 bytes of the 255 that a name may have
    assert kt.load(kt.save(model, path)) == model
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_saving_in_threads_leaves_the_mask_alone(tmp_path, model):
    from concurrent.futures import ThreadPoolExecutor

    before = os.umask(0o022)
    try:
        with ThreadPoolExecutor(8) as pool:
            paths = list(pool.map(lambda k: kt.save(model, tmp_path / f"{k}.json"), range(40)))
        assert {path.stat().st_mode & 0o777 for path in paths} == {0o644}
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
