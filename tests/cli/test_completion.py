"""Shells complete commands, options, values and robots of the zoo."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.cli.command import COMMANDS, assert_one_line_error, kinetree

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture(scope="module")
def script():
    return kinetree("completion", "bash").stdout


def completed(script: str, *words: str) -> list[str]:
    """What bash offers for the last of the words, divided as bash does."""
    quoted = " ".join(f"'{word}'" for word in words)
    call = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _kinetree"
    tail = f"{call}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    run = subprocess.run(["bash", "-c", f"{script}\n{tail}"], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return run.stdout.split()


@needs_bash
@pytest.mark.parametrize(
    "words, expected",
    [
        (("kinetree", "in"), ["info"]),
        (("kinetree", "info", "--rep"), ["--repair"]),
        (("kinetree", "info", "--base", ""), ["fixed", "free"]),
        (("kinetree", "export", "--dtype", "float3"), ["float32"]),
        (("kinetree", "info", "zoo", ":", "quad"), ["quadruped"]),
        (("kinetree", "info", "zoo:quad"), ["zoo:quadruped"]),  # as zsh divides words
        (("kinetree", "completion", ""), ["bash", "zsh", "fish"]),
    ],
)
def test_bash(script, words, expected):
    assert completed(script, *words) == expected


@needs_bash
def test_every_command_and_every_robot(script):
    assert set(completed(script, "kinetree", "")) == set(COMMANDS)
    assert {"pendulum", "puma560", "humanoid"} <= set(completed(script, "kinetree", "info", "zoo", ":"))


def test_other_shells():
    zsh, fish = (kinetree("completion", shell) for shell in ("zsh", "fish"))
    assert zsh.returncode == 0 and zsh.stdout.startswith("autoload -Uz bashcompinit")
    assert fish.returncode == 0
    for name in COMMANDS:
        assert f"-a {name} -d " in fish.stdout
    assert "-l repair" in fish.stdout and "zoo:puma560" in fish.stdout
    assert all(line.startswith("complete -c kinetree ") for line in fish.stdout.splitlines())


def test_an_unknown_shell():
    run = kinetree("completion", "tcsh")
    assert "tcsh" in assert_one_line_error(run, 2)
