"""The page of the command line, from the parsers themselves."""

from __future__ import annotations

import argparse

from docs import docstrings
from kinetree.cli import COMMANDS, STATUSES, parser


def command_line() -> str:
    """Every command with its arguments and examples."""
    top = parser()
    lines = [
        "# Command line",
        "",
        "FILE is a robot file, `-` for standard input, or a robot of the zoo, such as `zoo:puma560`.",
        f"{STATUSES.capitalize()}. Under `--json` errors are JSON too.",
        "",
        "The examples below run on these files:",
        "",
        "```python",
        "import kinetree as kt",
        "",
        'for name in ("panda.urdf", "hand.urdf", "robot.xml", "humanoid.xml"):',
        "    kt.save(kt.zoo.arm7(), name)",
        "```",
        "",
        "| command | |",
        "|---|---|",
        *(
            f"| [`kinetree {name}`](#kinetree-{name}) | {command.SUMMARY} |"
            for name, command in COMMANDS.items()
        ),
    ]
    (commands,) = (
        action.choices for action in top._actions if isinstance(action, argparse._SubParsersAction)
    )
    for name, command in COMMANDS.items():
        lines += ["", f"## kinetree {name}", "", docstrings.joined(command.DESCRIPTION), ""]
        lines += ["```sh", *(row.strip() for row in command.EXAMPLES.split("\n")), "```", ""]
        lines += ["| argument | |", "|---|---|", *(row(action) for action in commands[name]._actions)]
    return "\n".join(lines) + "\n"


def row(action: argparse.Action) -> str:
    """An argument and what it is."""
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    value = f" `{action.metavar}`" if action.option_strings and action.metavar and action.nargs != 0 else ""
    about = (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")
    return f"| {names}{value} | {docstrings.cell(about)} |"
