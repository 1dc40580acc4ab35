"""The command line as a user types it: another process, its output and its exit status."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kinetree.cli import main

COMMANDS = """
    info check convert simulate sweep view bench export zoo tables examples demo completion
""".split()


def kinetree(
    *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `kinetree WORDS...` in a process of its own, forked from one that has imported it."""
    arguments = [str(word) for word in words]
    if not hasattr(os, "fork"):
        return subprocess.run(
            [sys.executable, "-m", "kinetree", *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["kinetree.cli", "kinetree.functions", "kinetree.io", "tests.cli.command"])
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "out"), Path(folder, "err")
        settings = {**os.environ, **environment}
        process = context.Process(target=_run, args=(arguments, cwd or Path.cwd(), settings, *files))
        process.start()
        process.join(300)
        assert process.exitcode is not None, f"kinetree {arguments} takes longer than 300 s"
        out, err = (file.read_text("utf-8") for file in files)
    return subprocess.CompletedProcess(arguments, process.exitcode, out, err)


def _run(words: list[str], cwd: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    """The command in the process that was made for it, with all that a shell sets up."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8") for number in (1, 2))
    sys.argv = ["kinetree", *words]
    sys.exit(main())


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
