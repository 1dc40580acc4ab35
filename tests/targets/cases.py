"""Models in a few states, what an algorithm gives for them eagerly, and how accurate that can be."""

from __future__ import annotations

import zlib
from functools import cache, cached_property
from typing import Any

import numpy as np
from tests.model.samples import rich_model
from tests.reference.mechanism import ALL_TYPES, Mechanism
from tests.reference.random_mechanism import random_mechanism
from tests.targets import recipes

import kinetree as kt
from kinetree.sweep import REGISTRY, Algorithm

STATES = 4
EPS = float(np.finfo(np.float64).eps)
# How the rounding errors of single precision scale to those of double precision.
FINER = EPS / float(np.finfo(np.float32).eps)
# Relative changes of inputs and inertias that show the conditioning of a result; how many to draw, and how
# many if a result seems to be wrong: few may miss the changes that matter most.
STEP, DRAWS, MANY = 1e-6, 3, 40
# The errors of all operations on the way to a result add up to this many times that of one.
SPREAD = 8.0
# In a common frame distances are those from the root body, not along one link.
COMMON = 4.0
# Where the mass matrix is inverted, errors pass through it twice; in a common frame, where inertias about the
# root body are subtracted from one another, the squares of distances count too.
INVERTING = ("inverse_mass_matrix", "forward_dynamics_derivatives")
BODY = ("unrolled", "looped", "eager batch")  # what computes in the frames of bodies
ULPS = 8.0

Outputs = tuple[np.ndarray, ...]


class Setting:
    """One algorithm with the inputs and options that it gets in one case."""

    def __init__(self, case: Case, algorithm: Algorithm, optional: bool = True):
        rng = np.random.default_rng([case.seed, zlib.crc32(algorithm.name.encode())])
        self.case, self.algorithm, self.model = case, algorithm, case.model
        self.options = recipes.options(algorithm, case.model, rng)
        self.inputs = recipes.inputs(algorithm, case.model, case.q, rng)
        if not optional:
            self.inputs = {a.name: self.inputs[a.name] for a in algorithm.inputs if not a.optional}
        self.present = tuple(self.inputs)

    def __repr__(self) -> str:
        options = "".join(f", {k}={v!r}" for k, v in self.options.items())
        return f"{self.algorithm.name}({self.case.label}, {', '.join(self.present)}{options})"

    @property
    def flat(self) -> list[np.ndarray]:
        """The inputs as rows of numbers, one for each state."""
        return [array.reshape(STATES, -1) for array in self.inputs.values()]

    @cached_property
    def eager(self) -> Outputs:
        """What plain Python gives, state by state."""
        function = getattr(kt, self.algorithm.name)
        found = [
            function(self.model, **{k: x[s] for k, x in self.inputs.items()}, **self.options, target="eager")
            for s in range(STATES)
        ]
        rows = [f if isinstance(f, tuple) else (f,) for f in found]
        return tuple(np.array(part, float) for part in zip(*rows, strict=True))

    @cached_property
    def tolerances(self) -> list[float]:
        """How far apart two correct evaluations may be: by what the results change, in double precision,
        when every input and every inertia changes in its last places.
        """
        return self._tolerances(DRAWS)

    def look_closer(self) -> None:
        """Measure the tolerances with many more draws."""
        self.tolerances = self._tolerances(MANY)

    def _tolerances(self, draws: int) -> list[float]:
        tolerances = []
        for near, exact in zip(self.nearby(draws), self.eager, strict=True):
            moved = float(np.abs(near - exact).max(initial=0.0)) / STEP
            size = self.size + float(np.abs(exact).max(initial=0.0))
            tolerances.append(EPS * (SPREAD * moved + ULPS * size))
        return tolerances

    def nearby(self, draws: int) -> Outputs:
        """What plain Python gives with all numbers moved by a relative STEP up or down, some times anew."""
        rng = np.random.default_rng([draws, self.case.seed])

        def moved(x: np.ndarray, size: Any) -> np.ndarray:
            return x + STEP * size * rng.choice([-1.0, 1.0], (draws, *x.shape))

        inputs = {k: moved(x, max(1.0, float(np.abs(x).max(initial=0.0)))) for k, x in self.inputs.items()}
        if self.model.loops and "q" in inputs:
            inputs["q"] = self.model.assemble(inputs["q"])
        own = {"parameters": self.model.parameters, "gravity": np.array(self.model.gravity, float)}
        numbers = {k: moved(x, np.abs(x))[:, None] for k, x in own.items()}
        function = getattr(kt, self.algorithm.name)
        found = function(self.model, **inputs, **numbers, **self.options, target="eager")
        return found if isinstance(found, tuple) else (found,)

    @cached_property
    def size(self) -> float:
        """How large the terms of a sum may be that is zero: inertias times the inputs of the state."""
        inertias = [p for node in self.model.nodes for m in node.members for p in m.inertia.parameters]
        largest = max([1.0, *(abs(float(p)) for p in inertias)])
        inputs = max([1.0, *(float(np.abs(x).max(initial=0.0)) for x in self.inputs.values())])
        return largest * inputs**2

    def worst(self, results: Any) -> float:
        """The largest error of results relative to the tolerance."""
        ratio = 0.0
        for found, exact, tolerance in zip(results, self.eager, self.tolerances, strict=True):
            array = np.asarray(found, float)
            assert array.size == exact.size, f"{self}: {array.shape} is not {exact.shape}"
            array = array.reshape(exact.shape)
            assert np.isfinite(array).all(), f"{self}: not finite: {array}"
            ratio = max(ratio, float(np.abs(array - exact).max(initial=0.0)) / tolerance)
        return ratio


