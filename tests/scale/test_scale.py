"""Sweeps: the same answer whatever the chunks, the engine and what went wrong on the way."""

from __future__ import annotations

import json
import statistics
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.scale import distributions, philox, reductions
from kinetree.scale.reductions import BLOCK


@pytest.fixture(scope="module")
def arm() -> kt.Model:
    return kt.zoo.double_pendulum()


OVER: dict[str, Any] = {"q": kt.scale.uniform(-1, 1), "v": kt.scale.normal(0.5, 2.0)}


def swept(arm: kt.Model, n: int = 3000, **more: Any) -> Any:
    return kt.scale.map(kt.forward_dynamics, arm, OVER, n, tau=np.zeros(arm.nv), seed=5, **more)


def test_words_are_those_of_philox():
    key = philox.key_of(3, "q")
    for run in (0, 1, 5, 2**40 + 3):
        before = [2**64 - 1, run - 1, 0, 0] if run else [2**64 - 1] * 4
        theirs = np.random.Philox(key=key, counter=np.array(before, np.uint64)).random_raw(11)
        assert (philox.words(key, np.array([run]), 11)[0] == theirs).all()


def test_normal_quantiles_are_right():
    u = np.array([1e-300, 1e-20, 1e-5, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-10])
    truth = [statistics.NormalDist().inv_cdf(x) for x in u]
    assert np.allclose(distributions.normal_quantile(u), truth, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize(
    ("source", "shape", "mean", "deviation"),
    [
        (kt.scale.normal(2.0, 3.0), (2,), 2.0, 3.0),
        (kt.scale.uniform(-1.0, 5.0), (), 2.0, 6 / 12**0.5),
        (kt.scale.lognormal(2.0, 0.5), (), 2 * np.exp(0.125), 2 * np.exp(0.125) * np.expm1(0.25) ** 0.5),
        (kt.scale.on_sphere(2.0), (3,), 0.0, 2 / 3**0.5),
        (kt.scale.choice([1.0, 2.0, 6.0], [0.5, 0.25, 0.25]), (), 2.5, 4.25**0.5**1),
    ],
)
def test_distributions_have_their_moments(source, shape, mean, deviation):
    x = source.values(np.arange(40_000), shape, philox.key_of(1, "x"))
    assert x.shape == (40_000, *shape)
    error = 6 * deviation / 200
    assert np.allclose(x.mean(0), mean, atol=error)
    assert np.allclose(x.std(0), deviation, rtol=0.1)
    apart = np.concatenate(
        [source.values(np.arange(a, b), shape, philox.key_of(1, "x")) for a, b in ((0, 7), (7, 99))]
    )
    assert (apart == x[:99]).all()
    assert (
        distributions.from_dict(json.loads(json.dumps(source.to_dict())))
        .values(np.arange(9), shape, philox.key_of(1, "x"))
        .tobytes()
        == x[:9].tobytes()
    )


def test_sobol_fills_the_square_evenly():
    pytest.importorskip("scipy")
    key = philox.key_of(0, "x")
    x = kt.scale.sobol().values(np.arange(1024), (2,), key)
    cells = np.histogram2d(*x.T, bins=8, range=[[0, 1], [0, 1]])[0]
    assert (cells == 16).all()
    assert (kt.scale.sobol().values(np.arange(100, 200), (2,), key) == x[100:200]).all()


REDUCE = {
    "mean": kt.scale.mean("a"), "covariance": kt.scale.covariance("a"),
    "best": kt.scale.best(lambda rows: rows["a"][:, 0], 5),
    "quantiles": kt.scale.quantiles("a", (0.1, 0.5)), "histogram": kt.scale.histogram("a", 7, -40, 40),
}  # fmt: skip


def same(one: Any, other: Any) -> bool:
    return all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for name in one
        for x, y in zip(one[name], other[name], strict=True)
    )


def test_results_do_not_depend_on_chunks(arm):
    results = [
        swept(arm, chunk=chunk, reduce=REDUCE).collect(keep=True)
        for chunk in ("auto", BLOCK, 2 * BLOCK, 9999)
    ]
    for other in results[1:]:
        assert other.rows["a"].tobytes() == results[0].rows["a"].tobytes()
        assert same(results[0].reduced, other.reduced)
    assert len(results[0].processors) == 1


