"""Functions of a model in JAX: values, derivatives of any order, batches, refusals."""

from __future__ import annotations

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from tests.bridges.samples import floating, inputs, options, reaching

import kinetree as kt
from kinetree.compiler.runtime import cuda
from kinetree.names import FUNCTIONS
from kinetree.stages.compile import job_for

jax = pytest.importorskip("jax")
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads
jax.config.update("jax_enable_x64", True)
jax_handlers = pytest.importorskip("kinetree.bridges.jax_handlers")
no_gpu = pytest.mark.skipif(cuda.is_available(), reason="a GPU runs our kernel")



@pytest.fixture(autouse=True)
def on_the_cpu():
    """Also where JAX prefers a GPU: `test_devices.py` is for those."""
    with jax.default_device(jax.devices("cpu")[0]):
        yield


ALGORITHMS = [name for group in FUNCTIONS.values() for name in group.split()]
ROBOTS = {"floating": floating, "cart_pole": kt.zoo.cart_pole}


def error(found, truth):
    found, truth = np.asarray(found), np.asarray(truth)
    assert found.shape == truth.shape
    return np.max(np.abs(found - truth), initial=0.0) / max(1.0, np.max(np.abs(truth), initial=0.0))


def parts(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_operations_of_xla_compute_every_algorithm(name, rng):
    model, function = floating(), getattr(kt, name)
    fixed = options(function, model)
    given = inputs(function, model, rng, 3)
    truth = function(model, **given, **fixed)
    with jax.disable_jit():  # operation by operation, without waiting for XLA's compiler
        found = kt.jax.wrap(function, model, target="eager", **fixed)(**given)
    assert type(found) is type(truth) or not isinstance(truth, tuple)
    for f, t in zip(parts(found), parts(truth), strict=True):
        assert error(f, t) < 1e-12


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics", "kinetic_energy"])
@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_compiled(name, target, rng):
    model, function = kt.zoo.double_pendulum(), getattr(kt, name)
    given = inputs(function, model, rng, 4)
    truth = parts(function(model, **given))
    f = kt.jax.wrap(function, model, target=target)
    for found in (f(*given.values()), jax.jit(f)(**given), jax.jit(jax.vmap(f))(*given.values())):
        assert len(parts(found)) == len(truth)
        for x, t in zip(parts(found), truth, strict=True):
            assert error(x, t) < (1e-13 if target == "eager" else 1e-300)  # machine code: the same bits


def test_xla_calls_machine_code(rng):
    model = kt.zoo.double_pendulum()
    text = jax.jit(kt.jax.wrap(kt.mass_matrix, model)).lower(np.zeros(2)).as_text()
    assert "kinetree_mass_matrix_one_" in text and "callback" not in text
    batch = jax.jit(jax.vmap(kt.jax.wrap(kt.mass_matrix, model))).lower(np.zeros((5, 2))).as_text()
    assert batch.count("custom_call") == 1 and "kinetree_mass_matrix_run_" in batch
    pure = jax.jit(kt.jax.wrap(kt.mass_matrix, model, target="eager")).lower(np.zeros(2)).as_text()
    assert "custom_call" not in pure


@pytest.mark.parametrize("platform", ["tpu", "rocm", pytest.param("cuda", marks=no_gpu)])
def test_other_devices_run_operations_of_xla(platform):
    """Lowered for a device that need not be there: no call of machine code for the CPU."""
    f = kt.jax.wrap(kt.mass_matrix, kt.zoo.double_pendulum())
    program = jax.jit(f).trace(np.zeros(2)).lower(lowering_platforms=(platform,)).as_text()
    assert "custom_call" not in program and "cosine" in program


@pytest.mark.parametrize("tile, most, blocks", [(128, 2, 2), (128, 8, 3), (64, 8, 5)])
def test_a_gpu_runs_our_kernel(tile, most, blocks, monkeypatch):
    """Lowered for a GPU: one call of the kernel, with room for its notes and work arrays."""
    name = "kinetree_of_a_device"
    kernel = jax_handlers.DeviceKernel(name, SimpleNamespace(dtype="float64"), None, 5, most, 128, tile)
    monkeypatch.setattr("kinetree.bridges.jax_primitive.device_kernel", lambda job: kernel)
    f = jax.jit(jax.vmap(kt.jax.wrap(kt.mass_matrix, kt.zoo.double_pendulum())))
    program = f.trace(np.zeros((300, 2))).lower(lowering_platforms=("cuda",)).as_text()
    assert program.count("custom_call") == 1 and name in program
    kinds = f"tensor<300x2x2xf64>, tensor<4xui32>, tensor<{5 * 128 * blocks}xf64>"
    assert f"(tensor<300x2xf64>) -> ({kinds})" in program


def test_work_arrays_are_large_enough_on_each_gpu(monkeypatch):
    """The program does not say on which of the GPUs it will run."""
    blocks = [16, 4, 32]

    class Kernel:
        name, source, tables, dtype = "anywhere", "", b"", "float64"

        def __init__(self, job, silent):
            assert silent

        def placed(self, device):
            return SimpleNamespace(work_numbers=5, blocks=blocks[device], threads=128, tile=64)

    monkeypatch.setattr(jax_handlers, "_numbers", lambda: range(len(blocks)))
    monkeypatch.setattr(jax_handlers.cuda, "device", lambda number: number)
    monkeypatch.setattr(jax_handlers, "CudaKernel", Kernel)
    monkeypatch.setattr(jax_handlers, "_place", lambda device, found: found)
    monkeypatch.setattr(jax_handlers, "DeviceHandler", lambda *_: SimpleNamespace(address=1))
    monkeypatch.setattr(jax_handlers, "_kernels", {})
    monkeypatch.setattr(jax.ffi, "register_ffi_target", lambda *_, **__: None)
    job = job_for("test", kt.mass_matrix, kt.zoo.double_pendulum(), None, {}, "float64")
    kernel = jax_handlers.device_kernel.__wrapped__(job)
    assert kernel.extra(10**6)[1] == ((5 * 32 * 128,), "float64")


# -- arrays of JAX as numbers


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics", "kinetic_energy"])
def test_functions_of_a_model_take_traced_arrays(name, rng):
    model, function = kt.zoo.double_pendulum(), getattr(kt, name)
    given = inputs(function, model, rng, 3)
    truth = function(model, **given)
    plain = jax.jit(lambda given: function(model, **given, target="eager"))
    for found in (plain(given), function(model, *map(jnp.asarray, given.values()), target="eager")):
        assert type(found) is type(truth) or not isinstance(truth, tuple)
        for x, t in zip(parts(found), parts(truth), strict=True):
            assert isinstance(x, jax.Array) and error(x, t) < 1e-13
    assert "custom_call" not in plain.lower(given).as_text()


def test_their_derivatives_are_ours(rng):
    model = kt.zoo.double_pendulum()
    given = tuple(inputs(kt.forward_dynamics, model, rng).values())
    slopes = jax.jacobian(lambda *x: kt.forward_dynamics(model, *x, target="eager"), (0, 1, 2))(*given)
    for found, truth in zip(slopes, kt.forward_dynamics_derivatives(model, *given), strict=True):
        assert error(found, truth) < 1e-12


def test_operations_can_be_exported(rng):
    """One program for CPUs, GPUs and TPUs, which another process can run."""
    export = pytest.importorskip("jax.export")
    model, q = kt.zoo.double_pendulum(), rng.normal(size=2)
    f = jax.jit(kt.jax.wrap(kt.gravity_force, model, target="eager"))
    found = export.export(f, platforms=("cpu", "cuda", "tpu"))(q)
    assert error(found.call(q), kt.gravity_force(model, q)) < 1e-13


def test_traced_arrays_need_a_choice():
    model, q = kt.zoo.double_pendulum(), jnp.ones(2)
    for _ in range(3):  # the later calls go straight to machine code
        assert isinstance(kt.gravity_force(model, q), np.ndarray)
        for target in (None, "cpu"):
            with pytest.raises(kt.errors.ArgumentError, match=r"kt\.jax\.wrap\(kt\.gravity_force, model\)"):
                jax.jit(lambda q, target=target: kt.gravity_force(model, q, target=target))(q)
    with pytest.raises(kt.errors.ArgumentError, match="leave out= away"):
        kt.gravity_force(model, q, target="eager", out=np.zeros(2))


def test_numbers_one_by_one(rng):
    """Arrays of NumPy that hold numbers of JAX: the algorithm itself runs on them."""
    model = floating()
    given = inputs(kt.forward_dynamics, model, rng)

    def from_numbers(*arrays):
        objects = [np.empty(len(a), object) for a in arrays]
        for numbers, array in zip(objects, arrays, strict=True):
            numbers[:] = list(array)
        return jnp.stack(list(kt.forward_dynamics(model, *objects)))

    with jax.disable_jit():
        found = from_numbers(*map(jnp.asarray, given.values()))
    assert error(found, kt.forward_dynamics(model, **given)) < 1e-12


def test_precision_that_jax_takes_away(rng):
    model = kt.zoo.double_pendulum()
    f, q = kt.jax.wrap(kt.gravity_force, model), rng.normal(size=2)
    with jax.enable_x64(False):
        with pytest.warns(UserWarning, match="q in float64 become float32, since JAX's x64 is off"):
            assert f(q).dtype == np.float32
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert f(q.astype(np.float32)).dtype == f([0.1, 0.2]).dtype == np.float32


# -- derivatives


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "momentum", "placements"])
def test_derivatives(robot, name, rng):
    model, function = ROBOTS[robot](), getattr(kt, name)
    f = kt.jax.wrap(function, model)
    check_grads(f, tuple(inputs(function, model, rng).values()), order=2, modes=("fwd", "rev"), rtol=1e-4)


