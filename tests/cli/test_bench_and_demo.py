"""`kinetree bench` and `kinetree demo`: every figure is there, every law holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.command import assert_one_line_error, kinetree, without
from tests.cli.robots import urdf
from tests.conftest import share

import kinetree as kt
from kinetree.cli.laws import laws


def test_bench_as_json():
    run = kinetree("bench", "zoo:double_pendulum", "--batch", "64", "--seconds", "0.01", "--json")
    assert run.returncode == 0 and run.stderr == "", run.stderr
    data = json.loads(run.stdout)
    assert [row["function"] for row in data["functions"]][:3] == [
        "inverse_dynamics",
        "forward_dynamics",
        "mass_matrix",
    ]
    for row in data["functions"]:
        assert row["flops"] >= 0 and row["state_one_core"] > 0 and row["call"] > 0
        for peer in filter(None, row["peers"].values()):
            assert peer["apart"] < 1e-9


def test_bench_for_a_person():
    run = kinetree("bench", "zoo:pendulum", "--batch", "16", "--seconds", "0.01", "--dtype", "float32")
    assert run.returncode == 0 and "inverse_dynamics" in run.stdout and "float32" in run.stdout


def test_what_a_peer_cannot_do_is_left_out(tmp_path):
    path = tmp_path / "mimic.urdf"
    path.write_text(urdf().replace("  </joint>\n</robot>", "<mimic joint='shoulder'/></joint></robot>"))
    run = kinetree("bench", path, "--batch", "8", "--seconds", "0.01", "--json")
    assert run.returncode == 0 and run.stderr == ""
    data = json.loads(run.stdout)
    assert "MuJoCo" not in data["peers"]  # to MuJoCo a mimic joint is a constraint
    for peers in [row["peers"] for row in data["functions"]]:
        assert peers.get("Pinocchio") is None or peers["Pinocchio"]["apart"] < 1e-12


def test_nothing_to_time(tmp_path):
    path = tmp_path / "still.urdf"
    path.write_text('<robot name="still"><link name="base"/></robot>')
    assert "nothing to time" in assert_one_line_error(kinetree("bench", path), 1)


def test_demo(tmp_path):
    run = kinetree("demo", "--seed", "3", "--output", "here", cwd=tmp_path)
    assert run.returncode == 0 and run.stderr == "", run.stdout + run.stderr
    for word in ("arm7", "christoffel_symbols", "Mass matrix", "every law holds", "100,000 states", "work J"):
        assert word in run.stdout
    assert "\033" not in run.stdout
    said = run.stdout.split("Saved files")[1].split("\n")
    named = {line.strip() for line in said if line.startswith("  here")}
    assert named == {str(path.relative_to(tmp_path)) for path in (tmp_path / "here").iterdir()}
    motion = kt.Trajectory.load(tmp_path / "here" / "motion.npz")
    assert motion.t[-1] == pytest.approx(10)
    assert np.abs(motion.energy_error).max() < 1e-4 * np.ptp(motion.kinetic_energy)
    tracked = kt.Trajectory.load(tmp_path / "here" / "tracking.npz")
    error = np.linalg.norm(tracked.extra["error"], axis=-1)
    assert error[0] > 0.5 and error[2000:].max() < 5e-3


@pytest.mark.parametrize("package", ["matplotlib"])
def test_demo_without_an_extra(package, tmp_path):
    run = without(package, "demo", "zoo:pendulum", "--output", "here", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "pip install 'kinetree[plots]'" in run.stdout
    saved = sorted(path.name for path in (tmp_path / "here").iterdir())
    assert saved == ["motion.csv", "motion.npz", "tracking.npz"]


@pytest.mark.parametrize("name", share(["cart_pole", "arm7", "spacecraft"], 3))
def test_the_laws_hold_for_other_robots(name):
    model = getattr(kt.zoo, name)()
    rng = np.random.default_rng(0)
    q, v = model.random_state(rng)
    broken = [law for law in laws(model, q, v, rng.standard_normal(model.nv)) if not law.holds]
    assert not broken


def test_a_broken_law_is_noticed(monkeypatch):
    model = kt.zoo.double_pendulum()
    q, v = model.random_state(np.random.default_rng(0))
    true = kt.mass_matrix
    monkeypatch.setattr(kt, "mass_matrix", lambda m, q: true(m, q) * 1.001)
    assert any(not law.holds for law in laws(model, q, v, np.ones(model.nv)))
