"""What every command has in common: help, errors of one line, exit statuses."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.cli.command import COMMANDS, assert_one_line_error, kinetree
from tests.cli.robots import urdf

from kinetree.cli.text import width


def test_help_lists_every_command():
    run = kinetree("--help")
    assert run.returncode == 0 and run.stderr == ""
    for name in COMMANDS:
        assert re.search(rf"\n    {name}\s", run.stdout)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_an_example(name):
    run = kinetree(name, "--help")
    assert run.returncode == 0 and run.stderr == ""
    examples = run.stdout.split("examples:")[1]
    assert f"kinetree {name}" in examples and "exit status" in examples


def test_help_needs_no_wide_terminal():
    for name in COMMANDS:
        assert max(map(len, kinetree(name, "--help", COLUMNS="80").stdout.split("\n"))) <= 80


def test_version():
    run = kinetree("--version")
    assert run.returncode == 0 and run.stdout == "kinetree 0.1.0\n"


def test_nothing_typed_shows_the_help_as_bad_use():
    run = kinetree()
    assert run.returncode == 2 and run.stdout == "" and "usage: kinetree" in run.stderr


BAD_USE = {
    "unknown command": (["inof", "zoo:puma560"], "Did you mean 'info'?"),
    "unknown command, nothing near": (["frobnicate"], "Commands: info"),
    "unknown option": (["info", "zoo:puma560", "--colour"], "--colour"),
    "unknown option before the command": (["--loud", "info", "zoo:puma560"], "--loud"),
    "no file": (["info"], "FILE"),
    "no file to check": (["check"], "FILE"),
    "two files where one goes": (["info", "zoo:puma560", "zoo:arm7"], "zoo:arm7"),
    "missing file": (["info", "nowhere.urdf"], "there is no file 'nowhere.urdf'"),
    "missing file to check": (["check", "nowhere.urdf"], "there is no file 'nowhere.urdf'"),
    "missing file to bench": (["bench", "nowhere.urdf"], "there is no file 'nowhere.urdf'"),
    "missing file to export": (["export", "nowhere.urdf"], "there is no file 'nowhere.urdf'"),
    "missing specification of a sweep": (["sweep", "zoo:arm7", "--spec", "nowhere.toml"], "'nowhere.toml'"),
    "an ending that is not known": (["convert", "zoo:arm7", "arm.foo"], "'arm.foo' must end in .urdf"),
    "a directory": (["info", "."], "is a directory"),
    "an empty name": (["info", ""], "kinetree"),
    "a name that is too long": (["info", "x" * 5000], "kinetree"),
    "a stranger to the zoo": (["info", "zoo:puma506"], "Did you mean 'puma560'?"),
    "a zoo without a name": (["info", "zoo:"], "It has: "),
    "a module of the zoo": (["info", "zoo:__init__"], "the zoo has no"),
    "an argument that is not a number": (["info", "zoo:chain:many"], "many"),
    "too many arguments": (["info", "zoo:pendulum:1,2,3,4,5,6,7,8,9"], "zoo:pendulum"),
    "a robot of the zoo to check": (["check", "zoo:puma560"], "is not a file"),
    "an unknown format": (["info", "zoo:puma560", "--format", "dae"], "dae"),
    "a tolerance that is not a number": (["info", "zoo:puma560", "--snap", "near"], "near"),
    "an unknown function": (
        ["export", "zoo:puma560", "--function", "inverse_dynamcis"],
        "'inverse_dynamics'",
    ),
    "a private function": (["export", "zoo:puma560", "--function", "__init__"], "__init__"),
    "a prefix that C cannot take": (["export", "zoo:puma560", "--prefix", "a-b"], "--prefix"),
    "output without fix": (["check", "robot.urdf", "--output", "x.urdf"], "--fix"),
    "output for two files": (
        ["check", "a.urdf", "b.urdf", "--fix", "--output", "x.urdf"],
        "exactly one FILE",
    ),
    "an unknown level": (["check", "robot.urdf", "--level", "fatal"], "fatal"),
    "an unknown dtype": (["bench", "zoo:puma560", "--dtype", "float16"], "float16"),
    "no states": (["bench", "zoo:puma560", "--batch", "0"], "--batch"),
    "a batch that is not a number": (["bench", "zoo:puma560", "--batch", "x"], "--batch"),
    "a seed below zero": (["demo", "--seed", "-1"], "--seed"),
    "a seed that is not a number": (["demo", "--seed", "x"], "--seed"),
    "an argument for the demo": (["demo", "puma560"], "puma560"),
    "steering characters": (["info", "\033[31mred"], "\\x1b[31mred"),
    "a line break": (["info", "two\nlines"], "two\\nlines"),
}


@pytest.mark.parametrize("words, expected", BAD_USE.values(), ids=BAD_USE)
def test_bad_use(words, expected, tmp_path):
    (tmp_path / "robot.urdf").write_text(urdf())
    assert expected in assert_one_line_error(kinetree(*words, cwd=tmp_path), 2)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs file permissions that bind")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.urdf"
    path.write_text(urdf())
    path.chmod(0)
    assert "cannot be read" in assert_one_line_error(kinetree("info", path), 2)


BROKEN = {
    "empty": "",
    "no XML": "not a robot",
    "cut off": "<robot",
    "nothing in it": "<robot name='x'/>",
    "a NUL": "\0",
    "a mass that is not a number": urdf(mass="much"),
}


@pytest.mark.parametrize("name", ["info", "bench", "export"])
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_a_finding(name, text, tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text(text)
    assert "broken.urdf" in assert_one_line_error(kinetree(name, path), 1)


def test_traceback_on_demand(tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text("<robot")
    run = kinetree("info", path, "--traceback")
    assert (
        run.returncode == 1
        and "Traceback" in run.stderr
        and run.stderr.rstrip().split("\n")[-1].startswith("kinetree")
    )


@pytest.mark.skipif(os.name != "posix", reason="pipes of a POSIX shell")
def test_a_reader_that_goes_away_is_no_error():
    command = f"'{sys.executable}' -m kinetree info zoo:chain:3000 | head -n 1"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    assert run.stdout.count("\n") == 1 and run.stderr == ""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_interrupt_is_one_line():
    """Also where the tests themselves run in the background, with the signal ignored."""
    for wait in (2.0, 10.0):  # the second time for a computer that takes long to start Python
        process = subprocess.Popen(
            [sys.executable, "-m", "kinetree", "bench", "zoo:humanoid", "--seconds", "20"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=60)
        if process.returncode == 130:
            break
    assert process.returncode == 130 and complaint.count("\n") == 1 and "Traceback" not in complaint


def test_no_colour_in_a_pipe():
    assert "\033" not in kinetree("info", "zoo:puma560").stdout


def test_plain_characters_where_the_terminal_has_no_others():
    run = kinetree("info", "zoo:puma560", PYTHONIOENCODING="ascii")
    assert run.returncode == 0 and run.stdout.isascii()


def on_a_terminal(*words: str, **settings: str) -> tuple[int, str]:
    """Exit status and output of a command whose standard output and error are a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | settings
    process = subprocess.Popen(
        [sys.executable, "-m", "kinetree", *words], stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    output = b""
    with contextlib.suppress(OSError):  # Linux reports the end this way
        while block := os.read(ours, 65536):
            output += block
    os.close(ours)
    return process.wait(timeout=60), output.decode()


def test_colour_on_a_terminal():
    status, output = on_a_terminal("info", "zoo:puma560")
    assert status == 0 and "\033[1m" in output


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize(
    "command", ["zoo", "info zoo:quadruped", "info zoo:humanoid", "info zoo:gripper", "info zoo:no"]
)
def test_output_fits_the_terminal(command, columns):
    words = command.split()
    _, output = on_a_terminal(*words, COLUMNS=str(columns))
    output = re.sub(r"\r|\033\[\d+m", "", output)
    assert max(map(width, output.split("\n"))) <= columns
    piped = kinetree(*words)
    said, shown = (set(re.findall(r"[\w.]+", text)) for text in (piped.stdout + piped.stderr, output))
    assert said - shown <= {"robot", "arguments", "joint", "notes"}  # headers at most


def test_a_wide_terminal_shows_the_same_as_a_pipe():
    _, output = on_a_terminal("info", "zoo:gripper", COLUMNS="200", NO_COLOR="1")
    assert output.replace("\r", "") == kinetree("info", "zoo:gripper").stdout


def test_progress_on_a_terminal_leaves_no_trace(tmp_path):
    files = []
    for k in range(40):
        files.append(str(tmp_path / f"arm{k}.urdf"))
        (tmp_path / f"arm{k}.urdf").write_text(urdf())
    status, output = on_a_terminal("check", *files)
    assert status == 0 and "checking [" in output
    drawn, _, rest = output.rpartition("\r\033[2K")  # the bar is wiped before the results are printed
    assert "arm0.urdf" not in drawn and "arm39.urdf" in rest
