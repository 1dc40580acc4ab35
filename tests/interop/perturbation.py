"""One attribute of an MJCF file changed: the model here changes as MuJoCo's does, or a finding names it.

`python -m tests.interop.perturbation [DIRECTORY] [--files N]` goes through the files of a directory. Meshes
that are not there are replaced by boxes, and what only makes a picture is left out.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.corpus import SHARED, mjcfs
from tests.interop.seen import JOINTS, OTHER, RefusedError, Seen, seen
from tests.io import shapes

import kinetree as kt
from kinetree.interop.mujoco import mass_matrix_of
from kinetree.io.mjcf_spec import MAIN, Defaults, expand_includes
from kinetree.io.paths import Reach
from kinetree.io.report import Finding, Log
from kinetree.io.text import attributes
from kinetree.io.xml import Element, read_xml

_LOOKS = ("texture", "material", "skin", "visual", "statistic", "size")
_REFERENCES = """name class childclass joint joint1 joint2 body body1 body2 geom geom1 geom2 site site1 site2
tendon tendon1 tendon2 mesh hfield material file meshdir texturedir assetdir model prefix objtype objname
actuator reftype refname plugin instance key value target sidesite cranksite slidersite refsite jointinparent
content_type dclass plane subtree camera""".split()
_SWITCHES = {"true": "false", "false": "true", "enable": "disable", "disable": "enable", "auto": "true"}
_WORDS = {
    "type": ("slide", "hinge", "ball", "box", "capsule", "cylinder", "ellipsoid", "sphere"),
    "inertia": ("convex", "shell", "legacy", "exact"),
    "angle": ("degree", "radian"),
    "eulerseq": ("zyx", "XYZ"),
    "fluidshape": ("ellipsoid", "none"),
    "integrator": ("RK4", "Euler"),
}


# --- files that stand on their own ---
def assembled(path: Path, folder: Path) -> Element:
    """The file with its includes, and boxes instead of its meshes, which are written to `folder`."""
    root = read_xml(path.read_bytes(), str(path))
    expand_includes(root, Reach(path.resolve().parent))
    defaults = Defaults(root, Log())
    for element in root.walk():
        element.attributes.pop("material", None)
        element.children = [child for child in element.children if child.tag not in _LOOKS]
        if element.tag == "compiler":
            for name in ("meshdir", "texturedir", "assetdir", "strippath"):
                element.attributes.pop(name, None)
    for section in root.all("asset"):
        for mesh in section.all("mesh"):
            _stand_in(mesh, defaults.resolve(mesh, MAIN), folder)
    return root


def _stand_in(mesh: Element, resolved: Element, folder: Path) -> None:
    """Write a box for a mesh; its size comes from the name of its file, and is a robot's after scaling."""
    file = Path((mesh.get("file") or "").replace("\\", "/"))
    if not file.name:
        return
    scale = np.array([float(x) for x in (resolved.get("scale") or "1 1 1").split()])
    seed = np.random.default_rng(zlib.crc32(str(file).encode()))
    points, faces = shapes.box(*seed.uniform(0.03, 0.1, 3), at=seed.uniform(-0.05, 0.05, 3))
    name = f"{zlib.crc32(str(file).encode()):x}.stl"
    (folder / name).write_bytes(shapes.stl(points / scale, faces))
    mesh.attributes["name"] = mesh.get("name") or file.stem
    mesh.attributes["file"] = name
    mesh.attributes.pop("content_type", None)


def text_of(element: Element) -> str:
    lines: list[str] = []
    stack: list[Element | str] = [element]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        lines.append(f"<{item.tag}{attributes(**item.attributes)}>")
        stack += [f"</{item.tag}>", *reversed(item.children)]
    return "\n".join(lines)


# --- perturbations ---
def perturbed(name: str, value: str) -> Iterator[str]:
    """Other values of an attribute; the first that MuJoCo takes counts."""
    if name in _REFERENCES:
        return
    if name in _WORDS:
        yield from (word for word in _WORDS[name] if word != value)
        return
    if value in _SWITCHES:
        yield _SWITCHES[value]
        return
    words = value.split()
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return
    if not numbers:
        return
    if all(re.fullmatch(r"-?\d+", word) for word in words):
        yield " ".join(str(int(x) + 1 + k) for k, x in enumerate(numbers))
    yield " ".join(repr(1.07 * x + (0.03 + 0.01 * k if x == 0 else 0.0)) for k, x in enumerate(numbers))
    yield " ".join(repr(1.07 * x) for x in numbers)
    yield " ".join([repr(1.07 * numbers[0]), *words[1:]])
    yield " ".join(repr(x + 0.01) for x in numbers)


