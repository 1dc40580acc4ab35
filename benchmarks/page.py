"""The documentation page with the timings."""

from __future__ import annotations

HEAD = """\
# Benchmarks

`make bench` times kinetree on your computer, alongside
[Pinocchio](https://github.com/stack-of-tasks/pinocchio) and [MuJoCo](https://mujoco.org) if they are
installed (`pip install kinetree[peers]`). This page is the output of
`python -m benchmarks --page docs/benchmarks.md` on the computer named below.

## How it is measured
- Times are CPU times of the calling thread. Time taken by other programs does not count, but they share
  caches and memory. Each figure is the median of nine rounds in which all candidates take turns, with half
  the interquartile range in percent.
- *One call* is a call from Python for one state, as a user types it: `kt.f(robot, q, v)`, which returns a
  new array. Pinocchio and MuJoCo are called directly through their own bindings. MuJoCo's smallest entry
  points are `mj_inverse`, `mj_forward` and `mj_fwdPosition`, which compute more than the quantity asked
  for.
- *Per state* is a batch of 4096 states (256 if a result has more than 3000 numbers) on one thread, with
  preallocated inputs and outputs, for kinetree and Pinocchio alike. If the results of the whole batch do
  not fit in the caches, the time per state in a batch of 64 is given in brackets. Beyond the caches, writing
  the results takes most of the time.
- Pinocchio's batches are `rneaInParallel` and `abaInParallel` with one thread. It has no such loop for
  other functions. There (marked ~) the figure is a loop in Python, minus the time of the same call for a
  single pendulum; its result stays in the cache because the next state overwrites it.
- *compile* is the CPU time from the model to the first result: tracing, passes, and machine code for one
  state.
- The table of calls has every function for one state of arm7 (or of the robot in brackets, if there is
  nothing to compute for arm7): arguments by position, by name, with `out=`, as lists, and as a batch of
  one. Pinocchio's `forwardKinematics`, `framesForwardKinematics` and `computeJointJacobiansTimeVariation`
  compute all joints or frames at once.
- Results, except Jacobians and Christoffel symbols, are compared with Pinocchio's in five states of each
  robot. They agree to a relative 1e-12 or better (`--json` has the differences).

## Results
"""


def text(lines: list[str]) -> str:
    """The page with the printed lines."""
    return HEAD + "\n".join(lines) + "\n"