def allowed(way: str, algorithm: Algorithm) -> float:
    """How many tolerances a target may be off."""
    if way == "compiled float32":
        return 1.0 / FINER
    common, inverts = algorithm.pairs and way not in BODY, algorithm.name in INVERTING
    return COMMON ** (common + inverts + (common and inverts))


def off(setting: Setting, way: str, results: Any) -> float:
    """How far off the results of a target are, relative to what is allowed; at most 1 if they are right."""
    limit = allowed(way, setting.algorithm)
    limit *= COMMON if setting.model.loops else 1.0  # whose equations are solved on the way
    if setting.worst(results) > limit:
        setting.look_closer()
    return setting.worst(results) / limit


class Case:
    """A model and some of its configurations."""

    def __init__(self, label: str, seed: int, model: kt.Model, mechanism: Mechanism | None = None):
        self.label, self.seed, self.model = label, seed, model
        rng = np.random.default_rng([seed, 2])
        source: Any = mechanism or model
        if model.loops:  # closing them takes as long for one state as for some
            self.q = model.random_state(rng, STATES)[0]
        else:
            self.q = np.array([source.random_state(rng)[0] for _ in range(STATES)]).reshape(STATES, model.nq)
        self._settings: dict[str, Setting] = {}

    def setting(self, name: str) -> Setting:
        if name not in self._settings:
            self._settings[name] = Setting(self, REGISTRY[name])
        return self._settings[name]


@cache
def tree(seed: int, most: int = 5) -> Case:
    """A random tree of few bodies. Its joints are of a few types, so that nodes of one kind differ in their
    numbers; rotors, mimic joints, armatures, fixed joints and forests are all there.
    """
    rng = np.random.default_rng([seed, 60])
    types = tuple(rng.choice(ALL_TYPES, size=int(rng.integers(1, 5)), replace=False))
    if seed % 20 == 7:
        types = ("fixed",)  # no coordinates at all
    plain = seed % 3 == 0  # many nodes of one kind
    mechanism = random_mechanism(
        rng,
        int(rng.integers(1, most + 1)),
        types=types,
        roots=0.2,
        rotors=0.0 if plain else 0.3,
        mimics=0.0 if plain else 0.4,
        armatures=0.0 if plain else 0.3,
    )
    if seed % 20 == 7:
        mechanism = _all_fixed(mechanism)
    builder = mechanism.build()
    return Case(f"tree {seed}", seed, builder, mechanism)


def _all_fixed(mechanism: Mechanism) -> Mechanism:
    from dataclasses import replace

    bodies = tuple(replace(b, type="fixed", mimic=None, armature=0.0) for b in mechanism.bodies)
    return Mechanism(bodies, (), mechanism.gravity)


ZOO: dict[str, Any] = {
    "pendulum": kt.zoo.pendulum,
    "double_pendulum": kt.zoo.double_pendulum,
    "cart_pole": kt.zoo.cart_pole,
    "chain": lambda: kt.zoo.chain(4),
    "tree": lambda: kt.zoo.tree(5, 2),
    "auto_tree": lambda: kt.zoo.auto_tree(5, 1.5, 0.2, 0.95),
    "star": lambda: kt.zoo.star(4),
    "puma560": kt.zoo.puma560,
    "arm7": kt.zoo.arm7,
    "quadruped": kt.zoo.quadruped,
    "biped": kt.zoo.biped,
    "humanoid": kt.zoo.humanoid,
    "spacecraft": kt.zoo.spacecraft,
    "rich": rich_model,  # every feature at once, with frames on bodies and on the world
}


@cache
def robot(name: str) -> Case:
    """A robot of the zoo."""
    return Case(name, zlib.crc32(name.encode()), ZOO[name]())


@cache
def motionless(bodies: int) -> Case:
    """A model without coordinates, of bodies that are fixed to the world or to each other."""
    builder = kt.ModelBuilder(f"{bodies} fixed bodies")
    inertia = kt.Inertia(1.0, (0.1, 0.2, 0.3), ((0.4, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 0.6)))
    for k in range(bodies):
        builder.add_body(
            f"b{k}", f"b{k - 1}" if k else "world", kt.Fixed(), kt.Pose(p=(0.1, 0.2, k)), inertia
        )
    return Case(builder.name, bodies, builder.build())


@cache
def massless(link: float) -> Case:
    """A link of the given mass that carries links without mass; armatures keep the dynamics regular."""
    builder = kt.ModelBuilder(f"link of {link} kg")
    nothing = kt.Inertia(0.0, (0, 0, 0), ((0, 0, 0), (0, 0, 0), (0, 0, 0)))
    inertia = kt.Inertia(link, (0.1 * link, 0.2 * link, 0.0), np.eye(3).tolist()) if link else nothing
    for k in range(3):
        builder.add_body(
            f"b{k}",
            "b0" if k else "world",
            kt.Revolute((0, 0, 1)),
            kt.Pose(p=(0.1, 0.2 * k, 0.3)),
            nothing if k else inertia,
            armature=0.1,
        )
    return Case(builder.name, int(link), builder.build(check="finite"))