def test_reductions_are_what_numpy_gives(arm):
    found = swept(arm, reduce=REDUCE).collect(keep=True)
    a, kept = found.rows["a"], found.reduced
    assert np.allclose(kept["mean"].mean, a.mean(0), rtol=1e-12)
    assert np.allclose(kept["mean"].variance, a.var(0, ddof=1), rtol=1e-12)
    assert np.allclose(kept["covariance"].variance, np.cov(a.T), rtol=1e-12)
    assert kept["quantiles"].error == 0
    assert np.allclose(kept["quantiles"].values, np.quantile(a, (0.1, 0.5), axis=0), rtol=0.01, atol=0.05)
    truth = np.stack([np.histogram(column, 7, (-40, 40))[0] for column in a.T], -1)
    assert (kept["histogram"].counts == truth).all()
    assert (kept["histogram"].counts.sum(0) + kept["histogram"].outside == len(a)).all()
    assert (kept["best"].runs == np.argsort(a[:, 0], kind="stable")[:5]).all()


def test_quantiles_of_many_values_keep_their_promise(rng):
    few = reductions.Quantile("x", np.linspace(0.01, 0.99, 25), kept=4096)
    x = rng.standard_normal(200_000)
    state = few.start()
    for k in range(0, len(x), BLOCK):
        state = few.fold(state, x[k : k + BLOCK], np.arange(k, k + BLOCK))
    found = few.finish(state)
    ranks = np.searchsorted(np.sort(x), found.values) / len(x)
    assert 0 < found.error < 0.05
    assert abs(ranks - found.shares).max() <= found.error + 1 / len(x)


def test_runs_that_fail_are_rows_with_a_reason():
    model = kt.zoo.spacecraft()
    q = np.tile(model.neutral(), (3000, 1))
    q[[7, 2222], :4] = 3.0  # no rotation
    v = np.zeros((3000, model.nv))
    found = kt.scale.map(
        kt.forward_dynamics, model, {"q": q, "v": v}, tau=np.zeros(model.nv), reduce=kt.scale.mean("a")
    )
    results = found.collect(keep=True)
    assert set(results.reasons) == {7, 2222}
    assert "quaternion" in results.reasons[7] and "state 0" not in results.reasons[7]
    assert np.isnan(results.rows["a"][[7, 2222]]).all()
    assert np.isfinite(np.delete(results.rows["a"], [7, 2222], 0)).all()
    assert results.reduced["mean_a"].runs == 2998


