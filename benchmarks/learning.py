"""Environments for learning: actions and steps per second, including all of `env.step`.

    python -m benchmarks.learning                          # on this processor, one core
    python -m benchmarks.learning --target cuda            # on a GPU, with PyTorch's arrays
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

STEPS = 5  # simulation steps per action


def environment(count: int, target: str, backend: str, dtype: str) -> Any:
    """The quadruped of examples/walking.py, with random friction, pushes and episodes that end."""
    from examples.walking import robots

    return robots(count, autoreset_mode="next_step", target=target, backend=backend, dtype=dtype)


def timed(env: Any, number: int) -> float:
    """Seconds per action of all robots, which trot."""
    n = env.num_envs
    env.reset(seed=0)
    phases = np.arange(50)[:, None] * 0.02 * 4 * np.pi + np.array([0, np.pi, np.pi, 0]).repeat(3)
    gait = (0.3 * np.sin(phases) * np.tile([0, 1, -1], 4)).astype(env.dtype)
    actions = [np.ascontiguousarray(np.broadcast_to(a, (n, 12))) for a in gait]
    if env.target == "cuda":
        import torch

        actions = [torch.as_tensor(a, device="cuda") for a in actions]
        wait = torch.cuda.synchronize
    else:
        wait = lambda: None  # noqa: E731
    for k in range(50):
        env.step(actions[k])
    wait()
    start = time.perf_counter()
    for k in range(number):
        env.step(actions[k % 50])
    wait()
    return (time.perf_counter() - start) / number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--robots", type=int, nargs="+", default=[])
    options = parser.parse_args()
    there = options.target == "cuda"
    for count in options.robots or ([4096, 16384, 65536, 262144] if there else [128, 4096]):
        env = environment(count, options.target, "torch" if there else "numpy", options.dtype)
        seconds = timed(env, max(20, min(400, (1 << 22) // count if there else (1 << 17) // count)))
        env.close()
        rate = count / seconds / 1e6
        print(
            f"{options.target} {options.dtype} {count:7d} robots: {seconds * 1e3:8.3f} ms an action, "
            f"{rate:8.3f} million actions and {STEPS * rate:8.2f} million steps a second",
            flush=True,
        )


if __name__ == "__main__":
    main()
