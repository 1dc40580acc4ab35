"""An algorithm that breaks the rules of a sweep is refused by every interpreter that could run it wrongly."""

from __future__ import annotations

import pytest
from tests.interpreters.samples import HEAVY, LINK, WAYS, arm, run_eager, run_looped, run_unrolled

import kinetree as kt
from kinetree.errors import FrameError, TraceError
from kinetree.spatial import Force, Motion, Subspace, Transform

everywhere = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def model() -> kt.Model:
    """Two links of one kind with different numbers behind a root, and a link of another kind."""
    return arm(LINK, HEAVY, LINK, last=kt.Prismatic((1, 0, 0)))


def velocities(tree, q, v):
    """A valid body."""
    X, S, V = tree.fields(Transform, Subspace, Motion)
    F = tree.sums(Force)
    for i in tree.outward():
        X[i], S[i] = tree.joint(i, q[i])
        V[i] = X[i] @ V[tree.parent(i)] + S[i] @ v[i]
        F[i] = tree.inertia(i) @ V[i]
    tau = tree.coordinates()
    for i in tree.inward():
        tau[i] = S[i].T @ F[i]
        F.add(tree.parent(i), X[i].T @ F[i])
    return tau


def test_the_valid_text_runs_everywhere(model):
    results = [way(velocities, model) for way in WAYS.values()]
    for result in results[1:]:
        assert result == pytest.approx(results[0], rel=1e-13, abs=1e-13)


def test_a_variable_carried_over_iterations(model):
    def carried(tree, q, v):
        tau = tree.coordinates()
        total = Force()
        for i in tree.outward():
            _, S = tree.joint(i, q[i])
            total = (tree.inertia(i) @ (S @ v[i])).tagged(None) + total
            tau[i] = S.T @ total
        return tau

    with pytest.raises(TraceError, match="loop body that has ended"):
        run_looped(carried, model)


def test_a_variable_carried_over_iterations_of_one_kind():
    """With a single kind the body is traced once: only the second, discarded trace finds it."""

    def carried(tree, q, v):
        tau = tree.coordinates()
        total = 0
        for i in tree.outward():
            total = total + q[i][0]
            tau[i] = (total,)
        return tau

    builder = kt.ModelBuilder("forest")
    for k in range(3):
        builder.add_body(f"b{k}", "world", kt.Revolute((0, 0, 1)), inertia=LINK)
    with pytest.raises(TraceError, match="loop body that has ended"):
        run_looped(carried, builder.build())


def test_a_value_of_a_loop_used_after_it(model):
    def leaked(tree, q, v):
        tau = tree.coordinates()
        for i in tree.outward():
            _, S = tree.joint(i, q[i])
            moved = S @ v[i]
        for i in tree.inward():
            _, S = tree.joint(i, q[i])
            tau[i] = S.T @ (tree.inertia(i) @ moved.tagged(None)).tagged(None)
        return tau

    with pytest.raises(TraceError, match="loop body that has ended"):
        run_looped(leaked, model)


def test_a_handle_used_after_its_loop(model):
    def late(tree, q, v):
        X, S = tree.fields(Transform, Subspace)
        tau = tree.coordinates()
        for i in tree.outward():
            X[i], S[i] = tree.joint(i, q[i])
            tau[i] = v[i]
        S[i].columns
        return tau

    with pytest.raises(TraceError, match="loop that has ended"):
        run_looped(late, model)


@pytest.mark.parametrize("leave", ["break", "return"])
def test_a_loop_left_early(model, leave):
    def left(tree, q, v):
        tau = tree.coordinates()
        for i in tree.outward():
            tau[i] = v[i]
            if leave == "return":
                return tau
            break
        for i in tree.inward():
            tau[i] = v[i]
        return tau

    with pytest.raises(TraceError, match="left early"):
        run_looped(left, model)


def test_a_loop_within_a_loop(model):
    def nested(tree, q, v):
        tau = tree.coordinates()
        for i in tree.outward():
            for j in tree.inward():
                tau[j] = v[i]
        return tau

    with pytest.raises(TraceError, match="stands in another one"):
        run_looped(nested, model)


def test_a_subspace_of_a_predecessor(model):
    def through_parent(tree, q, v):
        X, S = tree.fields(Transform, Subspace)
        tau = tree.coordinates()
        for i in tree.outward():
            X[i], S[i] = tree.joint(i, q[i])
            p = tree.parent(i)
            tau[i] = v[i] if p is tree.world else (S[p].columns[0].angular[0],)
        return tau

    with pytest.raises(TraceError, match="a Subspace of a predecessor was read"):
        run_looped(through_parent, model)