def test_simulations_and_what_varies_in_a_body(arm):
    body = arm.body_names[-1]
    over = {
        "q0": kt.scale.uniform(-1, 1),
        "v0": kt.scale.normal(0, 1),
        f"mass/{body}": kt.scale.uniform(0.5, 2),
    }
    sweep = kt.scale.map(kt.simulate, arm, over, 50, duration=0.05, dt=1e-3, integrator="rk4", seed=2)
    found = sweep.collect()
    inputs = sweep.work.drawn(3, 4)
    mass = inputs["parameters"][0, -1, 0]
    own = arm.bodies[-1].inertia
    scaled = kt.Inertia.from_parameters(np.array(own.parameters) * mass / own.mass)
    heavier = arm.replace(inertia={body: scaled})
    run = kt.simulate(heavier, inputs["q0"][0], inputs["v0"][0], duration=0.05, dt=1e-3, integrator="rk4")
    assert np.allclose(found.rows["q"][3], run.q[-1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("failing", [[0, 1, 2], [1]])
def test_runs_that_fail_are_nan_whatever_their_chunk(arm, failing):
    v0 = np.zeros((3, 2))
    v0[failing] = 1e100
    options = {"q0": np.full(2, 0.5), "duration": 0.2, "dt": 1e-3, "integrator": "rk4"}
    found = kt.scale.map(kt.simulate, arm, {"v0": v0}, **options).collect()
    assert sorted(found.reasons) == failing
    assert np.array_equal(np.isnan(found.rows["v"]).all(-1), v0[:, 0] > 0)
    taken = kt.scale.map(
        kt.simulate, arm, {"v0": v0}, **options, control=lambda t, q, v: 0 * v, record=50,
        take=lambda run: {"q": run.q, "tau": run.tau, "t": np.tile(run.t, (len(run), 1))},
    ).collect()  # fmt: skip
    assert taken.rows["q"].shape == taken.rows["tau"].shape == (3, 5, 2)
    assert np.array_equal(np.isnan(taken.rows["q"][:, -1]).all(-1), v0[:, 0] > 0)
    assert np.allclose(taken.rows["t"], [0.0, 0.05, 0.1, 0.15, 0.2])


def test_friction_and_damping_vary_in_simulations(arm):
    joint = arm.joint_names[0]
    over = {"q0": np.full((4, 2), 0.5), f"damping/{joint}": np.array([[0.0], [0.5], [1.0], [2.0]])}
    found = kt.scale.map(
        kt.simulate, arm, over, v0=np.zeros(2), duration=0.2, dt=1e-3, integrator="rk4"
    ).collect()
    for k, d in enumerate((0.0, 0.5, 1.0, 2.0)):
        model = arm.replace(damping={joint: d})
        run = kt.simulate(model, [0.5, 0.5], [0.0, 0.0], duration=0.2, dt=1e-3, integrator="rk4")
        assert np.allclose(found.rows["q"][k], run.q[-1], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("fixed", [True, False])
def test_setpoints_vary_in_simulations_of_any_length(arm, fixed):
    goals = np.random.default_rng(5).normal(size=(4, 2))
    more = {"kp": [50.0, 50.0], "kd": [5.0, 5.0], "dt": 2e-3, "v0": np.zeros(2)}
    over = {"setpoint": goals} if fixed else {"setpoint": goals, "q0": np.full((4, 2), 0.5)}
    start = {"q0": np.full(2, 0.5)} if fixed else {}
    for steps in (3, 4):
        found = kt.scale.map(kt.simulate, arm, over, duration=steps * 2e-3, **more, **start).collect()
        for k, goal in enumerate(goals):
            run = kt.simulate(arm, np.full(2, 0.5), setpoint=goal, duration=steps * 2e-3, **more)
            assert np.array_equal(found.rows["q"][k], run.q[-1])


def test_python_functions_and_what_is_taken(arm):
    def twice(model, x):
        return {"y": 2 * x}

    found = kt.scale.map(twice, arm, {"x": kt.scale.uniform(0, 1)}, 10).collect()
    assert ((found.rows["y"] > 0) & (found.rows["y"] < 2)).all()
    over = {"q0": kt.scale.uniform(-1, 1), "v0": kt.scale.normal(0, 1)}
    energy = kt.scale.map(
        kt.simulate,
        arm,
        over,
        10,
        duration=0.1,
        dt=1e-2,
        take=lambda run: {"lost": run.energy[:, 0] - run.energy[:, -1]},
    ).collect()
    assert energy.rows["lost"].shape == (10,)


def test_files_are_read_in_chunks(arm, tmp_path, rng):
    q = rng.normal(size=(2500, 2))
    np.save(tmp_path / "q.npy", q)
    sources = [kt.scale.file(str(tmp_path / "q.npy"))]
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": q[:, 0], "b": q[:, 1]}), tmp_path / "q.parquet", row_group_size=300)
        sources.append(kt.scale.file(str(tmp_path / "q.parquet"), ["a", "b"]))
    except ImportError:
        pass
    try:
        import zarr

        zarr.save_array(str(tmp_path / "q.zarr"), q)
        sources.append(kt.scale.file(str(tmp_path / "q.zarr")))
    except ImportError:
        pass
    for source in sources:
        found = kt.scale.map(kt.gravity_force, arm, {"q": source}, chunk=BLOCK).collect()
        assert found.rows["tau"].tobytes() == kt.gravity_force(arm, q).tobytes()


def test_a_saved_sweep_goes_on_where_it_stopped(arm, tmp_path):
    whole = swept(arm, chunk=BLOCK, reduce=REDUCE).collect(keep=True)
    first = swept(arm, chunk=BLOCK)
    made = []

    def counted(start: int, stop: int, work: Any = first.work) -> Any:
        made.append(start)
        if start == BLOCK:
            raise KeyboardInterrupt
        return type(work).__call__(work, start, stop)

    first.work.__class__ = type(
        "Counted", (type(first.work),), {"__call__": lambda self, a, b: counted(a, b)}
    )
    with pytest.raises((KeyboardInterrupt, RecursionError)):
        first.save(tmp_path / "runs")
    again = kt.scale.resume(tmp_path / "runs", reduce=REDUCE)
    assert same(again.save(tmp_path / "runs").reduced, whole.reduced)
    parts = sorted((tmp_path / "runs").glob("part-*.npz"))
    assert len(parts) == 3
    stamps = [part.stat().st_mtime_ns for part in parts]
    parts[1].write_bytes(b"damaged")
    assert same(
        kt.scale.resume(tmp_path / "runs", reduce=REDUCE).save(tmp_path / "runs").reduced, whole.reduced
    )
    assert [parts[k].stat().st_mtime_ns for k in (0, 2)] == [stamps[0], stamps[2]]  # nothing is made twice
    with pytest.raises(kt.errors.FileError, match="another sweep"):
        swept(arm, n=2000, chunk=BLOCK).save(tmp_path / "runs")


def test_a_hostile_directory_reads_nothing_else(arm, tmp_path):
    sweep = kt.scale.map(kt.gravity_force, arm, {"q": np.zeros((4, 2))})
    sweep.save(tmp_path / "runs")
    spec = json.loads((tmp_path / "runs" / "sweep.json").read_text())
    spec["over"]["q"]["file"] = "../secret.npy"
    (tmp_path / "runs" / "sweep.json").write_text(json.dumps(spec))
    with pytest.raises(kt.errors.FileError, match="not in that folder"):
        kt.scale.resume(tmp_path / "runs")
    (tmp_path / "runs" / "sweep.json").write_text("{")
    with pytest.raises(kt.errors.FileError, match="cannot be read"):
        kt.scale.resume(tmp_path / "runs")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"over": {}}, "what varies"),
        ({"over": {"q": kt.scale.uniform()}}, "give v"),
        ({"over": {**OVER, "w": kt.scale.uniform()}}, "no 'w'"),
        ({"n": None}, "how many runs"),
        ({"n": 0}, "above 0"),
        ({"engine": "spark"}, "unknown engine"),
        ({"chunk": -1}, "chunk"),
        ({"reduce": "mean"}, "give reductions"),
        ({"reduce": kt.scale.mean("b")}, "no 'b'"),
        ({"over": {**OVER, "mass/nobody": kt.scale.uniform()}}, "nobody"),
        ({"over": {**OVER, "color/upper": kt.scale.uniform()}}, "mass, center, inertia"),
    ],
)
def test_mistakes_are_named(arm, change, words):
    given = {"over": OVER, "n": 10, "tau": np.zeros(2)} | change
    with pytest.raises(kt.errors.KinetreeError, match=words):
        kt.scale.map(kt.forward_dynamics, arm, **given).collect()


