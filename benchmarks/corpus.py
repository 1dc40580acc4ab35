"""`python -m benchmarks.corpus DIRECTORY`: how a directory of robot files loads, as a table.

Every URDF and MJCF file is loaded as it is and with repair, and its forward dynamics is evaluated once. The
same URDF files go to Pinocchio and, without their meshes (which may be missing), to MuJoCo, where installed.
`--write` puts the tables into docs/robot-files.md.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

import kinetree as kt
from kinetree.io import rules, words
from kinetree.io.lint import lint
from kinetree.io.sdf_words import SDF
from kinetree.io.splice import Splice
from kinetree.io.usd_words import USD
from kinetree.io.xml import read_xml

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "robot-files.md"
SHARED = ROOT.parent / "shared" / "corpus"


class Count(NamedTuple):
    """The outcome for all files of one kind."""

    files: int  # well-formed files that are complete robots
    loaded: int
    finite: int  # finite forward dynamics
    singular: int  # refused, with a named error
    nan: int
    seconds: float  # longest load


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus", description=__doc__.split("\n\n")[0])
    parser.add_argument("directory", nargs="?", type=Path, default=SHARED, help="where the files are")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/robot-files.md")
    asked = parser.parse_args()
    page = between(PAGE.read_text(), "rules", rules.table())
    known_words = (("urdf", words.URDF), ("mjcf", words.MJCF), ("sdf", SDF), ("usd", USD))
    for name, known in known_words:
        page = between(page, name, words.table(known))
    if asked.directory.is_dir():
        tables = outcome_table(asked.directory) + "\n\n" + finding_table(asked.directory)
        print(tables)
        page = between(page, "corpus", tables)
    else:
        print(f"there is no directory {asked.directory}", file=sys.stderr)
    if asked.write:
        PAGE.write_text(page)
    return 0


def between(text: str, name: str, inner: str) -> str:
    """The text with everything between `<!-- name -->` and `<!-- end -->` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.S)
    return pattern.sub(lambda match: f"{match[1]}{inner}\n{match[2]}", text)


def urdfs(directory: Path) -> list[Path]:
    """Every URDF file that is well-formed XML."""
    return [path for path in sorted(directory.rglob("*.urdf")) if root_of(path) == "robot"]


def mjcfs(directory: Path) -> list[Path]:
    """Every MJCF file that stands alone: parts to be included have no worldbody."""
    return [path for path in sorted(directory.rglob("*.xml")) if root_of(path) == "mujoco" and _stands(path)]


def _stands(path: Path) -> bool:
    """Whether an MJCF file has bodies of its own, or includes some."""
    data = path.read_bytes()
    has_bodies = b"<worldbody" in data and b"<body" in data
    return has_bodies or "tree-empty" not in {finding.rule for finding in lint(path)}


def root_of(path: Path) -> str:
    """The tag of the root element, "" if there is none."""
    data = path.read_bytes()
    if data[:1].isspace() or b"\0" in data:  # kinetree reads it, but it is not well-formed
        return ""
    try:
        return read_xml(data, path.name).tag
    except kt.errors.ModelError:
        return ""


def outcome_table(directory: Path) -> str:
    """How many files load and move, in kinetree and in its peers."""
    robots, models = urdfs(directory), mjcfs(directory)
    rows = [
        ("URDF", "kinetree", ours(robots, repair=False)),
        ("URDF", "kinetree, `repair=True`", ours(robots, repair=True)),
    ]
    with quiet():
        rows += [("URDF", name, count) for name, count in peers(robots)]
    rows += [
        ("MJCF", "kinetree", ours(models, repair=False)),
        ("MJCF", "kinetree, `repair=True`", ours(models, repair=True)),
    ]
    heads = (
        "format",
        "read by",
        "files",
        "load",
        "finite accelerations",
        "error with a name",
        "NaN",
        "slowest",
    )
    lines = ["| " + " | ".join(heads) + " |", "|---|---|--:|--:|--:|--:|--:|--:|"]
    for kind, name, count in rows:
        share = 100 * count.loaded / max(count.files, 1)
        lines.append(
            f"| {kind} | {name} | {count.files} | {count.loaded} ({share:.1f} %) | {count.finite} | "
            f"{count.singular} | {count.nan} | {count.seconds:.2f} s |"
        )
    return "\n".join(lines)


