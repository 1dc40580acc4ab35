"""Hostile files: each is refused by name, quickly and in little memory, or loads as it should."""

from __future__ import annotations

import cProfile
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import share
from tests.io.hostile import HOSTILE, body

import kinetree as kt
from kinetree.errors import FileError
from kinetree.io.lint import lint
from kinetree.io.rules import RULES

CALLS = 5_000_000
MEGABYTES = 200


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_by_name(name):
    content, rule = HOSTILE[name]
    if rule is None:
        kt.load(content)
    else:
        with pytest.raises(kt.errors.ModelError) as caught:
            kt.load(content)
        assert isinstance(caught.value, FileError)
        assert caught.value.finding.rule == rule
        assert caught.value.finding.remedy and caught.value.finding.problem
        assert len(str(caught.value)) < 1000


def test_there_are_enough_of_them():
    assert len(HOSTILE) >= 60


@pytest.mark.parametrize("name", share(HOSTILE, 2))
def test_the_linter_reads_what_the_loader_refuses(name):
    content, rule = HOSTILE[name]
    work = cProfile.Profile(builtins=False)
    findings = work.runcall(lint, content)
    assert sum(entry.callcount for entry in work.getstats()) < CALLS
    if rule is not None:
        assert rule in {f.rule for f in findings}
        assert findings[0].severity == "error"


@pytest.mark.parametrize("name", [n for n, (_, rule) in HOSTILE.items() if rule and RULES[rule].repairable])
def test_what_can_be_repaired_loads_under_repair(name):
    content, rule = HOSTILE[name]
    model = kt.load(content, repair=True)
    assert rule in {f.rule for f in model.report.repaired}


def test_memory_stays_small():
    """All of them in one process of its own: the peak is that of the largest."""
    script = (
        "import resource, kinetree as kt\n"
        "from tests.io.hostile import HOSTILE\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for content, rule in HOSTILE.values():\n"
        "    try: kt.load(content)\n"
        "    except kt.errors.ModelError: pass\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)\n"
    )
    pytest.importorskip("resource")
    root = Path(__file__).resolve().parents[2]
    path = os.pathsep.join([str(root), str(root / "src")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )
    assert float(done.stdout) < MEGABYTES


@pytest.mark.parametrize(
    "path",
    [
        "../secret.xml",
        "/etc/passwd",
        "sub/../../secret.xml",
        "link.xml",
        "file:///etc/passwd",
        "..\\secret.xml",
    ],
)
def test_includes_stay_in_the_directory(tmp_path, path):
    (tmp_path / "secret.xml").write_text("<mujoco><worldbody><body name='secret'/></worldbody></mujoco>")
    home = tmp_path / "robot"
    (home / "sub").mkdir(parents=True)
    (home / "link.xml").symlink_to(tmp_path / "secret.xml")
    main = home / "main.xml"
    main.write_text(f'<mujoco><include file="{path}"/><worldbody/></mujoco>')
    with pytest.raises(FileError) as caught:
        kt.load(main)
    assert caught.value.finding.rule == "include" and caught.value.finding.where.line == 1


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_includes_in_a_circle(tmp_path, names):
    for name, following in zip(names, [*names[1:], names[0]]):
        (tmp_path / f"{name}.xml").write_text(f'<mujoco><include file="{following}.xml"/></mujoco>')
    with pytest.raises(FileError) as caught:
        kt.load(tmp_path / "a.xml")
    assert caught.value.finding.rule == "include"


def test_a_model_that_attaches_itself(tmp_path):
    text = '<mujoco><asset><model name="m" file="a.xml"/></asset><worldbody><body name="b">'
    (tmp_path / "a.xml").write_text(
        text + '<attach model="m" body="b" prefix="p"/></body></worldbody></mujoco>'
    )
    with pytest.raises(FileError) as caught:
        kt.load(tmp_path / "a.xml")
    assert caught.value.finding.rule == "include"


@pytest.mark.parametrize("path", ["/dev/zero", "/", "/nonexistent/robot.urdf", "", "a\0b", "x" * 5000])
def test_paths_that_are_no_files(path):
    with pytest.raises(FileError) as caught:
        kt.load(path)
    assert caught.value.finding.rule == "file" and len(str(caught.value)) < 6000


@pytest.mark.parametrize("source", [None, 3, 1.5, ["a"], object()])
def test_sources_that_are_no_sources(source):
    with pytest.raises((TypeError, kt.errors.ModelError)):
        kt.load(source)


@pytest.mark.parametrize(
    "options", [{"format": "dae"}, {"base": "wheels"}, {"snap": -1.0}, {"snap": float("nan")}]
)
def test_options_that_are_none(options):
    with pytest.raises(FileError, match="Use "):
        kt.load(body("<joint/>"), **options)
