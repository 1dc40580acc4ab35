"""Functions of a model in PyTorch: values, derivatives of any order, batches, compiled graphs, refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.bridges.samples import floating, inputs, reaching

import kinetree as kt
from kinetree.errors import ArgumentError

torch = pytest.importorskip("torch")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
vmap, jacrev, jacfwd = torch.func.vmap, torch.func.jacrev, torch.func.jacfwd


def tensors(given, **facts):
    return tuple(torch.tensor(x, **facts) for x in given)


def given(function, model, rng, *batch, **facts):
    return tensors(inputs(function, model, rng, *batch).values(), **facts)


def error(found, truth):
    found, truth = (np.asarray(x.detach() if isinstance(x, torch.Tensor) else x) for x in (found, truth))
    assert found.shape == truth.shape
    return np.max(np.abs(found - truth), initial=0.0) / max(1.0, np.max(np.abs(truth), initial=0.0))


@pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics", "kinetic_energy"])
def test_values(name, rng):
    model, function = floating(), getattr(kt, name)
    for batch in ((), (4,), (2, 3), (0,)):
        arrays = inputs(function, model, rng, *batch)
        truth, found = function(model, **arrays), kt.torch.wrap(function, model)(*tensors(arrays.values()))
        assert type(found) is (type(truth) if isinstance(truth, tuple) else torch.Tensor)
        several = isinstance(truth, tuple)
        for f, t in zip(found if several else [found], truth if several else [truth], strict=True):
            assert error(f, t) == 0.0


def test_the_memory_of_tensors_is_used_as_it_is(rng, monkeypatch):
    """The kernel reads the inputs where they stand, and writes the result where it stays."""
    from kinetree.stages.targets.cpu import Cpu

    model = kt.zoo.cart_pole()
    arrays = given(kt.mass_matrix_product, model, rng, 4)
    kernel, seen = kt.compile(kt.mass_matrix_product, model), []

    def spying(*inputs, out):
        seen.extend([*inputs, *out])
        return kernel(*inputs, out=out)

    f = kt.torch.wrap(kt.mass_matrix_product, model)
    f(*arrays)
    monkeypatch.setattr(Cpu, "executable", lambda self, job: spying)
    found = f(*arrays)
    assert [a.ctypes.data for a in seen] == [x.data_ptr() for x in (*arrays, found)]


# -- derivatives


@pytest.mark.parametrize("model", [floating(), kt.zoo.double_pendulum()], ids=lambda m: m.name)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics", "momentum", "placements"])
def test_derivatives(model, name, rng):
    function = getattr(kt, name)
    f, x = kt.torch.wrap(function, model), given(function, model, rng, requires_grad=True)
    assert gradcheck(f, x, check_forward_ad=True)
    assert gradgradcheck(f, x)


def test_derivatives_of_a_step(rng):
    model = floating()
    q, v = tensors(model.random_state(rng), requires_grad=True)
    tau = torch.randn(7, dtype=torch.float64, requires_grad=True)
    assert gradcheck(kt.torch.wrap(kt.step, model, dt=0.01), (q, v, tau))


def test_derivatives_by_the_numbers_of_the_model(rng):
    model = kt.zoo.double_pendulum()
    f, x = kt.torch.wrap(kt.forward_dynamics, model), given(kt.forward_dynamics, model, rng)
    numbers = tensors((model.parameters, model.gravity), requires_grad=True, dtype=torch.float64)

    def of_numbers(parameters, gravity):
        return f(*x, parameters=parameters, gravity=gravity)

    assert gradcheck(of_numbers, numbers) and gradgradcheck(of_numbers, numbers)


def test_a_function_of_your_own(rng):
    model = kt.zoo.cart_pole()
    f, x = kt.torch.wrap(reaching, model), given(reaching, model, rng, requires_grad=True)
    assert gradcheck(f, x) and gradgradcheck(f, x)
    truth = reaching(model, *(a.detach().numpy() for a in x), frame="cart")
    assert error(f(*x, frame="cart")[1], truth[1]) == 0.0
    assert error(kt.torch.wrap(reaching, model, frame="cart")(*x)[1], truth[1]) == 0.0


def test_gradients_by_what_states_share_are_sums(rng):
    model = kt.zoo.cart_pole()
    f, (q, v, tau) = kt.torch.wrap(kt.forward_dynamics, model), given(kt.forward_dynamics, model, rng, 6)
    shared = tau[0].clone().requires_grad_()
    assert gradcheck(lambda x: f(q, v, x), shared) and gradgradcheck(lambda x: f(q, v, x), shared)


def test_a_rollout(rng):
    model = floating()
    q0, v0 = tensors(model.random_state(rng), requires_grad=True)
    f, forces = kt.torch.wrap(kt.step, model, dt=0.01), rng.normal(size=(100, model.nv))
    weights = rng.normal(size=model.nq)
    q, v = q0, v0
    for tau in tensors(forces):
        q, v = f(q, v, tau)
    (torch.tensor(weights) @ q + v @ v).backward()

    def plainly(q, v):
        for tau in forces:
            q, v = kt.step(model, q, v, tau, dt=0.01)
        return weights @ q + v @ v

    dq, dv = rng.normal(size=model.nq), rng.normal(size=model.nv)
    at = q0.detach().numpy(), v0.detach().numpy()
    ends = [plainly(at[0] + e * dq, at[1] + e * dv) for e in (1e-5, -1e-5)]
    slope = float(q0.grad.numpy() @ dq + v0.grad.numpy() @ dv)
    assert abs(slope - (ends[0] - ends[1]) / 2e-5) < 1e-7 * max(1.0, abs(slope))


# -- transforms


def test_transforms_of_torch_func(rng):
    model = kt.zoo.cart_pole()
    f, (q, v, tau) = kt.torch.wrap(kt.forward_dynamics, model), given(kt.forward_dynamics, model, rng, 5)
    truth = f(q, v, tau)
    assert error(vmap(f)(q, v, tau), truth) == 0.0
    assert error(vmap(f, (None, 0, 1))(q[0], v, tau.T), f(q[0], v, tau)) == 0.0
    nested = vmap(vmap(f, (0, 0, None)), (None, None, 0))(q, v, tau)
    assert error(nested, f(q, v, tau[:, None])) == 0.0
    within = vmap(f, (0, 0, None))(q, v, tau)  # a mapped state, a batch inside
    assert error(within, f(q[:, None], v[:, None], tau)) == 0.0
    backward = vmap(jacrev(f, (0, 1, 2)))(q, v, tau)
    analytic = kt.forward_dynamics_derivatives(model, q.numpy(), v.numpy(), tau.numpy())
    for found, forward, t in zip(backward, vmap(jacfwd(f, (0, 1, 2)))(q, v, tau), analytic, strict=True):
        assert error(found, t) < 1e-12 and error(forward, t) < 1e-12
    hessian = torch.func.hessian(lambda q: f(q, v[0], tau[0]).sum())(q[0])
    assert error(hessian, hessian.T) < 1e-12


def test_batched_gradients(rng):
    """What `is_grads_batched` and `vectorize` do: many backward passes as one."""
    model = floating()
    f = kt.torch.wrap(kt.forward_dynamics, model)
    x = given(kt.forward_dynamics, model, rng, 3, requires_grad=True)
    assert gradcheck(f, x, check_batched_grad=True, check_batched_forward_grad=True, check_forward_ad=True)
    results, weights = f(*x), torch.randn(5, 3, 7, dtype=torch.float64)
    found = torch.autograd.grad(results, x, weights, is_grads_batched=True, retain_graph=True)
    for k in range(5):
        truth = torch.autograd.grad(results, x, weights[k], retain_graph=True)
        assert all(error(a[k], b) == 0.0 for a, b in zip(found, truth, strict=True))
    q, v, tau = (a.detach()[0] for a in x)
    truth = kt.forward_dynamics_derivatives(model, *(a.numpy() for a in (q, v, tau)))[2]
    for strategy in ("reverse-mode", "forward-mode"):
        slope = torch.autograd.functional.jacobian(
            lambda t: f(q, v, t), tau, vectorize=True, strategy=strategy
        )
        assert error(slope, truth) < 1e-11


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_graphs(dynamic, rng):
    """One graph without breaks, with its gradient, for batches of any length."""
    model = kt.zoo.cart_pole()
    f = kt.torch.wrap(kt.step, model, dt=0.01)

    def cost(q, v, tau):
        q, v = f(q, v, torch.tanh(tau))
        return (q * q).sum() + v.sum()

    compiled = torch.compile(cost, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for count in (3, 7):
        x = given(kt.forward_dynamics, model, rng, count, requires_grad=True)
        y = tuple(a.detach().clone().requires_grad_() for a in x)
        found, truth = compiled(*x), cost(*y)
        found.backward()
        truth.backward()
        assert error(found, truth) < 1e-15
        assert all(error(a.grad, b.grad) < 1e-15 for a, b in zip(x, y, strict=True))


def test_the_operator_is_well_behaved(rng):
    from kinetree.bridges.torch_operator import call, name_of
    from kinetree.stages import Job

    model = kt.zoo.cart_pole()
    name = name_of(Job(kt.forward_dynamics, model, ("q", "v", "tau"), {}))
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    torch.library.opcheck(call, (name, list(given(kt.forward_dynamics, model, rng, 3))), test_utils=checks)
    with pytest.raises(kt.errors.ArgumentError, match="not known in this process"):
        call("forward_dynamics_of_yesterday", [torch.zeros(2)])


class Falling(torch.nn.Module):
    """A layer that holds a function of a model."""

    def __init__(self, f):
        super().__init__()
        self.f, self.scale = f, torch.nn.Parameter(torch.ones(2, dtype=torch.float64))

    def forward(self, q, v):
        return self.f(q, v, self.scale * v)


def test_it_can_be_part_of_a_module_and_be_pickled(rng):
    model = kt.zoo.cart_pole()
    q, v = tensors(model.random_state(rng, 3))
    f = kt.torch.wrap(kt.forward_dynamics, model)
    assert repr(f) == "<function forward_dynamics of 'cart_pole' for torch>"
    assert f.__name__ == "forward_dynamics" and f.__doc__ == kt.forward_dynamics.__doc__
    layer = Falling(f)
    again = pickle.loads(pickle.dumps(layer))
    assert error(again(q, v), layer(q, v)) == 0.0 and list(again.state_dict()) == ["scale"]
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert error(compiled(q, v), layer(q, v)) < 1e-15


# -- kinds of numbers, and what is refused


def test_precision(rng):
    model = kt.zoo.double_pendulum()
    f = kt.torch.wrap(kt.forward_dynamics, model)
    q, v, tau = given(kt.forward_dynamics, model, rng, 3, dtype=torch.float32)
    truth = kt.forward_dynamics(model, q.numpy(), v.numpy(), tau.numpy())
    assert f(q, v, tau).dtype == torch.float32 and error(f(q, v, tau), truth) == 0.0
    assert f(q, v, tau.double()).dtype == torch.float64
    assert f(q, v, [1, 2]).dtype == f([0, 1], [0, 0], torch.ones(2).int()).dtype == torch.float32
    assert f(q.half(), v.half(), tau).dtype == torch.float32
    with pytest.raises(kt.errors.ShapeError, match="complex"):
        f(q, v, 1j * tau)


def test_wrong_calls(rng):
    model = kt.zoo.cart_pole()
    f = kt.torch.wrap(kt.forward_dynamics, model)
    with pytest.raises(kt.errors.ShapeError, match="tau has shape"):
        f(torch.zeros(2), torch.zeros(2), torch.zeros(3))
    with pytest.raises(kt.errors.ShapeError, match="do not broadcast"):
        f(torch.zeros(3, 2), torch.zeros(4, 2), torch.zeros(2))
    with pytest.raises(kt.errors.ArgumentError, match="several devices"):
        f(torch.zeros(2), torch.zeros(2), torch.zeros(2, device="meta"))
    with pytest.raises(kt.errors.ArgumentError, match="no argument 'frame'"):
        kt.torch.wrap(kt.forward_dynamics, model, frame="pole")
    with pytest.raises(kt.errors.ArgumentError, match="not a model function"):
        kt.torch.wrap(torch.sin, model)


def test_states_that_are_refused(rng):
    model = floating()
    q, v, tau = given(kt.forward_dynamics, model, rng, 3)
    q[1, 3:7] *= 30.0
    with pytest.raises(kt.errors.StateError, match="in state 1 of the batch"):
        kt.torch.wrap(kt.forward_dynamics, model)(q, v, tau)


def test_numbers_that_are_not_finite(rng):
    model = kt.zoo.cart_pole()
    q, v, tau = given(kt.forward_dynamics, model, rng, 3)
    q[1, 0] = torch.nan
    found = kt.torch.wrap(kt.forward_dynamics, model)(q, v, tau)
    assert torch.isnan(found[1]).all() and torch.isfinite(found[[0, 2]]).all()


def test_tensors_with_gradients_are_not_taken_for_arrays():
    """NumPy's advice would lose the gradients."""
    model = kt.zoo.arm7()
    q = torch.zeros(7, dtype=torch.float64, requires_grad=True)
    for _ in range(2):  # before and after a call of this form
        with pytest.raises(ArgumentError, match=r"mass_matrix: q cannot .* kt\.torch\.wrap\(kt\.mass_matrix"):
            kt.mass_matrix(model, q)
        kt.mass_matrix(model, q.detach())
