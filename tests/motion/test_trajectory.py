"""Trajectories: parts, times in between, what follows from the states, and files."""

from __future__ import annotations

import functools
import os
import resource

import numpy as np
import pytest
from tests.motion.robots import floating_tree, state

import kinetree as kt
from kinetree.errors import ArgumentError, FileError, SimulationError


@kt.function("t, q, v, level(2) -> tau, level(2)")
def drifting(model, t, q, v, level):
    return -0.2 * v, level + 1.0


@pytest.fixture(scope="module")
def runs():
    model = floating_tree()
    q, v = state(model, 1, (2, 3))
    rng = np.random.default_rng(2)
    return kt.simulate(
        model, q, v, duration=0.2, dt=2e-3, record=5, integrator="rk4",
        control=functools.partial(drifting, level=rng.normal(size=2)),
        f_ext=rng.normal(size=(2, 3, 100, model.nbodies, 6)),
        parameters=model.parameters * rng.uniform(0.9, 1.1, (3, 1, 1)),
        events=[lambda t, q, v: v[0] - 0.1],
    )  # fmt: skip


def same(a, b):
    assert a.model == b.model
    assert a.settings == b.settings
    for name in ("t", "q", "v", "tau", "f_ext", "parameters", "gravity"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None), name
        assert x is None or np.array_equal(x, y, equal_nan=True), name
    assert a.extra.keys() == b.extra.keys()
    assert all(np.array_equal(a.extra[k], b.extra[k], equal_nan=True) for k in a.extra)
    for x, y in zip((*a.failed, *a.events), (*b.failed, *b.events), strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(x, y, strict=True))


def test_parts(runs):
    assert runs.batch == (2, 3)
    assert runs.shape == (2, 3, 21)
    one = runs[1, 2]
    assert np.array_equal(one.q, runs.q[1, 2])
    assert one.parameters.shape == runs.model.parameters.shape
    assert np.abs(one.energy - runs.energy[1, 2]).max() < 1e-12
    assert {e.time for e in one.events} == {e.time for e in runs.events if e.state == (1, 2)}
    assert all(e.state == () for e in one.events)
    later = runs[..., 5:9]
    assert np.array_equal(later.t, runs.t[5:9])
    assert np.array_equal(later.extra["level"], runs.extra["level"][:, :, 5:9])
    assert np.array_equal(runs[:, 1:, ::2].f_ext, runs.f_ext[:, 1:, ::2])
    assert np.array_equal(one[3:5].v, runs.v[1, 2, 3:5])
    for wrong in (np.s_[0, 0, 3], np.s_[0, 0, :, 1]):
        with pytest.raises(ArgumentError, match=r"shape \(2, 3, 21\).*use run.q, run.v or run.at"):
            runs[wrong]


def test_between_records(runs):
    q, _ = runs.at(runs.t[3])
    assert np.abs(q - runs.q[..., 3, :]).max() < 1e-15
    fine = kt.simulate(runs.model, *state(runs.model, 4), duration=0.1, dt=1e-3, integrator="rk4")
    errors = []
    for stride in (10, 20):
        coarse = fine[::stride]
        q, _ = coarse.at(fine.t)
        errors.append(np.abs(fine.model.difference(fine.q, q)).max())
        assert np.abs(np.linalg.norm(q[..., :4], axis=-1) - 1).max() < 1e-14
    assert errors[0] < errors[1] / 10 < 1e-5  # fourth order
    assert runs.at([0.01, 0.02])[1].shape == (2, 3, 2, runs.model.nv)
    with pytest.raises(ArgumentError, match=r"times must be numbers from 0 to 0\.2 s"):
        runs.at(0.3)


@pytest.mark.parametrize("model", [floating_tree(), kt.zoo.four_bar()], ids=lambda model: model.name)
def test_records_beside_the_end_of_a_state(model):
    run = kt.simulate(model, *state(model, 1, (3,)), duration=0.05, dt=1e-2, integrator="rk4", limits=False)
    for array in (run.q, run.v):
        array[0, 3:] = array[2, 1:] = np.nan
    for k, t in enumerate(run.t):
        for found in (run.at(t), [x[:, 0] for x in run.at([t])]):
            assert np.array_equal(found[0], run.q[:, k], equal_nan=True)
            assert np.array_equal(found[1], run.v[:, k], equal_nan=True)
    q, v = run.at(run.t)
    assert np.array_equal(q, run.q, equal_nan=True)
    assert np.array_equal(v, run.v, equal_nan=True)
    between = run.at(0.021)[0]
    assert np.isnan(between[[0, 2]]).any(-1).all()
    assert np.isfinite(between[1]).all()