@everywhere
@pytest.mark.parametrize("storage", ["fields", "sums"])
def test_written_twice(model, way, storage):
    def twice(tree, q, v):
        V = tree.sums(Motion) if storage == "sums" else tree.fields(Motion)[0]
        tau = tree.coordinates()
        for i in tree.outward():
            _, S = tree.joint(i, q[i])
            V[i] = S @ v[i]
            V[i] = S @ v[i]
            tau[i] = v[i]
        return tau

    with pytest.raises(TraceError, match="written once for each node"):
        WAYS[way](twice, model)


@everywhere
@pytest.mark.parametrize("storage", ["fields", "sums"])
def test_written_twice_by_two_loops(model, way, storage):
    def twice(tree, q, v):
        V = tree.sums(Motion) if storage == "sums" else tree.fields(Motion)[0]
        tau = tree.coordinates()
        for i in tree.outward():
            V[i] = tree.joint(i, q[i])[1] @ v[i]
        for i in tree.inward():
            V[i] = tree.joint(i, q[i])[1] @ v[i]
            tau[i] = v[i]
        return tau

    with pytest.raises(TraceError, match="written once for each node"):
        WAYS[way](twice, model)


@everywhere
@pytest.mark.parametrize("storage", ["fields", "sums"])
def test_read_before_it_is_written(model, way, storage):
    def early(tree, q, v):
        V = tree.sums(Motion) if storage == "sums" else tree.fields(Motion)[0]
        tau = tree.coordinates()
        for i in tree.outward():
            _, S = tree.joint(i, q[i])
            tau[i] = S.T @ (tree.inertia(i) @ V[i])
            V[i] = S @ v[i]
        return tau

    with pytest.raises(TraceError, match="read before it was written"):
        WAYS[way](early, model)


@everywhere
def test_predecessor_read_before_it_is_written(model, way):
    def wrong_way(tree, q, v):
        (V,) = tree.fields(Motion)
        tau = tree.coordinates()
        for i in tree.inward():
            X, S = tree.joint(i, q[i])
            V[i] = X @ V[tree.parent(i)] + S @ v[i]
            tau[i] = v[i]
        return tau

    with pytest.raises(TraceError, match="before it was written"):
        WAYS[way](wrong_way, model)


@everywhere
def test_predecessor_added_to_before_it_is_written(model, way):
    def wrong_way(tree, q, v):
        F = tree.sums(Force)
        tau = tree.coordinates()
        for i in tree.inward():
            X, S = tree.joint(i, q[i])
            F[i] = tree.inertia(i) @ (S @ v[i])
            F.add(tree.parent(i), X.T @ F[i])
            tau[i] = v[i]
        return tau

    with pytest.raises(TraceError, match="written"):
        WAYS[way](wrong_way, model)


def test_a_sum_of_a_type_that_depends_on_the_kind(model):
    def sums(tree, q, v):
        tree.sums(Subspace)
        return tree.coordinates()

    with pytest.raises(TraceError, match="Subspace"):
        run_looped(sums, model)


def mixed(tree, q, v):
    """Adds a force in the axes of a body to one in those of its predecessor."""
    F = tree.sums(Force)
    tau = tree.coordinates()
    for i in tree.outward():
        _, S = tree.joint(i, q[i])
        F[i] = tree.inertia(i) @ (S @ v[i])
        tau[i] = v[i]
    for i in tree.inward():
        p = tree.parent(i)
        if p != tree.world:
            F[i] + F[p]
    return tau


@pytest.mark.parametrize("run", [run_eager, run_unrolled])
def test_forces_of_two_frames(model, run):
    with pytest.raises(FrameError) as caught:
        run(mixed, model)
    assert "the frame of last" in str(caught.value) and "the frame of b2" in str(caught.value)
    assert "X.T @ force" in str(caught.value)


def test_forces_of_two_frames_looped(model):
    with pytest.raises(FrameError) as caught:
        run_looped(mixed, model)
    assert "the predecessor" in str(caught.value) and "member 0 of a node of kind 1" in str(caught.value)


@everywhere
def test_a_motion_not_transformed(model, way):
    def forgotten(tree, q, v):
        (V,) = tree.fields(Motion)
        tau = tree.coordinates()
        for i in tree.outward():
            _, S = tree.joint(i, q[i])
            V[i] = V[tree.parent(i)] + S @ v[i]
            tau[i] = v[i]
        return tau

    with pytest.raises(FrameError, match="expressed in the frame of"):
        WAYS[way](forgotten, model)


@everywhere
def test_a_transform_the_wrong_way(model, way):
    def reversed_(tree, q, v):
        F = tree.sums(Force)
        tau = tree.coordinates()
        for i in tree.outward():
            X, S = tree.joint(i, q[i])
            F[i] = tree.inertia(i) @ (S @ v[i])
            V = S @ v[i]
            tau[i] = S.T @ (tree.inertia(i) @ (X @ V))
        return tau

    with pytest.raises(FrameError):
        WAYS[way](reversed_, model)
