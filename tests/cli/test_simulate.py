"""`kinetree simulate` and `kinetree view`: the motion, the audit, and what is saved."""

from __future__ import annotations

import functools
import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.command import assert_one_line_error, kinetree, without

import kinetree as kt

ARM = str(kt.robots.path("arm7.urdf"))


def test_simulate_saves_what_it_says(tmp_path):
    pytest.importorskip("matplotlib")
    words = ["simulate", "zoo:double_pendulum", "--q", "shoulder=1,elbow=0.5", "--v", "elbow=-1"]
    words += ["--duration", "0.5", "--integrator", "rk4", "--output", "swing.npz", "--plot", "swing.png"]
    run = kinetree(*words, "--json", cwd=tmp_path)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    report = json.loads(run.stdout)
    assert report["steps"] == 500 and abs(report["unexplained"]) < 1e-8 and report["work"] == pytest.approx(0)
    swing = kt.Trajectory.load(tmp_path / report["saved"]["data"])
    robot = kt.zoo.double_pendulum()
    assert np.array_equal(swing.q[0], [1.0, 0.5]) and np.array_equal(swing.v[0], [0.0, -1.0])
    again = kt.simulate(robot, swing.q[0], swing.v[0], duration=0.5, dt=1e-3, integrator="rk4")
    assert np.array_equal(again.q, swing.q)
    assert (tmp_path / "swing.png").read_bytes()[:4] == b"\x89PNG"


def test_simulate_for_a_person_fits_80_columns(tmp_path):
    run = kinetree("simulate", ARM, "--duration", "0.1", "--random", "3", "--output", "arm.csv", cwd=tmp_path)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    assert "Energy audit" in run.stdout and "data saved to arm.csv" in run.stdout
    assert max(map(len, run.stdout.split("\n"))) <= 80
    assert (tmp_path / "arm.csv").is_file()


@pytest.mark.parametrize("words", [[], ["--random", "3"]])
def test_a_robot_starts_on_the_ground_and_not_in_it(tmp_path, words):
    run = kinetree("simulate", "zoo:quadruped", *words, "--duration", "0.1", cwd=tmp_path)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    assert "note: raised onto the ground, by 0." in run.stdout and "friction and contact" in run.stdout
    found = kt.Trajectory.load(tmp_path / "quadruped.npz")
    dog = found.model
    feet = [kt.frame_placement(dog, found.q[0], name)[2, 3] for name in dog.frame_names if "foot" in name]
    assert len(feet) == 4 and abs(min(feet)) < 1e-12
    start = dog.neutral() if not words else dog.random_state(3)[0]
    assert np.allclose(np.delete(found.q[0], 6), np.delete(start, 6)) and found.q[0, 6] > start[6]


def test_without_matplotlib_the_data_are_saved(tmp_path):
    words = ["simulate", "zoo:pendulum", "--duration", "0.01"]

    def run(*more):
        return without("matplotlib", *words, *more, cwd=tmp_path)

    found = run()
    assert found.returncode == 0 and "pip install 'kinetree[plots]'" in found.stdout, found
    assert (tmp_path / "pendulum.npz").is_file() and not (tmp_path / "pendulum.png").exists()
    assert run("--plot", "x.png").returncode == 1  # what was asked for cannot be had


BAD_USE = {
    "an unknown joint": (["--q", "knee=1"], 1, "knee"),
    "no number": (["--q", "shoulder=much"], 2, "JOINT=NUMBER"),
    "no time": (["--duration", "0"], 2, "--duration"),
    "a wrong ending": (["--output", "x.txt"], 2, ".npz"),
    "a folder that is not there": (["--output", "nowhere/x.npz"], 2, "no folder"),
    "steps that do not fit": (["--duration", "1", "--dt", "0.3"], 2, "whole number"),
}


@pytest.mark.parametrize("words, status, expected", BAD_USE.values(), ids=BAD_USE)
def test_bad_use(words, status, expected, tmp_path):
    run = kinetree("simulate", "zoo:double_pendulum", *words, cwd=tmp_path)
    assert expected in assert_one_line_error(run, status)
    assert not list(tmp_path.iterdir())


def test_view_says_where_the_page_is():
    pytest.importorskip("viser")
    command = [sys.executable, "-m", "kinetree", "view", ARM, "--no-browser", "--port", "18080"]
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # background jobs ignore Ctrl-C
    page = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard
    )
    try:
        assert page.stdout is not None
        assert page.stdout.readline().startswith("arm7 is at http://127.0.0.1:")
        page.send_signal(signal.SIGINT)
        assert page.wait(20) == 0
    finally:
        page.kill()


def test_a_film_needs_a_motion(tmp_path):
    run = kinetree("view", "zoo:arm7", "--film", "arm.webp", cwd=tmp_path)
    assert "--film needs a motion" in assert_one_line_error(run, 2)
    assert not list(tmp_path.iterdir())


def test_view_without_viser():
    run = without("viser", "view", "zoo:arm7")
    assert run.returncode == 1 and "pip install 'kinetree[view]'" in run.stderr


@pytest.mark.parametrize(
    "words, expected",
    [
        (["nowhere.urdf"], "there is no file 'nowhere.urdf'"),
        (["nowhere.npz"], "there is no file 'nowhere.npz'"),
        (["zoo:arm7", "--shapes", "nowhere.urdf"], "there is no file 'nowhere.urdf'"),
        (["zoo:arm8"], "Did you mean 'arm7'?"),
    ],
)
def test_view_looks_for_the_file_first(words, expected):
    run = without("viser", "view", *words)
    assert expected in assert_one_line_error(run, 2)
