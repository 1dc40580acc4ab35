"""The page of the documentation that shows the timings."""

from __future__ import annotations

HEAD = """\
# Benchmarks

`make bench` times kinetree on your computer, beside [Pinocchio](https://github.com/stack-of-tasks/pinocchio)
and [MuJoCo](https://mujoco.org) if they are installed (`pip install kinetree[peers]`). This page is what
`python -m benchmarks --page docs/benchmarks.md` printed on the computer that it names.

## How it is measured
- Times are processor times of the calling thread: what other programs on the computer take does not count,
  but they share caches and memory with it. Medians of nine rounds in which all take turns, with half the
  distance between the quartiles in percent.
- *One call* is a call from Python for one state as a user types it: `kt.f(robot, q, v)`, whose result is a
  new array; Pinocchio's and MuJoCo's functions through their own bindings, nothing around them. MuJoCo has
  no smaller entry than `mj_inverse`, `mj_forward` and `mj_fwdPosition`, which do more than the quantity
  asked for.
- *Per state* is a batch of 4096 states (256 where a result has more than 3000 numbers) on one thread, from
  and to arrays that are there beforehand, ours and Pinocchio's. In brackets, where the results of the whole
  batch do not fit into the caches: the same for 64 states. Beyond the caches, writing the results is what
  takes the time.
- Pinocchio's batches are `rneaInParallel` and `abaInParallel` with one thread. It has no such loop for the
  rest; there (marked ~) it is a loop in Python, less the time of the same call for a single pendulum, and
  its result stays in the cache: it is overwritten by the next state.
- *compile* is the processor time from the model to the first result: tracing, passes, and machine code for
  one state.
- The table of calls has every function for one state of arm7 (where that has nothing to compute, of the
  robot in brackets): arguments by position, by name, with `out=`, as lists, and as a batch of one.
  Pinocchio's `forwardKinematics`, `framesForwardKinematics` and `computeJointJacobiansTimeVariation` do it
  for all joints or frames at once.
- Results are compared with Pinocchio's in five states of each robot, except Jacobians and Christoffel
  symbols; they agree to a relative 1e-12 or better (`--json` has the differences).

## Results
"""


def text(lines: list[str]) -> str:
    """The page with the lines that were printed."""
    return HEAD + "\n".join(lines) + "\n"