def test_third_order(rng):
    f = kt.jax.wrap(kt.potential_energy, kt.zoo.double_pendulum())
    check_grads(f, (rng.normal(size=2),), order=3, modes=("fwd", "rev"), rtol=1e-4)


def test_derivatives_of_a_robot_whose_dynamics_are_differentiated_implicitly(rng):
    model = kt.zoo.quadruped()
    f = kt.jax.wrap(kt.forward_dynamics, model)
    given = tuple(inputs(kt.forward_dynamics, model, rng).values())
    check_grads(f, given, order=1, modes=("fwd", "rev"), rtol=1e-4)


@pytest.mark.parametrize("integrator", ["discrete", "rk4"])
def test_derivatives_of_a_step(integrator, rng):
    model = floating()
    q, v = model.random_state(rng)
    f = kt.jax.wrap(kt.step, model, dt=0.01, integrator=integrator)
    check_grads(f, (q, v, rng.normal(size=7)), order=1, modes=("fwd", "rev"), rtol=1e-4)


def test_derivatives_by_the_numbers_of_the_model(rng):
    model = kt.zoo.double_pendulum()
    q, v = model.random_state(rng)
    f = kt.jax.wrap(kt.forward_dynamics, model)

    def of_numbers(parameters, gravity):
        return f(q, v, v, parameters=parameters, gravity=gravity)

    given = model.parameters, np.array(model.gravity)
    check_grads(of_numbers, given, order=2, modes=("fwd", "rev"), rtol=1e-4)