@pytest.mark.parametrize("time", ["a", None, [["a"]], 1j, np.nan, [[0.1]]])
def test_times_that_are_none(runs, time):
    with pytest.raises(ArgumentError, match=r"times must be numbers from 0 to 0\.2 s"):
        runs.at(time)


def test_energy_audit():
    """SIM-4: the energy changes by the work of all forces; the error falls with the step."""
    model = floating_tree().replace(damping={"leg": 0.2}, stiffness={"rod": 3.0})
    q, v = state(model, 5)
    wrench = np.random.default_rng(6).normal(size=(model.nbodies, 6))
    errors = []
    for h in (2e-3, 1e-3):
        run = kt.simulate(
            model, q, v, duration=0.2, dt=h, integrator="rk4", f_ext=wrench, control=lambda t, q, v: -0.3 * v,
            kp=np.r_[np.zeros(9), 2.0, 3.0], kd=np.full(model.nv, 0.1),
        )  # fmt: skip
        errors.append(np.abs(run.energy_error[-1]))
        rate = np.sum(run.v[5] * run.acceleration[5])
        assert np.isfinite(rate)
    assert np.ptp(run.energy) > 0.05
    assert errors[1] < 0.6 * errors[0] < 1e-2


def test_power_is_the_rate_of_the_energy():
    """SIM-4: power by the forces, and by differences of the energy."""
    model = floating_tree().replace(damping={"leg": 0.2}, friction={"rod": 0.1}, stiffness={"rod": 3.0})
    q, v = state(model, 5)
    wrench = np.random.default_rng(6).normal(size=(model.nbodies, 6))
    options = {"f_ext": wrench, "control": np.ones(model.nv)}
    run = kt.simulate(model, q, v, duration=0.1, dt=1e-3, integrator="rk4", **options)
    rate = np.gradient(run.energy, run.t, edge_order=2)
    assert np.abs(rate - run.power).max() < 1e-3 * np.abs(run.power).max()


