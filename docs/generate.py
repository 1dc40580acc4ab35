"""Write the pages of docs/algorithms and the stub of the package from the functions themselves.

python -m docs.generate             write the files
python -m docs.generate --check     exit with status 1 if a file is not what would be written
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import kinetree as kt
from docs import stubs
from kinetree.functions import SWEEPS
from kinetree.names import FUNCTIONS, HOMES
from kinetree.stages import Function
from kinetree.stages.arguments import taken
from kinetree.sweep import REQUIRED
from kinetree.sweep.signature import MODEL_INPUTS
from kinetree.sweep.vocabulary import WORDS

FOLDER = Path(__file__).parent / "algorithms"

COMMON = [*(a.name for a in MODEL_INPUTS), "out", "target"]  # keywords of every function
EXAMPLE = {"frame": 'frame="lower"', "accelerate": 'accelerate=["elbow"]'}


def main(words: list[str]) -> int:
    pages = {FOLDER / f"{name}.md": page(entry) for name, entry in listed().items()}
    pages[FOLDER / "index.md"] = index()
    pages[FOLDER / "derived.md"] = derived_page()
    pages[stubs.FILE] = stubs.text()
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    extra = [path for path in FOLDER.glob("*.md") if path not in pages]
    if "--check" in words:
        for path in stale + extra:
            print(f"{path} is out of date: run python -m docs.generate")
        return 1 if stale or extra else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages.items():
        path.write_text(text)
    for path in extra:
        path.unlink()
    return 0


def listed() -> dict[str, Function]:
    """The algorithms of all groups by name; one that no group lists is an error."""
    names = [name for group in FUNCTIONS.values() for name in group.split()]
    missing = set(SWEEPS) - set(names)
    if missing or len(set(names)) != len(names):
        raise SystemExit(f"kinetree/names.py: list every algorithm once; missing: {sorted(missing)}")
    return {name: SWEEPS[name] for name in names}


def page(entry: Function) -> str:
    """The page of one algorithm: what it gives, the equation, how to call it, its body."""
    source = Path(inspect.getsourcefile(entry.body) or "").name
    outputs = [f"`{a.name}` {a.text}" for a in entry.outputs]
    summary, rest = described(entry.body)
    return "\n".join(
        [
            f"# {entry.name}",
            "",
            summary,
            "",
            "```python",
            *example(entry),
            "```",
            "",
            rest,
            "",
            "## Arguments and result",
            "",
            *arguments(entry),
            "",
            f"Returns {', '.join(outputs)}. `...` are leading batch axes, broadcast over all inputs.",
            "",
            f"## The body (`kinetree/algorithms/{source}`)",
            "",
            "```text",
            code(entry.body),
            "```",
            "",
        ]
    )


def arguments(entry: Function) -> list[str]:
    """The table of the arguments that are not common to all functions."""
    rows = [row for row in taken(entry) if row[0] not in COMMON]
    return [
        "| argument | shape | meaning |",
        "|---|---|---|",
        "| `model` | | the robot |",
        *(f"| `{name}` | {shape} | {about}{given(default)} |" for name, default, shape, about in rows),
    ]


def given(default: Any) -> str:
    return "" if default is REQUIRED or default is None else f"; default `{default!r}`"


def example(entry: Function) -> list[str]:
    """A call that runs, on a robot with two joints."""
    values = {"q": "q", "v": "v"}
    given = [values.get(a.name, "np.ones(robot.nv)") for a in entry.inputs if not a.optional]
    needed = [name for name, value in entry.options.items() if value is REQUIRED or value == ()]
    call = f"kt.{entry.name}(robot, {', '.join(given + [EXAMPLE[name] for name in needed])})"
    names = ", ".join(a.name for a in entry.outputs)
    return [
        "import numpy as np",
        "import kinetree as kt",
        "",
        "robot = kt.zoo.double_pendulum()",
        "q, v = robot.random_state(np.random.default_rng(0))",
        f"{names} = {call}",
    ]


def described(function: Any) -> tuple[str, str]:
    """The first sentence of a docstring, and the rest with equations as blocks."""
    text = inspect.getdoc(function) or ""
    summary, _, rest = text.partition("\n\n")
    blocks = []
    for block in re.split(r"\n\s*\n", rest):
        if block.startswith("    "):
            blocks.append("```text\n" + textwrap.dedent(block) + "\n```")
        elif block.startswith("Raises:"):
            errors = re.findall(r"^ +(\w+): (.*?)$", block, re.M)
            blocks.append("\n".join(f"- raises `{name}` {reason}" for name, reason in errors))
        else:
            blocks.append(re.sub(r"^(Reference|Cost)\b:?", r"**\1:**", joined(block)))
    return joined(summary), "\n\n".join(blocks)


def joined(block: str) -> str:
    """A paragraph on one line, asterisks of operators kept as they are."""
    line = " ".join(part.strip() for part in block.split("\n"))
    return re.sub(r"(?<![\\`])\*", r"\\*", line)


def code(function: Any) -> str:
    """The source of a body, and of the parts that it shares with others, without docstrings."""
    shown = [function]
    for each in shown:  # grows while it is read
        named = (each.__globals__.get(name) for name in each.__code__.co_names)
        parts = (part for part in named if inspect.isfunction(part) and part not in shown)
        shown += [part for part in parts if part.__module__.startswith("kinetree.algorithms")]
    sources = [re.sub(r'\n    """.*?"""', "", inspect.getsource(x), count=1, flags=re.S) for x in shown]
    return "\n\n\n".join(source.rstrip() for source in sources)


def index() -> str:
    """The list of all algorithms by purpose."""
    lines = [
        "# Algorithms",
        "",
        "Every algorithm has one short body over the tree; it runs eagerly (any kind of number), unrolled,",
        "and as loops.",
        "Symbols: [notation](../notation.md). What is made of them: [derived functions](derived.md).",
        "",
        "Every function takes the model, its own arguments by position or name, and these by name:",
        "",
        "| keyword | shape | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {shape(name)} | {WORDS[name].text} |" for name in COMMON),
        "",
        "Costs: N bodies, d the depth of the tree.",
    ]
    entries = listed()
    for title, names in FUNCTIONS.items():
        lines += ["", f"## {title}", "", "| function | gives | cost |", "|---|---|---|"]
        for name in names.split():
            summary, rest = described(entries[name].body)
            found = re.search(r"O\([^)]*\)", summary + " " + rest)
            first = re.split(r"[.:](?:\s|$)", summary)[0]
            lines.append(f"| [`{name}`]({name}.md) | {first} | {found.group() if found else ''} |")
    return "\n".join(lines) + "\n"


def shape(name: str) -> str:
    """The shape of an argument of the vocabulary; nothing for what is not an array."""
    core = WORDS[name].shape
    return "" if core is None else f"({', '.join(['...', *map(str, core)])})"


def derived_page() -> str:
    """The functions that are made of others."""
    lines = [
        "# Derived functions",
        "",
        "Functions of a model that are made of [algorithms](index.md) and compile as they do. Dense forms of",
        "the equations, for checks and for readers of the papers, are in `kinetree.alternatives`.",
    ]
    for module in ("kinetree.derived", "kinetree.drives"):
        for name in HOMES[module].split():
            entry = getattr(kt, name)
            summary, rest = described(getattr(entry, "body", entry))
            lines += ["", f"## {name}", "", summary, "", rest]
            if isinstance(entry, Function):
                outputs = ", ".join(f"`{a.name}` {a.text}" for a in entry.outputs)
                lines += ["", *arguments(entry), "", f"Returns {outputs}."]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