def test_without_ray_a_message_says_what_to_install(arm, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(kt.errors.MissingPackageError, match=r"kinetree\[scale\]"):
        swept(arm, engine="ray").collect()


def test_the_command(tmp_path, capsys):
    from kinetree.cli import main

    assert main(["sweep", "zoo:double_pendulum", "--example"]) == 0
    text = capsys.readouterr().out.replace("10000", "50")
    (tmp_path / "sweep.toml").write_text(text)
    assert main(["sweep", "zoo:double_pendulum", "--spec", str(tmp_path / "sweep.toml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == 50
    assert found["failed"] == 0
    assert len(found["reduced"]["where"]["values"]) == 3


def test_rows_go_to_parquet(arm, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = swept(arm, n=100).collect()
    table = parquet.read_table(found.to_parquet(tmp_path / "runs.parquet"))
    assert (np.asarray(table["a_1"]) == found.rows["a"][:, 1]).all()
    assert table["failed"].null_count == 100


@kt.function("a -> effort()")
def effort(model, a):
    return a @ a


def test_functions_of_a_model_reduce(arm):
    found = swept(arm, reduce=kt.scale.mean(effort)).collect(keep=True)
    assert np.isclose(found.reduced["mean_effort"].mean, (found.rows["a"] ** 2).sum(1).mean(), rtol=1e-12)


@pytest.mark.parametrize("keep", [True, False])
def test_every_run_is_made_once(arm, keep):
    made = []

    def counted(model, x):
        made.append(len(x))
        return {"y": x}

    kt.scale.map(counted, arm, {"x": np.zeros(3000)}, chunk=BLOCK, reduce=kt.scale.mean("y")).collect(keep)
    assert sum(made) == 3000