def test_a_function_of_your_own(rng):
    model = kt.zoo.cart_pole()
    f = kt.jax.wrap(reaching, model)
    given = tuple(inputs(reaching, model, rng).values())
    for found, truth in zip(f(*given), reaching(model, *given), strict=True):
        assert error(found, truth) == 0.0
    check_grads(f, given, order=2, modes=("fwd", "rev"), rtol=1e-4)
    other = f(*given, frame="cart")
    assert error(other[1], reaching(model, *given, frame="cart")[1]) == 0.0
    assert error(kt.jax.wrap(reaching, model, frame="cart")(*given)[1], other[1]) == 0.0


def test_a_rollout(rng):
    """The gradient of 100 steps is that of finite differences of steps without JAX."""
    model = floating()
    q, v = model.random_state(rng)
    f = kt.jax.wrap(kt.step, model, dt=0.01)
    forces = rng.normal(size=(100, model.nv))
    weights = rng.normal(size=model.nq)

    @jax.jit
    def cost(q, v, forces):
        (q, v), _ = jax.lax.scan(lambda state, tau: (f(*state, tau), None), (q, v), forces)
        return weights @ q + v @ v

    def plainly(q, v, forces):
        for tau in forces:
            q, v = kt.step(model, q, v, tau, dt=0.01)
        return weights @ q + v @ v

    assert abs(cost(q, v, forces) - plainly(q, v, forces)) < 1e-12
    gradients = jax.grad(cost, (0, 1, 2))(q, v, forces)
    for _ in range(3):
        along = rng.normal(size=q.shape), rng.normal(size=v.shape), rng.normal(size=forces.shape)
        ends = [plainly(q + e * along[0], v + e * along[1], forces + e * along[2]) for e in (1e-5, -1e-5)]
        slope = sum(np.sum(g * d) for g, d in zip(gradients, along, strict=True))
        assert abs(slope - (ends[0] - ends[1]) / 2e-5) < 1e-7 * max(1.0, abs(slope))


