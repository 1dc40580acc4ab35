"""JAX and PyTorch on an NVIDIA GPU: our kernel on their stream, with the bits of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from tests.bridges.samples import floating, inputs, reaching

import kinetree as kt
from kinetree.compiler.runtime import cuda

if not cuda.is_available():
    pytest.skip("there is no GPU", allow_module_level=True)

VALUES = ["inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "kinetic_energy"]
ROBOTS = {"floating": floating, "arm7": kt.zoo.arm7, "chain": lambda: kt.zoo.chain(40)}


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def error(found, truth):
    found, truth = np.asarray(found), np.asarray(truth)
    assert found.shape == truth.shape
    return np.max(np.abs(found - truth), initial=0.0) / max(1.0, np.max(np.abs(truth), initial=0.0))


@pytest.fixture(scope="module")
def jax():
    library = pytest.importorskip("jax")
    library.config.update("jax_enable_x64", True)
    if library.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    return library


@pytest.fixture(scope="module")
def torch():
    library = pytest.importorskip("torch")
    if not library.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    return library


# -- JAX


def on_cpu(jax, *arrays):
    return jax.device_put(arrays, jax.devices("cpu")[0])


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_jax_runs_our_kernel(jax, robot, name, dtype, rng):
    model, function = ROBOTS[robot](), getattr(kt, name)
    f = kt.jax.wrap(function, model)
    for batch in ((), (1,), (257,), (3, 50), (0,)):
        given = [x.astype(dtype) for x in inputs(function, model, rng, *batch).values()]
        run = jax.jit(f)
        assert "kinetree_" in run.lower(*given).as_text()
        found, truth = run(*given), function(model, *given)
        for x, t in zip(parts(found), parts(truth), strict=True):
            assert x.dtype == dtype and {d.platform for d in x.devices()} == {"gpu"}
            assert np.array_equal(x, t)


def test_jax_on_a_long_batch_with_shared_rows_and_large_angles(jax, rng):
    model = kt.zoo.arm7()
    q, v = model.random_state(rng, 100_000)
    q[::1000] *= 1e6
    f = jax.jit(jax.vmap(kt.jax.wrap(kt.forward_dynamics, model), (0, 0, None)))
    assert np.array_equal(f(q, v, v[0]), kt.forward_dynamics(model, q, v, v[0]))


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_in_jax(jax, name, rng):
    model, function = floating(), getattr(kt, name)
    f = kt.jax.wrap(function, model)
    given = tuple(inputs(function, model, rng, 5).values())
    check = pytest.importorskip("jax.test_util").check_grads
    check(f, given, order=2, modes=("fwd", "rev"), rtol=1e-4)
    slope = jax.jit(jax.grad(lambda *x: (f(*x) ** 2).sum(), (0, 1, 2)))
    for a, b in zip(slope(*given), slope(*on_cpu(jax, *given)), strict=True):
        assert error(a, b) < 1e-13


def test_a_rollout_in_jax(jax, rng):
    """A scan of 100 steps, with its gradient: kernels alone, and the values of steps on the CPU."""
    model = floating()
    q, v = model.random_state(rng, 20)
    v *= 0.1
    step = kt.jax.wrap(kt.step, model, dt=0.005)
    forces = 0.1 * rng.normal(size=(100, 20, model.nv))

    @jax.jit
    def cost(q, v, forces):
        (q, v), _ = jax.lax.scan(lambda state, tau: (step(*state, tau), None), (q, v), forces)
        return (q * q).sum() + (v * v).sum()

    end = q, v
    for tau in forces:
        end = kt.step(model, *end, tau, dt=0.005)
    truth = (end[0] ** 2).sum() + (end[1] ** 2).sum()
    assert abs(cost(q, v, forces) - truth) < 1e-12 * truth
    slope = jax.grad(cost, 2)(q, v, forces)
    here = jax.grad(cost, 2)(*on_cpu(jax, q, v, forces))
    assert error(slope, here) < 1e-11


def test_functions_of_ones_own_in_jax(jax, rng):
    model = kt.zoo.cart_pole()
    given = tuple(inputs(reaching, model, rng, 9).values())
    for found, truth in zip(kt.jax.wrap(reaching, model)(*given), reaching(model, *given), strict=True):
        assert np.array_equal(found, truth)


def test_operations_of_xla_on_a_gpu(jax, rng):
    model = kt.zoo.cart_pole()
    q, v = model.random_state(rng, 9)
    pure = jax.jit(kt.jax.wrap(kt.forward_dynamics, model, target="eager"))
    assert "custom_call" not in pure.lower(q, v, v).as_text()
    assert error(pure(q, v, v), kt.forward_dynamics(model, q, v, v)) < 1e-12


def test_what_has_no_kernel_is_operations_of_xla(jax, rng, monkeypatch):
    model = kt.zoo.cart_pole()
    q, _ = model.random_state(rng, 9)
    monkeypatch.setattr("kinetree.bridges.jax_primitive.device_kernel", lambda job: None)
    f = jax.jit(kt.jax.wrap(kt.mass_matrix_logdet, model))
    assert "custom_call" not in f.lower(q).as_text()
    assert error(f(q), kt.mass_matrix_logdet(model, q)) < 1e-12


def test_states_that_make_no_sense_in_jax(jax, rng):
    model = floating()
    given = inputs(kt.forward_dynamics, model, rng, 300)
    truth = kt.forward_dynamics(model, **given)
    given["q"][7, 3:7] *= 30.0
    given["v"][200, 1] = np.nan
    found = np.asarray(jax.jit(kt.jax.wrap(kt.forward_dynamics, model))(*given.values()))
    assert np.isnan(found[[7, 200]]).all()
    rest = np.delete(np.arange(300), [7, 200])
    assert np.array_equal(found[rest], truth[rest])


def test_numbers_of_jax_on_a_gpu(jax, rng):
    """With target="eager" arrays of JAX stay what they are: operations of XLA, on their device."""
    model = kt.zoo.double_pendulum()
    given = inputs(kt.inverse_dynamics, model, rng, 5)
    arrays = [jax.numpy.asarray(x) for x in given.values()]
    found = jax.jit(lambda *x: kt.inverse_dynamics(model, *x, target="eager"))(*arrays)
    assert {d.platform for d in found.devices()} == {"gpu"}
    assert error(found, kt.inverse_dynamics(model, **given)) < 1e-13


# -- PyTorch


def tensors(torch, given, **facts):
    return tuple(torch.tensor(x, device="cuda", **facts) for x in given)


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tensors_stay_on_their_device(torch, robot, name, dtype, rng):
    model, function = ROBOTS[robot](), getattr(kt, name)
    f = kt.torch.wrap(function, model)
    for batch in ((), (1,), (257,), (3, 50), (0,)):
        given = [x.astype(dtype) for x in inputs(function, model, rng, *batch).values()]
        truth = function(model, *given)
        for x, t in zip(parts(f(*tensors(torch, given))), parts(truth), strict=True):
            assert x.is_cuda and np.array_equal(x.cpu().numpy(), t)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_in_torch(torch, name, rng):
    model, function = floating(), getattr(kt, name)
    f = kt.torch.wrap(function, model)
    x = tensors(torch, inputs(function, model, rng, 3).values(), requires_grad=True)
    assert torch.autograd.gradcheck(f, x, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(f, x)
    here = tuple(a.detach().cpu().requires_grad_() for a in x)
    f(*x).pow(2).sum().backward()
    f(*here).pow(2).sum().backward()
    for a, b in zip(x, here, strict=True):
        assert a.grad.is_cuda and error(a.grad.cpu(), b.grad) < 1e-13


def test_transforms_of_torch_func(torch, rng):
    model = kt.zoo.cart_pole()
    f = kt.torch.wrap(kt.forward_dynamics, model)
    q, v, tau = tensors(torch, inputs(kt.forward_dynamics, model, rng, 5).values())
    found = torch.func.vmap(torch.func.jacrev(f, (0, 1, 2)))(q, v, tau)
    truth = kt.forward_dynamics_derivatives(model, *(x.cpu().numpy() for x in (q, v, tau)))
    for x, t in zip(found, truth, strict=True):
        assert error(x.cpu(), t) < 1e-12
    batched = torch.autograd.functional.jacobian(lambda x: f(q[0], v[0], x), tau[0], vectorize=True)
    assert error(batched.cpu(), truth[2][0]) < 1e-12


def test_the_current_stream(torch, rng):
    """What came before on a stream of its own is seen, and what comes after sees the result."""
    model = kt.zoo.arm7()
    f = kt.torch.wrap(kt.inverse_dynamics, model)
    given = list(inputs(kt.inverse_dynamics, model, rng, 50_000).values())
    q, v, a = tensors(torch, given)
    f(q, v, a)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    for _ in range(5):
        with torch.cuda.stream(side):
            slow = torch.zeros(4_000, 4_000, dtype=torch.float64, device="cuda")
            later = q + (slow @ slow)[0, 0]  # takes a while
            found = f(later, v, a) * 2
        side.synchronize()
        assert np.array_equal(found.cpu().numpy(), 2 * kt.inverse_dynamics(model, *given))


def test_compiled_graphs_of_torch(torch, rng):
    model = kt.zoo.cart_pole()
    f = kt.torch.wrap(kt.step, model, dt=0.01)

    def cost(q, v, tau):
        q, v = f(q, v, torch.tanh(tau))
        return (q * q).sum() + v.sum()

    x = tensors(torch, inputs(kt.forward_dynamics, model, rng, 9).values(), requires_grad=True)
    y = tuple(a.detach().clone().requires_grad_() for a in x)
    found = torch.compile(cost, backend="aot_eager", fullgraph=True)(*x)
    truth = cost(*y)
    found.backward()
    truth.backward()
    assert error(found.detach().cpu(), truth.detach().cpu()) < 1e-15
    assert all(error(a.grad.cpu(), b.grad.cpu()) < 1e-15 for a, b in zip(x, y, strict=True))


def test_states_that_are_refused_in_torch(torch, rng):
    model = floating()
    q, v, tau = tensors(torch, inputs(kt.forward_dynamics, model, rng, 3).values())
    q[1, 3:7] *= 30.0
    with pytest.raises(kt.errors.StateError, match="in state 1 of the batch"):
        kt.torch.wrap(kt.forward_dynamics, model)(q, v, tau)
