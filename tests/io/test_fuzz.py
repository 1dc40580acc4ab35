"""Mutated robot files: a model with finite numbers, or an error with a name. Nothing else, ever.

KINETREE_FUZZ sets the number of files (5,000 by default; tests/soak/files.py tries a million). A failure
prints the seed of the file; `mutated(seed)` makes it again.
"""

from __future__ import annotations

import os
import random
import re
import warnings

import numpy as np
import pytest
from tests.conftest import share
from tests.io.seeds import SEEDS

import kinetree as kt
from kinetree.io.fix import fix
from kinetree.io.lint import lint

FILES = int(os.environ.get("KINETREE_FUZZ", "5000"))
SLICES = 10

NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
WORD = re.compile(r'(?<==")[^"]*(?=")')
TAG = re.compile(r"<[a-z:]+[^<>]*>")
ODD = "0 -0 1 -1 1e-300 1e300 1e400 -1e30 1e30 nan inf -inf 1,5 0x1 3.14159 1.5707963 1e-9 . - e +".split()
ODD += ["", " ", "1 2 3", "${x}", "&#10;", "&lt;", "a'b", "world", "true", "x" * 300, "\u0661", "1e-320"]


def mutated(seed: int) -> str | bytes:
    """A seed file after one to four random changes."""
    chance = random.Random(seed)
    text = SEEDS[chance.choice(sorted(SEEDS))]
    for _ in range(chance.choice((1, 1, 2, 4))):
        text = chance.choice(CHANGES)(text, chance)
    if chance.random() < 0.1:
        return _bytes(text.encode(), chance)
    return text


def _number(text: str, chance: random.Random) -> str:
    return _swap(text, NUMBER, chance.choice(ODD), chance)


def _word(text: str, chance: random.Random) -> str:
    words = WORD.findall(text)
    return _swap(text, WORD, chance.choice([*words, *ODD]), chance)


def _swap(text: str, pattern: re.Pattern[str], new: str, chance: random.Random) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + new + text[match.end() :]


def _tag(text: str, chance: random.Random) -> str:
    """Drop, double or move a tag."""
    found = list(TAG.finditer(text))
    if not found:
        return text
    match, other = chance.choice(found), chance.choice(found)
    new = chance.choice(("", match.group() * 2, other.group(), match.group().replace("/>", ">")))
    return text[: match.start()] + new + text[match.end() :]


def _span(text: str, chance: random.Random) -> str:
    """Drop, double or repeat elsewhere a piece of the text."""
    a, b = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    at = chance.randrange(len(text) + 1)
    b = min(b, a + 400)
    return chance.choice(
        (text[:a] + text[b:], text[:b] + text[a:], text[:at] + text[a:b] + text[at:], text[:a])
    )


def _line(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    k = chance.randrange(len(lines))
    lines[k:k] = [chance.choice(lines)]
    return "\n".join(lines)


def _bytes(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 5)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


CHANGES = (_number, _number, _number, _word, _word, _tag, _span, _line)


def finite(model: kt.Model) -> bool:
    """Whether every number of a model is finite."""
    values = [*model.gravity]
    for body in model.bodies:
        values += [*body.inertia.parameters, *body.placement.p, *(x for row in body.placement.R for x in row)]
        values += [*body.joint.parameters, *body.armature, *body.damping, *body.friction, *body.stiffness]
    for part in (*model.rotors, *model.frames):
        values += [*part.placement.p, *(x for row in part.placement.R for x in row)]
    return bool(np.all(np.isfinite(np.array(values, dtype=float))))


def moves_or_says_why(model: kt.Model) -> bool:
    """Whether forward dynamics is finite, or refused with a name."""
    q, v = model.random_state(np.random.default_rng(0))
    try:
        a = kt.forward_dynamics(model, q, v, np.zeros(model.nv), target="eager")
    except kt.errors.SingularError:
        return True
    return bool(np.all(np.isfinite(a)))


@pytest.mark.parametrize("part", share(range(SLICES), 2))
def test_mutated_files_load_or_say_why_not(part):
    assert loaded(range(part, FILES, SLICES)) > FILES / SLICES / 10


def loaded(seeds: range) -> int:
    """How many of the mutated files load; each must do so with finite numbers, or be refused by name."""
    count = 0
    for seed in seeds:
        content = mutated(seed)
        try:
            with warnings.catch_warnings(action="ignore", category=kt.errors.FileWarning):
                model = kt.load(
                    content,
                    repair=seed % 3 == 0,
                    base=(None, "free", "fixed")[seed % 7 % 3],
                    snap=1e-3 * (seed % 2),
                )
        except (kt.errors.ModelError, kt.errors.MissingPackageError) as error:  # it may look like USD
            assert str(error), seed
            continue
        count += 1
        assert finite(model), seed
        if seed % 8 == 0:
            assert moves_or_says_why(model), seed
    return count


def test_mutated_files_can_be_linted_and_fixed():
    repaired = 0
    for seed in range(0, FILES, 20):
        content = mutated(seed)
        findings = lint(content)
        try:
            text, changes = fix(content)
        except kt.errors.ModelError:
            continue
        if changes:
            repaired += 1
            left = {f.rule for f in lint(text) if f.fixable and f.severity == "error"}
            assert not left, (seed, left, findings)
    assert repaired or FILES < 1000


def test_mutation_is_repeatable():
    assert [mutated(k) for k in range(50)] == [mutated(k) for k in range(50)]