# -- batches


def test_batches_broadcast_and_nest(rng):
    model = kt.zoo.cart_pole()
    f = kt.jax.wrap(kt.forward_dynamics, model)
    q, v = model.random_state(rng, 6)
    tau = rng.normal(size=(5, 1, 2))
    truth = kt.forward_dynamics(model, q, v, tau)
    assert error(f(q, v, tau), truth) == 0.0
    assert error(jax.vmap(f, (None, None, 0))(q, v, tau), truth) == 0.0
    nested = jax.vmap(jax.vmap(f, (0, 0, None)), (None, None, 0))(q, v, tau[:, 0])
    assert error(nested, truth) == 0.0
    last = jax.vmap(f, (1, 1, None), 1)(q.T, v.T, tau[0, 0])
    assert error(last.T, truth[0]) == 0.0
    within = jax.vmap(f, (0, 0, None))(q, v, tau[:, 0])  # a mapped state, a batch inside
    assert error(within, kt.forward_dynamics(model, q[:, None], v[:, None], tau[:, 0])) == 0.0
    assert f(q[:0], v[:0], tau[0]).shape == (0, 2)
    assert f(q[:1], v[:1], tau[0]).shape == (1, 2)


def test_gradients_by_what_states_share_are_sums(rng):
    model = kt.zoo.cart_pole()
    f = kt.jax.wrap(kt.forward_dynamics, model)
    q, v = model.random_state(rng, 6)
    tau = rng.normal(size=2)
    shared = jax.grad(lambda x: (f(q, v, x) ** 2).sum())(tau)
    single = jax.vmap(jax.grad(lambda x, q, v: (f(q, v, x) ** 2).sum()), (None, 0, 0))(tau, q, v)
    assert error(shared, single.sum(0)) < 1e-13
    hessian = jax.hessian(lambda x: (f(q, v, x) ** 2).sum())(tau)
    slope = jax.jacfwd(lambda x: f(q, v, x))(tau)
    assert error(hessian, 2 * np.einsum("bij,bik->jk", slope, slope)) < 1e-12


def test_long_batches_in_threads(rng):
    model = kt.zoo.arm7()
    q, v = model.random_state(rng, 20_000)
    f = jax.jit(kt.jax.wrap(kt.forward_dynamics, model))
    truth = kt.forward_dynamics(model, q, v, v)
    for threads in (1, 4, None):
        kt.threads.set_threads(threads)
        try:
            with ThreadPoolExecutor(3) as pool:
                found = list(pool.map(lambda _: np.asarray(f(q, v, v)), range(6)))
        finally:
            kt.threads.set_threads(None)
        assert all(np.array_equal(x, truth) for x in found)