def test_joint_wrenches(runs):
    k = (1, 2, 4)
    a = kt.forward_dynamics(
        runs.model, runs.q[k], runs.v[k], runs.tau[k], runs.f_ext[k], parameters=runs.parameters[2]
    )
    found = kt.joint_wrenches(
        runs.model, runs.q[k], runs.v[k], a, runs.f_ext[k], parameters=runs.parameters[2]
    )
    assert np.abs(runs.joint_wrenches[k] - found).max() < 1e-11


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_files(runs, tmp_path, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    arm = kt.zoo.arm7()
    failing = kt.simulate(
        arm, *state(arm, 3, (2,), 1e6), duration=0.01, dt=1e-3, integrator="rk4", limits=False
    )
    assert failing.failed
    for run in (runs, runs[0, 1], failing):
        path = run.save(tmp_path / f"run.{suffix}")
        same(kt.Trajectory.load(path), run)
    assert os.listdir(tmp_path) == [f"run.{suffix}"]


def test_settings_are_plain(tmp_path):
    robot = kt.zoo.solid(kt.Sphere(0.1))
    q, v = robot.neutral(), np.zeros(robot.nv)
    plain = {"record": 2, "passive": True, "limits": False, "t0": 1.5, "ground": True, "newton_limit": 4}
    numpy = {
        "record": np.int64(2), "passive": np.bool_(True), "limits": np.bool_(False), "t0": np.float32(1.5),
        "ground": np.bool_(True), "newton_limit": np.int32(4), "reset_momentum": np.bool_(False),
    }  # fmt: skip
    expected = kt.simulate(robot, q, v, duration=0.02, dt=1e-3, **plain)
    assert expected.ground
    run = kt.simulate(robot, q, v, duration=np.float32(0.02), dt=np.float64(1e-3), **numpy)
    same(run, expected)
    assert all(type(x) is type(expected.settings[name]) for name, x in run.settings.items())
    for suffix in ("npz", "csv"):
        same(kt.Trajectory.load(run.save(tmp_path / f"run.{suffix}")), expected)


@pytest.mark.parametrize("integrator", ["rk4", "dopri5"])
def test_events_of_float32_runs_are_saved(tmp_path, integrator):
    @kt.function("q -> g")
    def down(model, q):
        return q[0]

    q = np.ones(1, np.float32)
    options = {"duration": 1.0, "dt": np.float32(0.03125), "t0": np.float32(0.5), "integrator": integrator}
    run = kt.simulate(kt.zoo.pendulum(), q, 0 * q, **options, events=[down, lambda t, q, v: q[0]])
    assert len(run.events) == 2
    same(kt.Trajectory.load(run.save(tmp_path / "run.npz")), run)


def test_tables(runs):
    pandas = pytest.importorskip("pandas")
    table = runs.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert len(table) == runs.q[..., 0].size
    assert np.array_equal(table["v:leg"], runs.v[..., 9].ravel())


def test_labelled_arrays(runs):
    pytest.importorskip("xarray")
    data = runs.to_xarray()
    assert np.array_equal(data["v"].sel(velocity="leg"), runs.v[..., 9])


def test_missing_packages_are_named(runs, monkeypatch):
    from kinetree.motion import files

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(files.importlib, "import_module", missing)
    with pytest.raises(SimulationError, match="pip install pandas"):
        runs.to_pandas()


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_a_full_disk(runs, tmp_path, suffix):
    path = runs.save(tmp_path / f"run.{suffix}")
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(SimulationError, match=r"could not be written.*still in memory") as caught:
            runs.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.trajectory is runs
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_places_that_cannot_be_written(runs, tmp_path):
    with pytest.raises(SimulationError, match="could not be written"):
        runs.save(tmp_path / "no" / "such" / "run.npz")
    with pytest.raises(ArgumentError, match=r"ends in \.npz, \.csv or \.parquet"):
        runs.save(tmp_path / "run.mat")


def test_files_that_are_not_trajectories(runs, tmp_path):
    good = runs.save(tmp_path / "good.npz").read_bytes()
    cases = {
        "empty.npz": b"",
        "text.npz": b"hello",
        "cut.npz": good[: len(good) // 2],
        "text.csv": b"1,2,3\n4,5,6\n",
        "no.csv": b"# {}\nt\n1\n",
        "wrong.csv": b'# {"format": "kinetree trajectory 1"}\nt\n1\n',
    }
    for k in range(200, 1200, 100):
        cases[f"spoilt{k}.npz"] = good[:k] + bytes(40) + good[k + 40 :]
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SimulationError, match="is not a trajectory of kinetree"):
            kt.Trajectory.load(tmp_path / name)
    np.savez(tmp_path / "object.npz", facts=np.array([{}], dtype=object))
    with pytest.raises(SimulationError, match="is not a trajectory"):
        kt.Trajectory.load(tmp_path / "object.npz")


@pytest.mark.parametrize("name", ["run.npz", "run.csv"])
def test_files_that_cannot_be_read(tmp_path, name):
    with pytest.raises(FileError, match=rf"load: .*{name}' cannot be read: No such file.*Check the path"):
        kt.Trajectory.load(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(FileError, match=rf"load: .*{name}' cannot be read: Is a directory"):
        kt.Trajectory.load(tmp_path / name)


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_tables_without_rows(runs, tmp_path, lines):
    path = runs.save(tmp_path / "run.csv")
    path.write_text("".join(path.read_text().splitlines(True)[:lines]))
    with pytest.raises(SimulationError, match="is not a trajectory of kinetree: it "):
        kt.Trajectory.load(path)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_files_keep_the_type_of_numbers(tmp_path, suffix, kind):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    model = kt.zoo.pendulum()
    q = np.ones((2, 1), kind)
    down = np.array([0.0, 0.0, -9.0], kind)
    run = kt.simulate(model, q, 0 * q, duration=0.1, dt=1e-2, control=np.ones(1, kind), gravity=down)
    again = kt.Trajectory.load(run.save(tmp_path / f"run.{suffix}"))
    same(again, run)
    assert again.q.dtype == again.v.dtype == kind
    for name in ("t", "tau", "gravity"):
        assert getattr(again, name).dtype == getattr(run, name).dtype


def test_repr(runs):
    assert repr(runs).startswith("Trajectory of 6 states of 'floating tree': 0 to 0.2 s, 21 records, rk4")