def ours(paths: list[Path], repair: bool) -> Count:
    """The outcome of kinetree on the files."""
    rng = np.random.default_rng(0)
    tally: Counter[str] = Counter()
    longest = 0.0
    for path in paths:
        begin = time.perf_counter()
        try:
            model = kt.load(path, repair=repair)
        except kt.errors.ModelError:
            continue
        longest = max(longest, time.perf_counter() - begin)
        tally["loaded"] += 1
        q, v = model.random_state(rng)
        try:
            a = kt.forward_dynamics(model, q, v, np.zeros(model.nv), target="eager")
        except kt.errors.SingularError:
            tally["singular"] += 1
        else:
            tally["finite" if np.all(np.isfinite(a)) else "nan"] += 1
    return Count(len(paths), tally["loaded"], tally["finite"], tally["singular"], tally["nan"], longest)


def peers(paths: list[Path]) -> list[tuple[str, Count]]:
    """The outcome of Pinocchio and MuJoCo on the URDF files, where they are installed."""
    found = []
    for name, accelerations in (("Pinocchio", pinocchio), ("MuJoCo", mujoco)):
        try:
            __import__(name.lower())
        except ImportError:
            continue
        tally: Counter[str] = Counter()
        longest = 0.0
        for path in paths:
            begin = time.perf_counter()
            try:
                a = accelerations(path)
            except (ValueError, RuntimeError, UnicodeDecodeError):
                continue
            longest = max(longest, time.perf_counter() - begin)
            tally["loaded"] += 1
            tally["finite" if np.all(np.isfinite(a)) else "nan"] += 1
        found.append((name, Count(len(paths), tally["loaded"], tally["finite"], 0, tally["nan"], longest)))
    return found


def pinocchio(path: Path) -> np.ndarray:
    """Accelerations by Pinocchio at a random state."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path))
    rng = np.random.default_rng(0)
    q = pin.integrate(model, pin.neutral(model), rng.standard_normal(model.nv))
    return pin.aba(model, model.createData(), q, rng.standard_normal(model.nv), np.zeros(model.nv))


def mujoco(path: Path) -> np.ndarray:
    """Accelerations by MuJoCo at the zero position of the file without its meshes."""
    import mujoco as mj

    model = mj.MjModel.from_xml_string(without_meshes(path))
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    return np.array(data.qacc)


def without_meshes(path: Path) -> str:
    """The text of a URDF without the visuals and collisions that are meshes."""
    data = path.read_bytes()
    splice = Splice(data)
    root = read_xml(data, path.name)
    for element in root.children:
        if element.tag == "mujoco":
            splice.replace(element, "")
        for part in element.all("visual", "collision"):
            if any(inner.tag == "mesh" for inner in part.walk()):
                splice.replace(part, "")
    return splice.result()


def finding_table(directory: Path) -> str:
    """In how many files each rule reports a finding, the most frequent first."""
    lines = ["| rule | severity | URDF files | MJCF files |", "|---|---|--:|--:|"]
    counts = [
        Counter(rule for path in paths for rule in {f.rule for f in lint(path)})
        for paths in (urdfs(directory), mjcfs(directory))
    ]
    for rule, _ in (counts[0] + counts[1]).most_common():
        lines.append(f"| `{rule}` | {rules.RULES[rule].severity} | {counts[0][rule]} | {counts[1][rule]} |")
    return "\n".join(lines)


class quiet:
    """Silences the output of C++ libraries."""

    def __enter__(self) -> None:
        self.saved, self.nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(self.nowhere, 2)

    def __exit__(self, *_: object) -> None:
        os.dup2(self.saved, 2)
        os.close(self.saved)
        os.close(self.nowhere)


if __name__ == "__main__":
    raise SystemExit(main())