def targets(root: Element) -> Iterator[tuple[Element, str, str]]:
    """(element, attribute, path of tags): each attribute of each kind of element once."""
    known, stack = set(), [(root, root.tag)]
    while stack:
        element, path = stack.pop()
        for name in element.attributes:
            key = (path if "body" not in path else f"body/{element.tag}", name)
            if key not in known:
                known.add(key)
                yield element, name, path
        inner = [child for child in element.children]
        stack += [(child, f"{path}/{child.tag}") for child in reversed(inner)]


def named(findings: list[Finding], element: Element, attribute: str, path: str) -> bool:
    """Whether a finding speaks of an attribute, or a warning of its element or section."""
    word = re.compile(rf"(?<![\w]){re.escape(attribute)}(?![\w])")
    tags = set(path.split("/")[1:]) - {"worldbody", "body", "geom", "joint", "default", "option", "compiler"}
    for f in findings:
        if word.search(f.problem):
            return True
        said = f"{f.where.element} {f.problem}"
        if f.severity == "warning" and any(re.search(rf"<?\b{re.escape(tag)}\b", said) for tag in tags):
            return True
    return False


@dataclass
class Outcome:
    """What became of one file."""

    tried: int = 0
    changed: int = 0  # perturbations that change something in MuJoCo
    silent: list[str] | None = None


def judged(before: Seen, after: Seen) -> list[str]:
    """The names of what changed otherwise here than in MuJoCo."""
    wrong = []
    for name in before.ours:
        if after.agrees(name):
            continue
        shapes_kept = all(
            x.shape == after.ours[name].shape
            for x in (before.ours[name], before.theirs[name], after.theirs[name])
        )
        if shapes_kept and not before.agrees(name):
            here, there = after.ours[name] - before.ours[name], after.theirs[name] - before.theirs[name]
            size = np.max(np.abs(after.theirs[name]), initial=0.0)
            if np.allclose(here, there, rtol=1e-6, atol=1e-7 * size + 1e-12, equal_nan=True):
                continue
        said = " ".join(f"{f.where.element} {f.problem}" for f in after.findings)
        if name == OTHER and re.search("gravcomp|fluid|tendon|actuator", said):
            continue
        if name == JOINTS and "springdamper" in said:  # its stiffness follows from masses
            continue
        wrong.append(name)
    return wrong


def examine(root: Element, folder: Path) -> Outcome:
    """Change each attribute in turn, and list those that were changed in silence."""
    outcome = Outcome(silent=[])
    before = _with(root, folder)
    for element, name, path in list(targets(root)):
        for other in perturbed(name, element.attributes[name]):
            if try_one(root, folder, before, element, name, path, other, outcome):
                break
    return outcome


def try_one(
    root: Element, folder: Path, before: Seen, element: Element, name: str, path: str, other: str,
    outcome: Outcome,
) -> bool:  # fmt: skip
    """Give an attribute another value; False if MuJoCo does not take it."""
    assert outcome.silent is not None
    label = f"<{path.split('/', 1)[-1]} {name}={element.get(name)!r}> -> {other!r}"
    kept = dict(element.attributes)
    element.attributes[name] = other
    try:
        after = _with(root, folder)
    except RefusedError:
        return False
    except kt.errors.FileError as error:
        if not named([error.finding], element, name, path):
            outcome.silent.append(f"{label}: refused: {error}")
        return True
    except kt.errors.ModelError as error:
        outcome.silent.append(f"{label}: {error}")
        return True
    finally:
        element.attributes = kept
    outcome.tried += 1
    outcome.changed += after.moved(before)
    wrong = judged(before, after)
    if wrong and not named(after.findings, element, name, path):
        outcome.silent.append(f"{label}: {', '.join(wrong)}")
    return True


def _with(root: Element, folder: Path) -> Seen:
    (folder / "main.xml").write_text(text_of(root))
    return seen(folder / "main.xml")


