"""The computer of the timings, and timings that need a process of their own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from kinetree.compiler.runtime.machine import host

_IMPORT = """
import time
started = time.perf_counter()
{imports}
print(time.perf_counter() - started)
"""

_FIRST_CALL = """
import time, numpy as np, llvmlite.binding, kinetree as kt
robot = kt.zoo.{robot}()
q, v = robot.random_state(np.random.default_rng(0))
kt.{function}, kt.compile
started = time.perf_counter()
kt.{function}(robot, q, v, v)
print(time.perf_counter() - started)
"""


def description() -> dict[str, Any]:
    """Processor, cores and versions."""
    names = ("kinetree", "numpy", "llvmlite", "pin", "mujoco")
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "vector bits": 8 * host().vector_bytes,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.partition(':')[2].strip()} ({host().cpu})"
    except OSError:
        pass
    return f"{platform.processor()} ({host().cpu})"


def starts() -> dict[str, float]:
    """Seconds to import, and for the first call in a new process without and with machine code on disk."""
    result = {
        "import numpy, llvmlite": _best(_IMPORT.format(imports="import numpy, llvmlite.binding")),
        "import numpy, llvmlite, kinetree": _best(
            _IMPORT.format(imports="import numpy, llvmlite.binding, kinetree")
        ),
    }
    for robot, function in (("arm7", "inverse_dynamics"), ("humanoid", "forward_dynamics")):
        text = _FIRST_CALL.format(robot=robot, function=function)
        with tempfile.TemporaryDirectory() as home:
            result[f"first call, {robot} {function}"] = _run(text, home)
            result[f"first call, {robot} {function}, from disk"] = min(_run(text, home) for _ in range(3))
    return result


def _best(text: str) -> float:
    return min(_run(text, "") for _ in range(5))


def _run(text: str, home: str) -> float:
    environment = os.environ | ({"XDG_CACHE_HOME": home} if home else {})
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)
