"""`kinetree completion`: a shell script that completes commands, options and robots of the zoo."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from kinetree.cli.source import ZOO, robots
from kinetree.cli.status import OK

SUMMARY = "print a shell completion script"
DESCRIPTION = """Print a script that completes commands, options, their values and robots of the zoo. Load
it in your shell's startup file."""
EXAMPLES = """  eval "$(kinetree completion bash)"        # in ~/.bashrc
  eval "$(kinetree completion zsh)"         # in ~/.zshrc
  kinetree completion fish | source         # in config.fish"""

BASH = """\
_kinetree() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" zoo="{zoo}" options="" values=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "$command" in
{cases}
    esac
    if [ "$word" = ":" ] && [ "$before" = "zoo" ]; then
        COMPREPLY=($zoo)
    elif [ "$before" = ":" ] && [ "${{COMP_WORDS[COMP_CWORD-2]}}" = "zoo" ]; then
        COMPREPLY=($(compgen -W "$zoo" -- "$word"))
    elif [ -n "$values" ]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
    elif [ "${{word#-}}" != "$word" ]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
    else
        local robot names=""
        for robot in $zoo; do names="$names zoo:$robot"; done
        COMPREPLY=($(compgen -W "$names" -- "$word") $(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _kinetree kinetree
"""
CASE = """\
    {name})
        options="{options}"
        case "$before" in
{values}
        esac ;;"""
ZSH = "autoload -Uz bashcompinit && bashcompinit\n"


class Option(NamedTuple):
    """An option of a command, with its possible values and its help text."""

    name: str
    values: tuple[str, ...]
    about: str


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell to complete in")


def run(options: argparse.Namespace) -> int:
    print(SHELLS[options.shell](), end="")
    return OK


def commands() -> dict[str, tuple[str, list[Option]]]:
    """The summary and the options of each command."""
    from kinetree.cli import COMMANDS, parser

    (known,) = (a.choices for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {name: (command.SUMMARY, _options(known[name])) for name, command in COMMANDS.items()}


def _options(parser: argparse.ArgumentParser) -> list[Option]:
    return [
        Option(name, tuple(map(str, action.choices or ())), action.help or "")
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--")
    ]


def bash() -> str:
    """The script for bash."""
    cases = []
    for name, (_, options) in commands().items():
        values = [f'        {o.name}) values="{" ".join(o.values)}" ;;' for o in options if o.values]
        if name == "completion":
            values.append(f'        completion) values="{" ".join(SHELLS)}" ;;')
        names = " ".join(o.name for o in options)
        cases.append(CASE.format(name=name, options=names, values="\n".join(values)))
    return BASH.format(zoo=" ".join(robots()), commands=" ".join(commands()), cases="\n".join(cases))


def zsh() -> str:
    """The script for zsh, which runs the bash script."""
    return ZSH + bash()


def fish() -> str:
    """The script for fish."""
    lines = []
    for name, (about, options) in commands().items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines.append(f"complete -c kinetree -n __fish_use_subcommand -a {name} -d {_quoted(about)}")
        for o in options:
            given = f" -xa '{' '.join(o.values)}'" if o.values else ""
            lines.append(f"complete -c kinetree {seen} -l {o.name[2:]}{given} -d {_quoted(o.about)}")
        lines.append(f"complete -c kinetree {seen} -a '{' '.join(ZOO + robot for robot in robots())}'")
    lines.append(f"complete -c kinetree -n '__fish_seen_subcommand_from completion' -xa '{' '.join(SHELLS)}'")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("%%", "%").replace("'", "\\'") + "'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
