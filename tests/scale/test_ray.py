"""Sweeps on a real local Ray have the bits of `local`, whatever goes wrong on the way."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

import kinetree as kt
from kinetree.scale.reductions import BLOCK

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Any:
    """One cluster for all tests; a call starts one of its own if there is none (the last test)."""
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False,
        object_store_memory=80 * 2**20,
    )  # fmt: skip
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def model() -> kt.Model:
    return kt.zoo.double_pendulum()


def sweep(
    model: kt.Model, engine: str, n: int = 6 * BLOCK, chunk: Any = BLOCK, seed: int = 1, **more: Any
) -> Any:
    over = {"q": kt.scale.uniform(-1, 1), "v": kt.scale.normal(0, 1)}
    tau = np.zeros(model.nv)
    return kt.scale.map(
        kt.forward_dynamics, model, over, n, tau=tau, seed=seed, chunk=chunk, engine=engine, **more
    )


def test_ray_has_the_bits_of_local(model):
    reduce = [kt.scale.mean("a"), kt.scale.quantiles("a")]
    ours = sweep(model, "local", reduce=reduce).collect(keep=True)
    theirs = sweep(model, "ray", chunk=2 * BLOCK, reduce=reduce).collect(keep=True)
    assert theirs.rows["a"].tobytes() == ours.rows["a"].tobytes()
    for name in ours.reduced:
        for x, y in zip(ours.reduced[name], theirs.reduced[name], strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(50))
def test_random_sweeps_are_equal(model, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8 * BLOCK))
    sizes = rng.integers(1, 5, 2) * BLOCK
    ours, theirs = (
        sweep(model, e, n, int(c), seed).collect() for e, c in zip(("local", "ray"), sizes, strict=True)
    )
    assert theirs.rows["a"].tobytes() == ours.rows["a"].tobytes()


def test_a_worker_that_dies_is_replaced(model, tmp_path):
    mark = tmp_path / "died"

    def mortal(model: kt.Model, x: Any) -> Any:
        if x[0] > 0 and not mark.exists():  # one chunk, once
            mark.write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        return {"y": 2 * x}

    over = {"x": np.arange(-2.0 * BLOCK, 3.0 * BLOCK)}
    found = kt.scale.map(mortal, model, over, chunk=BLOCK, engine="ray").collect()
    assert mark.exists()
    assert (found.rows["y"] == 2 * over["x"]).all()


def test_results_larger_than_the_object_store(model):
    def large(model: kt.Model, x: Any) -> Any:
        return {"y": np.repeat(x[:, None], 2000, axis=1)}  # 16 MB a chunk, 160 MB in all

    over = {"x": np.arange(10.0 * BLOCK)}
    total = 0.0
    for part in kt.scale.map(large, model, over, chunk=BLOCK, engine="ray"):
        total += part.rows["y"].sum()
    assert total == 2000 * over["x"].sum()


def test_a_cancelled_run_resumes_to_the_same_answer(model, tmp_path):
    reduce = kt.scale.mean("a")
    whole = sweep(model, "local", reduce=reduce).collect().reduced["mean_a"]
    started = sweep(model, "ray")
    parts = started._parts(tmp_path)
    kt.scale.store.write_spec(tmp_path, started.work, started.n, started.chunk)
    next(parts)
    parts.close()  # Ctrl-C
    assert 1 <= len(list(tmp_path.glob("part-*"))) < 6
    found = kt.scale.resume(tmp_path, reduce=reduce, engine="ray").save(tmp_path).reduced["mean_a"]
    assert found.mean.tobytes() == whole.mean.tobytes()


def test_failures_are_rows_on_a_cluster_too():
    craft = kt.zoo.spacecraft()
    q = np.tile(craft.neutral(), (2000, 1))
    q[1500, :4] = 2.0
    found = kt.scale.map(
        kt.forward_dynamics,
        craft,
        {"q": q},
        v=np.zeros(craft.nv),
        tau=np.zeros(craft.nv),
        engine="ray",
        chunk=BLOCK,
    ).collect()
    assert set(found.reasons) == {1500}


def test_a_call_starts_and_ends_its_own_cluster(model):
    ray.shutdown()
    assert sweep(model, "ray", n=100).collect().rows["a"].shape == (100, 2)
    assert not ray.is_initialized()