def test_precision(rng):
    model = kt.zoo.double_pendulum()
    f = kt.jax.wrap(kt.forward_dynamics, model)
    q, v, tau = (x.astype(np.float32) for x in inputs(kt.forward_dynamics, model, rng, 3).values())
    found = f(q, v, tau)
    assert found.dtype == np.float32 and np.array_equal(found, kt.forward_dynamics(model, q, v, tau))
    assert f(q, v, tau.astype(np.float64)).dtype == np.float64
    assert f([0, 1], [0, 0], [1, 2]).dtype == np.float64 and f(q, v, [1, 2]).dtype == np.float32
    slope = jax.grad(lambda q: f(q, v, tau).sum())(q)
    assert slope.dtype == np.float32
    with pytest.raises(kt.errors.ShapeError, match="complex"):
        f(q, v, 1j * tau)


# -- what is refused


def test_wrong_calls():
    model = kt.zoo.cart_pole()
    f = kt.jax.wrap(kt.forward_dynamics, model)
    with pytest.raises(kt.errors.ShapeError, match="tau has shape"):
        jax.jit(f)(np.zeros(2), np.zeros(2), np.zeros(3))
    with pytest.raises(kt.errors.ShapeError, match="do not broadcast"):
        f(np.zeros((3, 2)), np.zeros((4, 2)), np.zeros(2))
    with pytest.raises(kt.errors.ArgumentError, match="'tau' is missing"):
        f(np.zeros(2), np.zeros(2))
    with pytest.raises(kt.errors.ArgumentError, match="no argument 'frame'"):
        kt.jax.wrap(kt.forward_dynamics, model, frame="pole")
    with pytest.raises(kt.errors.ArgumentError, match="not a model function"):
        kt.jax.wrap(np.sin, model)
    with pytest.raises(kt.errors.ArgumentError, match="must be a kinetree Model"):
        kt.jax.wrap(kt.forward_dynamics, "cart_pole")
    with pytest.raises(kt.errors.KinetreeError, match="target must be one of 'cpu', 'eager'"):
        kt.jax.wrap(kt.forward_dynamics, model, target="tpu")


@pytest.mark.parametrize("batch", [(), (9,)])
def test_states_that_are_refused(batch, rng):
    model = floating()
    given = inputs(kt.forward_dynamics, model, rng, *batch)
    given["q"][..., 3:7] *= 30.0
    with pytest.raises(kt.errors.StateError):
        kt.forward_dynamics(model, **given)
    with pytest.raises(Exception, match="forward_dynamics: a state was refused"):
        np.asarray(kt.jax.wrap(kt.forward_dynamics, model)(**given))
    with jax.disable_jit():
        found = kt.jax.wrap(kt.forward_dynamics, model, target="eager")(**given)
    assert np.isnan(found).all()


@pytest.mark.parametrize("target", ["cpu", "eager"])
def test_numbers_that_are_not_finite(target, rng):
    model = kt.zoo.cart_pole()
    q, v = model.random_state(rng, 5)
    f = kt.jax.wrap(kt.forward_dynamics, model, target=target)
    truth = kt.forward_dynamics(model, q, v, v)
    q[2, 0], v[4, 1] = np.nan, np.inf
    found = np.asarray(f(q, v, v))
    assert np.isnan(found[[2, 4]]).all() and error(found[[0, 1, 3]], truth[[0, 1, 3]]) < 1e-13


def test_it_says_what_it_is():
    f = kt.jax.wrap(kt.forward_dynamics, kt.zoo.cart_pole())
    assert repr(f) == "<function forward_dynamics of 'cart_pole' for jax>"
    assert f.__name__ == "forward_dynamics" and f.__doc__ == kt.forward_dynamics.__doc__


def test_models_of_equal_content_share_their_code():
    model = kt.zoo.cart_pole()
    twin = pickle.loads(pickle.dumps(model))
    first, second = (kt.jax.wrap(kt.gravity_force, m)(np.ones(2)) for m in (model, twin))
    heavier = kt.jax.wrap(kt.gravity_force, model.with_parameters(2 * model.parameters))(np.ones(2))
    assert np.array_equal(first, second) and error(heavier, 2 * first) < 1e-14
