"""Write the pages of docs/algorithms from the algorithms themselves.

python docs/generate.py             write the pages
python docs/generate.py --check     exit with status 1 if a page is not what would be written
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from kinetree.arguments import taken

import kinetree as kt
from kinetree import algorithms, derived, drives
from kinetree.sweep import REQUIRED, Algorithm

FOLDER = Path(__file__).parent / "algorithms"

# What users look for, in this order; every algorithm stands in exactly one group.
GROUPS = {
    "Where things are and how they move": (
        "placements body_velocities body_accelerations frame_placement frame_velocity frame_acceleration "
        "jacobian jacobian_rate partial_velocities center_of_mass center_of_mass_velocity "
        "center_of_mass_jacobian"
    ),
    "Equations of motion": "inverse_dynamics forward_dynamics hybrid_dynamics bias_force gravity_force",
    "The mass matrix": (
        "mass_matrix inverse_mass_matrix mass_matrix_rate mass_matrix_product mass_matrix_solve "
        "mass_matrix_logdet mass_matrix_trace composite_inertias composite_moments articulated_inertias"
    ),
    "Velocity-dependent terms": (
        "coriolis_matrix coriolis_matrices coriolis_product coriolis_transpose_product christoffel_symbols"
    ),
    "Energy and momentum": (
        "kinetic_energy potential_energy momentum centroidal_momentum centroidal_momentum_matrix "
        "centroidal_momentum_matrix_rate system_inertia"
    ),
    "Forces between bodies": (
        "joint_wrenches constraint_forces base_reaction composite_wrenches articulated_wrenches"
    ),
    "The same by other routes": (
        "inverse_dynamics_composite inverse_dynamics_inertial forward_dynamics_concurrent "
        "gravity_force_composite mass_matrix_inertial composite_moments_walker_orin"
    ),
}

EXAMPLE = {"frame": 'frame="lower"', "accelerate": 'accelerate=["elbow"]'}


def main(arguments: list[str]) -> int:
    pages = {FOLDER / f"{name}.md": page(entry) for name, entry in listed().items()}
    pages[FOLDER / "index.md"] = index()
    pages[FOLDER / "derived.md"] = derived_page()
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    extra = [path for path in FOLDER.glob("*.md") if path not in pages]
    if "--check" in arguments:
        for path in stale + extra:
            print(f"{path.relative_to(FOLDER.parent)} is not what docs/generate.py writes: run it")
        return 1 if stale or extra else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages.items():
        path.write_text(text)
    for path in extra:
        path.unlink()
    return 0


def listed() -> dict[str, Algorithm]:
    """The algorithms of all groups by name; one that no group lists is an error."""
    names = [name for group in GROUPS.values() for name in group.split()]
    missing = set(algorithms.__all__) - set(names)
    if missing or len(set(names)) != len(names):
        raise SystemExit(f"docs/generate.py: list every algorithm once; missing: {sorted(missing)}")
    return {name: getattr(algorithms, name) for name in names}


def page(entry: Algorithm) -> str:
    """The page of one algorithm: what it gives, the equation, how to call it, the text."""
    source = Path(inspect.getsourcefile(entry.text) or "").name
    rows = [
        f"| `{name}` | {shape} | {meaning}{given(default)} |"
        for name, default, shape, meaning in taken(entry)
    ]
    outputs = [f"`{a.name}` {a.text}" for a in entry.outputs]
    summary, rest = described(entry.text)
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
            "| argument | shape | meaning |",
            "|---|---|---|",
            "| `model` | | the robot |",
            *rows,
            "",
            f"Returns {', '.join(outputs)}. `...` are leading batch axes, broadcast over all inputs.",
            "",
            f"## The text (`kinetree/algorithms/{source}`)",
            "",
            "```text",
            code(entry.text),
            "```",
            "",
        ]
    )


def given(default: Any) -> str:
    return "" if default is REQUIRED or default is None else f"; default `{default!r}`"


def example(entry: Algorithm) -> list[str]:
    """A call that runs, on a robot with two joints."""
    values = {"q": "q", "v": "v"}
    arguments = [values.get(a.name, "np.ones(robot.nv)") for a in entry.inputs if not a.optional]
    needed = [name for name, value in entry.options.items() if value is REQUIRED or value == ()]
    call = f"kt.{entry.name}(robot, {', '.join(arguments + [EXAMPLE[name] for name in needed])})"
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
    """The source of a text without its docstring."""
    source = inspect.getsource(function)
    return re.sub(r'\n    """.*?"""', "", source, count=1, flags=re.S).rstrip()


def index() -> str:
    """The list of all algorithms by purpose."""
    lines = [
        "# Algorithms",
        "",
        "Every algorithm is one short text over the tree; it runs eagerly (any kind of number), unrolled,",
        "and as loops.",
        "Symbols: [notation](../notation.md). What is made of them: [derived functions](derived.md).",
        "",
        "Costs: N bodies, d the depth of the tree.",
    ]
    entries = listed()
    for title, names in GROUPS.items():
        lines += ["", f"## {title}", "", "| function | gives | cost |", "|---|---|---|"]
        for name in names.split():
            summary, rest = described(entries[name].text)
            found = re.search(r"O\([^)]*\)", summary + " " + rest)
            first = re.split(r"[.:](?:\s|$)", summary)[0]
            lines.append(f"| [`{name}`]({name}.md) | {first} | {found.group() if found else ''} |")
    return "\n".join(lines) + "\n"


def derived_page() -> str:
    """The functions that are made of others."""
    lines = [
        "# Derived functions",
        "",
        "Functions of a model that are made of [algorithms](index.md). Dense forms of the equations, for",
        "checks and for readers of the papers, are in `kinetree.alternatives`.",
    ]
    for module in (derived, drives):
        for name, function in vars(module).items():
            public = inspect.isfunction(function) and function.__module__ == module.__name__
            if public and hasattr(kt, name) and not name.startswith("_"):
                summary, rest = described(function)
                lines += ["", f"## {name}", "", f"`kt.{name}{signature(function)}`", "", summary, "", rest]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def signature(function: Any) -> str:
    """The signature without annotations."""
    found = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
