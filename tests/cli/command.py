"""The command line as a user types it: another process, its output and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMANDS = ("info", "check", "convert", "simulate", "view", "bench", "export", "zoo", "demo")


def kinetree(
    *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `kinetree WORDS...` and wait for it."""
    return subprocess.run(
        [sys.executable, "-m", "kinetree", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def assert_one_line_error(run: subprocess.CompletedProcess[str], status: int) -> str:
    """The run printed nothing but one line on standard error, which is returned."""
    assert run.returncode == status, run.stdout + run.stderr
    assert run.stdout == ""
    assert run.stderr.startswith("kinetree") and run.stderr.count("\n") == 1, run.stderr
    assert "Traceback" not in run.stderr
    return run.stderr


def without(package: str, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command where a package is not installed."""
    hidden = f"import sys; sys.modules[{package!r}] = None"
    program = f"{hidden}; from kinetree.cli import main; sys.exit(main({words}))"
    return subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True)
