"""`kt.inverse_kinematics`: positions that bring frames to their targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import ArgumentError, ShapeError, SingularError, StateError
from kinetree.kinematics.descent import pose_descent
from kinetree.model import Model
from kinetree.model.configuration import require_sound

Array = np.ndarray

ITERATIONS = 10  # of one kernel call
RIGID = 1e-6  # how far R^T R of a target may be from 1
DAMPING, MOST_DAMPING = 0.1, 1e4  # factors of the squared error; the second for targets far out of reach
SETTLING = 100  # most kernel calls for problems without a solution, to find the smallest error
SETTLED = 1e-9  # these calls end when one reduces the error by less than this fraction
PROGRESS = 0.5  # a call that leaves more than this fraction of the error triggers a restart


class Solution(NamedTuple):
    """The result of `inverse_kinematics`; batch axes lead."""

    q: Array  # (..., nq): the best position found, within the limits
    success: Array  # (...): whether its error is at most the tolerance
    error: Array  # (...): |e|, the weighted displacements (m) and rotations (rad) of all frames


def inverse_kinematics(
    model: Model,
    targets: Mapping[str, Any],
    q0: Any = None,
    *,
    weights: Mapping[str, Any] | None = None,
    tolerance: float = 1e-6,
    limits: bool = True,
    attempts: int = 100,
    seed: int = 0,
) -> Solution:
    """Positions q that bring frames to their targets, by damped least squares with restarts.

    The steps are machine code, in SIMD lanes and threads over the batch. A problem that is stuck restarts
    from another position. All problems share one list of starts, so the result of one does not depend on the
    others in its batch.

    Args:
        model: the robot.
        targets: {frame: world pose (..., 4, 4), or position (..., 3)}, of frames or bodies.
        q0: where to begin, (..., nq); a random position within the limits if left out. The solution that the
            descent reaches from there is tried first.
        weights: {frame: w, or (w_rotation, w_position)} of the errors, 1 if left out. Contradictory targets
            are met in the weighted least-squares sense (and `success` is False).
        tolerance: the error that counts as solved, m and rad.
        limits: respect the joint limits.
        attempts: most kernel calls for a problem, of 10 iterations each.
        seed: of the random starts.

    Returns:
        A `Solution` with `q`, `success` and `error`.

    Raises:
        ArgumentError, ShapeError: a target that is neither a pose nor a position, an unknown frame, NaN, a
            tolerance that is not positive.
        StateError: `q0` is not a position of the model: a quaternion is not of unit length, a loop is open.
    """
    if not isinstance(model, Model):
        raise ArgumentError(
            f"inverse_kinematics: the first argument must be a kinetree Model, got a {type(model).__name__}"
        )
    if isinstance(attempts, bool) or not isinstance(attempts, (int, np.integer)) or attempts < 1:
        raise ArgumentError(f"inverse_kinematics: attempts must be a positive whole number, got {attempts!r}")
    if not isinstance(tolerance, (int, float, np.floating, np.integer)) or not 0 < tolerance < np.inf:
        raise ArgumentError(f"inverse_kinematics: tolerance must be a positive number, got {tolerance!r}")
    frames, points, goals = _read_targets(model, targets)
    start = None if q0 is None else _read("q0", q0, (model.nq,))
    try:
        batch = np.broadcast_shapes(goals.shape[:-3], () if start is None else start.shape[:-1])
    except ValueError:
        raise ShapeError("inverse_kinematics: batch axes of q0 and of the targets do not broadcast") from None
    if start is not None:
        require_sound(model, "inverse_kinematics: q0", start)
    goals = np.broadcast_to(goals, (*batch, *goals.shape[-3:])).reshape(-1, *goals.shape[-3:])
    options = {"frames": frames, "points": points, "limits": bool(limits), "iterations": ITERATIONS}
    starts = model.memo((inverse_kinematics, attempts, seed), lambda: model.random_state(seed, attempts)[0])
    work = _Problems(model, goals, _read_weights(frames, weights), options, starts)
    if start is not None:
        work.begin(np.broadcast_to(start, (*batch, model.nq)).reshape(len(goals), model.nq))
    for _ in range(attempts):
        if not work.attempt(tolerance):
            break
    work.settle(tolerance)
    error = work.error.reshape(batch)[()]
    return Solution(work.best.reshape(*batch, model.nq), error <= tolerance, error)


class _Problems:
    """A batch of problems, and the best result for each."""

    def __init__(self, model: Model, goals: Array, weights: Array, options: dict[str, Any], starts: Array):
        self.model, self.goals, self.weights, self.options = model, goals, weights, options
        self.starts = starts
        self.own = model.memo((_own_joints, options["frames"]), lambda: _own_joints(model, options["frames"]))
        self.limbs = np.flatnonzero(self.own.any(-1))
        count = len(goals)
        self.used = np.zeros(count, int)  # number of starts used by each problem
        self.next = np.empty((count, model.nq))
        self.last = np.full(count, np.inf)  # the error after the last attempt from the same start
        self.best, self.error = np.tile(starts[0], (count, 1)), np.full(count, np.inf)
        self.errors = np.full((count, len(self.own)), np.inf)
        self.fresh = np.ones(count, bool)  # to begin from the next start

    def begin(self, q: Array) -> None:
        """Begin with given positions."""
        self.next[:] = self.best[:] = q
        self.fresh[:] = False

    def attempt(self, tolerance: float) -> bool:
        """Advance all unsolved problems; False if there was none."""
        open_ = np.flatnonzero(~(self.error <= tolerance))
        if not len(open_):
            return False
        self._start(open_[self.fresh[open_]])
        q, error = self._descend(open_, self.next[open_])
        self.fresh[open_] = ~(error < PROGRESS * self.last[open_])
        self.next[open_], self.last[open_] = q, error
        return True

    def settle(self, tolerance: float) -> None:
        """Take unsolved problems to the nearest minimum of their error."""
        open_ = np.flatnonzero(~(self.error <= tolerance))
        damping = np.full(len(self.goals), DAMPING)
        for _ in range(SETTLING):
            if not len(open_):
                return
            before = self.error[open_]
            self._descend(open_, self.best[open_], damping[open_])
            damping[open_] *= np.where(self.error[open_] < before, 1.0, 4.0)
            lower = self.error[open_] < (1 - SETTLED) * before
            open_ = open_[lower | (damping[open_] < MOST_DAMPING)]

    def _descend(self, problems: Array, q: Array, damping: Any = DAMPING) -> tuple[Array, Array]:
        """Positions and errors of problems after one kernel call from q; the best are kept."""
        q, errors = self._moved(problems, q, np.broadcast_to(damping, len(problems)))
        error = np.linalg.norm(errors, axis=-1)
        better = error < self.error[problems]
        found = problems[better]
        self.best[found], self.error[found], self.errors[found] = q[better], error[better], errors[better]
        return q, error

    def _moved(self, problems: Array, q: Array, damping: Array) -> tuple[Array, Array]:
        """The result of a kernel call. A problem that the kernel refuses stays at q, with an infinite error.

        The kernel raises an error for a whole batch; halves of it, and halves of these, show which it is.
        """
        try:
            return pose_descent(self.model, q, self.goals[problems], self.weights, damping, **self.options)
        except (StateError, SingularError):
            if len(problems) == 1:
                return q, np.full((1, len(self.own)), np.inf)
        half = len(problems) // 2
        parts = [self._moved(problems[k], q[k], damping[k]) for k in (slice(half), slice(half, None))]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _start(self, problems: Array) -> None:
        """Give problems another start: random or, every other time, random only in one limb.

        The joints that move only the frame with the largest error are drawn again; the others are as in the
        best position so far. Independent limbs thus reach their targets one after the other.
        """
        number = self.used[problems]
        self.next[problems] = self.starts[number]
        some = problems[number % 2 == 1]
        if len(self.limbs) > 1 and len(some):
            worst = self.limbs[self.errors[some][:, self.limbs].argmax(-1)]
            self.next[some] = np.where(self.own[worst], self.next[some], self.best[some])
        self.used[problems] += 1
        self.last[problems] = np.inf


def _own_joints(model: Model, frames: tuple[str, ...]) -> Array:
    """(frames, nq): the coordinates that move one frame and none of the others."""
    moves = np.zeros((len(frames), model.nq), bool)
    for row, name in zip(moves, frames, strict=True):
        for body in model.path(model.frame(name)[0]):
            row[model.position_index(model.bodies[body - 1].joint_name)] = True
    return moves & (moves.sum(0) == 1)


def _read_targets(
    model: Model, targets: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[bool, ...], Array]:
    """Names, which of them are points, and the goals (..., frames, 4, 4)."""
    if not isinstance(targets, Mapping) or not targets:
        raise ArgumentError(
            "inverse_kinematics: targets must be a dict {frame: pose (4, 4) or position (3,)}, got "
            f"{targets!r}"
        )
    points, goals = [], []
    for name, given in targets.items():
        model.frame(name)  # an unknown name raises an error that lists the known ones
        is_pose = np.shape(given)[-2:] == (4, 4)
        target = _read(f"the target of {name!r}", given, (4, 4) if is_pose else (3,))
        if is_pose:
            R, last = target[..., :3, :3], target[..., 3, :]
            off = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
            if off > RIGID or (np.linalg.det(R) < 0).any() or np.any(last != (0, 0, 0, 1)):
                raise ArgumentError(
                    f"inverse_kinematics: the target of {name!r} is not a pose: its rotation must be "
                    f"orthogonal and right-handed (R^T R differs from 1 by {off:.2g}), its last row 0 0 0 1"
                )
            goals.append(target)
        else:
            goal = np.zeros((*target.shape[:-1], 4, 4))
            goal[..., :, :] = np.eye(4)
            goal[..., :3, 3] = target
            goals.append(goal)
        points.append(not is_pose)
    try:
        batch = np.broadcast_shapes(*(goal.shape[:-2] for goal in goals))
    except ValueError:
        shapes = ", ".join(f"{n!r} {g.shape[:-2]}" for n, g in zip(targets, goals, strict=True))
        raise ShapeError(
            f"inverse_kinematics: batch axes of the targets do not broadcast: {shapes}"
        ) from None
    full = [np.broadcast_to(goal, (*batch, 4, 4)) for goal in goals]
    return tuple(targets), tuple(points), np.stack(full, -3)


def _read_weights(frames: tuple[str, ...], weights: Mapping[str, Any] | None) -> Array:
    """(frames, 2): the weights of rotation and position."""
    found = np.ones((len(frames), 2))
    for name, weight in (weights or {}).items():
        if name not in frames:
            raise ArgumentError(
                f"inverse_kinematics: a weight for {name!r}, which has no target; "
                f"targets: {', '.join(frames)}"
            )
        pair = np.asarray(weight, float)
        if pair.shape not in ((), (2,)) or not (np.isfinite(pair).all() and (pair >= 0).all()):
            raise ArgumentError(
                f"inverse_kinematics: the weight of {name!r} must be a number or (rotation, position), not "
                f"negative, got {weight!r}"
            )
        found[frames.index(name)] = pair
    return found


def _read(what: str, value: Any, core: tuple[int, ...]) -> Array:
    """Finite numbers whose last axes have this shape."""
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise ArgumentError(f"inverse_kinematics: {what} holds non-numeric values: {value!r}") from None
    if array.ndim < len(core) or array.shape[array.ndim - len(core) :] != core:
        wanted = "(..., 4, 4) or (..., 3)" if what.startswith("the target") else f"(..., {core[0]})"
        raise ShapeError(f"inverse_kinematics: {what} has shape {array.shape}, but {wanted} is needed")
    if not np.isfinite(array).all():
        raise ShapeError(f"inverse_kinematics: {what} holds NaN or infinity: all numbers must be finite")
    return array