def candidates(directory: Path) -> list[Path]:
    """Files whose parts can be put together, without other models and plugins: one of each robot first."""
    found: dict[int, list[Path]] = {}
    robots: Counter[Path] = Counter()
    for path in sorted(mjcfs(directory), key=lambda path: ("scene" in path.name, path)):
        text = path.read_text(errors="replace")
        if "<attach" not in text and "<plugin" not in text and "worldbody" in text:
            found.setdefault(robots[path.parent], []).append(path)
            robots[path.parent] += 1
    return [path for _, paths in sorted(found.items()) for path in paths]


# --- attributes that a file does not have ---
VALUES = [" ".join(f"{0.3 + 0.1 * k:.1f}" for k in range(n)) for n in range(1, 8)]
VALUES += ["true", "false", "enable", "disable", "1 2", "2", "0 2", "none", "ellipsoid", "shell", "-1.1 2.2"]


def schema(mujoco) -> dict[str, set[str]]:
    """Element -> attributes, as MuJoCo lists them, of the sections that a model of a tree has."""
    found: dict[str, set[str]] = {}
    path: list[str] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head = re.match(r"( *)(\S+) \([!?*R]\) *(.*)", line)
        if head is not None:
            path[len(head[1]) // 3 :] = [head[2].replace("(world)body", "body")]
            line = head[3]
        if path:
            found.setdefault("/".join(path[1:]), set()).update(line.split())
    return found


def fingerprint(mujoco, text: str, folder: Path) -> np.ndarray | None:
    """What MuJoCo makes of a text at one state of its own; None if it refuses it."""
    (folder / "try.xml").write_text(text)
    try:
        twin = mujoco.MjModel.from_xml_path(str(folder / "try.xml"))
    except ValueError:
        return None
    data, rng = mujoco.MjData(twin), np.random.default_rng(3)
    twin.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_integratePos(twin, data.qpos, rng.normal(size=twin.nv), 1.0)
    data.qvel = rng.normal(size=twin.nv)
    mujoco.mj_forward(twin, data)
    M = mass_matrix_of(mujoco, twin, data)
    parts = (M, data.qfrc_bias, data.qfrc_passive, twin.dof_frictionloss, twin.jnt_range, twin.jnt_limited)
    return np.concatenate([np.ravel(part).astype(float) for part in parts])


def added(root: Element, folder: Path, step: int = 1) -> Iterator[tuple[Element, str, str, str]]:
    """(element, attribute, path, value): what MuJoCo knows, a file does not have, and changes its motion."""
    import mujoco

    known, before = schema(mujoco), fingerprint(mujoco, text_of(root), folder)
    assert before is not None
    stack, done = [(root, "")], set()
    while stack:
        element, path = stack.pop()
        stack += [(child, f"{path}/{child.tag}".strip("/")) for child in reversed(element.children)]
        listed = re.sub(r"^worldbody(/body)*", "body", path)
        listed = re.sub(r"^default(/default)*", "default", listed)
        for name in sorted(known.get(listed, known.get(f"body/{element.tag}", set()))):
            if name in element.attributes or name in _REFERENCES or (listed, name) in done:
                continue
            done.add((listed, name))
            if len(done) % step:
                continue
            for value in (*VALUES, *_WORDS.get(name, ())):
                element.attributes[name] = value
                after = fingerprint(mujoco, text_of(root), folder)
                del element.attributes[name]
                if after is not None and (after.shape != before.shape or not np.allclose(after, before)):
                    yield element, name, f"mujoco/{path}", value
                    break


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path, default=SHARED)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--largest", type=int, default=40, help="degrees of freedom")
    asked = parser.parse_args()
    done = total = changed = 0
    silent: dict[str, str] = {}
    for path in candidates(asked.directory):
        if done >= asked.files:
            break
        with tempfile.TemporaryDirectory() as name:
            try:
                root = assembled(path, Path(name))
                if not 0 < len(_with(root, Path(name)).ours["bias"]) <= asked.largest:
                    continue
                outcome = examine(root, Path(name))
            except (RefusedError, kt.errors.KinetreeError) as error:
                print(f"-- {path.name}: {str(error).splitlines()[0][:120]}", flush=True)
                continue
        done, total, changed = done + 1, total + outcome.tried, changed + outcome.changed
        label = path.relative_to(asked.directory)
        print(f"{label}: {outcome.tried}, {len(outcome.silent or ())} silent", flush=True)
        for line in outcome.silent or ():
            print("   ", line[:200], flush=True)
            silent[line] = path.name
    print(f"{done} files, {total} perturbations, {changed} change the motion, {len(silent)} in silence")
    return bool(silent)


if __name__ == "__main__":
    sys.exit(main())
