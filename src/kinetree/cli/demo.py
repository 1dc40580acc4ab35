"""`kinetree demo`: two robots, their dynamics in one state, and the laws that the numbers obey."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from kinetree.cli import info
from kinetree.cli.progress import progress
from kinetree.cli.status import FINDINGS, OK, Misuse
from kinetree.cli.text import Style, duration, indent, plural, table

if TYPE_CHECKING:
    import numpy as np

    from kinetree.model import Model

SUMMARY = "two robots, their dynamics, and the laws that they obey"
DESCRIPTION = """Build two robots of the zoo, print their dynamics in one state, check the laws of mechanics
on the numbers, and time the compiled code."""
EXAMPLES = "  kinetree demo\n  kinetree demo --seed 7"

BATCH = 4096
SMALL = 8  # matrices up to this size are printed as numbers, larger ones as shades
TIMED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=1, help="of the random states (default 1)")


def run(options: argparse.Namespace) -> int:
    import numpy as np

    from kinetree import zoo

    if options.seed < 0:
        raise Misuse(f"--seed is {options.seed}; give a number from 0 up")
    style = Style(sys.stdout)
    arm, quadruped = zoo.puma560(), zoo.quadruped()
    broken = 0
    for title, model in (("A robot arm", arm), ("A quadruped on a floating base", quadruped)):
        heading(style, title)
        broken += show(style, model, np.random.default_rng(options.seed))
    heading(style, "Speed")
    print(f"  The same functions, compiled for each robot, on a batch of {BATCH} states:\n")
    print(indent(speed((arm, quadruped))) + "\n")
    if broken:
        print(style.bad(f"{plural(broken, 'law')} broken"))
        return FINDINGS
    print(style.good("every law holds"))
    return OK


def heading(style: Style, title: str) -> None:
    line = style.glyph("─", "-")
    print(style.bold(f"{line * 2} {title} ".ljust(78, line)) + "\n")


def show(style: Style, model: Model, rng: np.random.Generator) -> int:
    """Print one robot in one state; returns how many laws it breaks."""
    import kinetree as kt
    from kinetree.cli.laws import laws

    q, v = model.random_state(rng)
    a = rng.standard_normal(model.nv)
    M = kt.mass_matrix(model, q)
    info.write(style, model)
    print(f"\n{style.bold('Mass matrix')} M(q) in a random state\n")
    print(indent(numbers(M) if model.nv <= SMALL else picture(style, M)))
    print(f"\n{style.bold('Inverse dynamics')}: which forces tau give the acceleration a?")
    print(f"{style.bold('Forward dynamics')}: which acceleration do no forces give?\n")
    columns = {
        "v": v,
        "a": a,
        "tau": kt.inverse_dynamics(model, q, v, a),
        "a if tau = 0": kt.forward_dynamics(model, q, v, 0 * a),
    }
    rows = [[label, *(f"{x[k]:.4f}" for x in columns.values())] for k, label in enumerate(coordinates(model))]
    print(indent(table(rows, ["", *columns], "<>")))
    print(f"\n{style.bold('Laws')} that these numbers obey, with the relative error\n")
    found = laws(model, q, v, a)
    rows = []
    for law in found:
        mark = style.good(style.glyph("✓", "ok")) if law.holds else style.bad(style.glyph("✗", "BROKEN"))
        rows.append([mark, law.name, law.remark or f"{law.residual:.1e}"])
    print(indent(table(rows, align="<")) + "\n")
    return sum(not law.holds for law in found)


def coordinates(model: Model) -> list[str]:
    """A label for each velocity: the name of its joint, numbered where the joint has several."""
    labels = []
    for name in model.joint_names:
        where = model.coordinate_index(name)
        count = where.stop - where.start
        labels += [name] if count == 1 else [f"{name} {k}" for k in range(1, count + 1)]
    return labels


def numbers(matrix: np.ndarray) -> str:
    """A matrix in aligned columns."""
    return table([[f"{x:.4f}" for x in row] for row in matrix], align=">")


def picture(style: Style, matrix: np.ndarray) -> str:
    """A matrix in shades of magnitude; what is blank is zero because the bodies are on different branches."""
    import numpy as np

    shades = style.glyph("·░▒▓█", ".:+*#")
    with np.errstate(divide="ignore"):
        decades = np.log10(np.abs(matrix) / np.abs(matrix).max())
    lines = []
    for row in decades:
        marks = (" " if x == -np.inf else shades[max(0, len(shades) - 1 + int(np.ceil(x)))] for x in row)
        lines.append("".join(2 * mark for mark in marks).rstrip())
    lower = "  ".join(f"{2 * shade} {1 - len(shades) + k}" for k, shade in enumerate(shades))
    return "\n".join([*lines, "", style.dim(f"blank: no common motion; decades below the largest: {lower}")])


def speed(models: Iterable[Model]) -> str:
    """Time per state of compiled code over a batch."""
    import numpy as np

    import kinetree as kt
    from kinetree.cli.timing import best

    rng = np.random.default_rng(0)
    rows: list[list[Any]] = []
    for model in models:
        q, v = (np.array(x) for x in zip(*(model.random_state(rng) for _ in range(BATCH))))
        a = rng.standard_normal(v.shape)
        for name in progress(TIMED, len(TIMED), f"timing {model.name}"):
            function = getattr(kt, name)
            arguments = (q,) if name == "mass_matrix" else (q, v, a)
            seconds = best(partial(function, model, *arguments)) / BATCH
            flops = kt.compile(function, model).ops["flops"]
            rows.append([model.name, name, f"{flops:,} flops", f"{duration(seconds)} per state"])
    return table(rows, align="<<>>")
