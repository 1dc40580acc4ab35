"""A program prepared for this machine: LLVM text and machine code for one state, and for a batch.

Artifacts are cached: text by a key that determines the program, machine code by its text. So a process that
knows the key needs no program, and programs that differ only in their tables share machine code. Text is
printed when first needed if the program can be recreated, else at once.
"""

from __future__ import annotations

import json
import time
import weakref
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from kinetree.compiler.emit.llvm import emit, table_bytes
from kinetree.compiler.ir.graph import Block, Loop, Part, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.compiler.runtime import cache, native
from kinetree.compiler.runtime.description import Core, Description
from kinetree.compiler.runtime.loaded import Loaded, Variant
from kinetree.compiler.runtime.machine import Target, host, lock
from kinetree.ops import PRIMITIVES, Expr

VERSION = "9"  # of everything that determines the text of a program
GUESS = 10.0  # assumed iterations of a while loop
FEW = 4.0  # assumed iterations of a loop with early exit
NAMES = ("one", "run")  # of the variants
KEPT = 4  # programs kept for their second variant; others would be recreated

Make = Callable[[], Program]

_recent: deque[tuple[weakref.ref[Artifact], Program]] = deque(maxlen=KEPT)
_artifacts: weakref.WeakValueDictionary[str, Artifact] = weakref.WeakValueDictionary()


@dataclass(eq=False)
class Artifact:
    """A program in its variants: "one" for a state, "run" for a batch.

    Made by `Artifact.of` from a program, or by `Artifact.find` from the cache. Where a variant is needed,
    `make` recreates the program; without it all variants must exist.
    """

    description: Description
    ops: dict[str, int]
    guarded: bool  # whether a state can be singular
    target: Target
    tables: bytes
    key: str | None = None
    variants: dict[str, Variant] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)  # LLVM text, compressed
    seconds: float = 0.0  # spent on it so far
    _loaded: dict[str, Loaded] = field(default_factory=dict)

    @staticmethod
    def of(
        program: Program, description: Description, key: str | None = None, again: bool = False
    ) -> Artifact:
        """The artifact of a program (after `compiler.passes.pipeline.optimize`).

        Args:
            key: a text that determines the program; `find` returns the artifact for it from now on.
            again: whether the program can be recreated.
        """
        target, guarded = host(), program.guard is not None
        tables = table_bytes(program, description.dtype)
        made = Artifact(description, program.ops, guarded, target, tables, key)
        if again and key is not None:
            _recent.append((weakref.ref(made), program))
        else:
            for name in NAMES:
                made._print(name, program)
        if key is not None:
            _artifacts[_name(key, description.dtype, target)] = made
        return made

    @staticmethod
    def find(key: str, dtype: str) -> Artifact | None:
        """The artifact cached under this key, by this process or another; None if there is none."""
        target = host()
        name = _name(key, dtype, target)
        with lock:
            found = _artifacts.get(name)
            if found is None:
                entries = (cache.load(_name(key, dtype, target, variant)) for variant in NAMES)
                parts = [_unpacked(data, target, key) for data in entries if data is not None]
                for part in parts:
                    parts[0].variants |= part.variants
                    parts[0].texts |= part.texts
                if parts:
                    found = _artifacts[name] = parts[0]
            return found

    def text(self, variant: str, make: Make | None = None) -> str:
        """The LLVM text of a variant."""
        if variant not in self.texts:
            program = self._program(make)
            with lock:
                if variant not in self.texts:
                    self._print(variant, program)
        return zlib.decompress(self.texts[variant]).decode()

    def _program(self, make: Make | None) -> Program:
        """The program, if it was made recently; else recreated, while other threads may compile."""
        for artifact, program in tuple(_recent):
            if artifact() is self:
                return program
        assert make is not None
        return make()

    def _print(self, variant: str, program: Program) -> None:
        """Print the text of a variant, and cache it on disk if it has a key."""
        started = time.perf_counter()
        dtype = self.description.dtype
        lanes = 1 if variant == "one" else self.target.lanes(dtype)
        module = emit(program, dtype, lanes, self.target)
        nanoseconds = estimate(program, lanes)
        self.variants[variant] = Variant(variant, module.lanes, module.workspace_bytes, nanoseconds)
        self.texts[variant] = zlib.compress(module.text.encode(), 1)
        self.seconds += time.perf_counter() - started
        if self.key is not None:
            cache.store(_name(self.key, dtype, self.target, variant), self._packed(variant))

    def assembly(self, variant: str, make: Make | None = None) -> str:
        """The machine code of a variant as text."""
        return native.assembly(self.text(variant, make), self.target)

    def load(self, variant: str, make: Make | None = None) -> Loaded:
        """The machine code of a variant, from memory or disk if available, else compiled now."""
        if variant not in self._loaded:
            text = self.text(variant, make)
            with lock:
                if variant not in self._loaded:
                    library = native.library(text, self.target)
                    self.seconds += library.seconds
                    self._loaded[variant] = Loaded(library, self.variants[variant], self.tables)
        return self._loaded[variant]

    def report(self) -> str:
        """A description in a few lines of text."""
        what = self.description
        lines = [f"{what.name} ({what.dtype})"]
        for title, cores in (("inputs", what.inputs), ("outputs", what.outputs)):
            lines.append(f"  {title:10}" + ", ".join(f"{c.name} {c.shape}" for c in cores))
        lines.append("  operations " + ", ".join(f"{k} {v}" for k, v in self.ops.items() if v))
        lines.append(f"  processor  {self.target.cpu}, {8 * self.target.vector_bytes}-bit vectors")
        for name, loaded in self._loaded.items():
            kind = "one state" if name == "one" else f"batches, {loaded.variant.lanes} lanes"
            lines.append(f"  {kind}: {loaded.library.size} bytes of code")
        lines.append(f"  compiled in {self.seconds:.3f} s")
        return "\n".join(lines)

    def _packed(self, variant: str) -> bytes:
        """Everything about one variant as bytes, except machine code."""
        parts = {"tables": self.tables, variant: self.texts[variant]}
        head = {
            "description": asdict(self.description),
            "ops": self.ops,
            "guarded": self.guarded,
            "variants": [asdict(self.variants[variant])],
            "parts": {name: len(part) for name, part in parts.items()},
        }
        text = json.dumps(head).encode()
        return b"".join((len(text).to_bytes(8, "little"), text, *parts.values()))


def _unpacked(data: bytes, target: Target, key: str) -> Artifact:
    """The inverse of `Artifact._packed`."""
    start = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:start])
    parts = {}
    for name, size in head["parts"].items():
        parts[name] = data[start : start + size]
        start += size
    what = head["description"]
    inputs, outputs = (
        tuple(Core(core["name"], tuple(core["shape"])) for core in what[kind])
        for kind in ("inputs", "outputs")
    )
    description = Description(what["name"], what["dtype"], inputs, outputs)
    variants = {facts["name"]: Variant(**facts) for facts in head["variants"]}
    tables = parts.pop("tables")
    return Artifact(description, head["ops"], head["guarded"], target, tables, key, variants, parts)


def _name(key: str, dtype: str, target: Target, variant: str = "") -> str:
    return native.name_of("\0".join((VERSION, dtype, key, variant)), target)


def estimate(program: Program, lanes: int) -> float:
    """A rough estimate of the nanoseconds per state."""
    return 10.0 + (0.4 / lanes if lanes > 1 else 0.14) * _weight(program.body)


def _weight(block: Block) -> float:
    total = 0.0
    for statement in block.statements:
        if isinstance(statement, Expr):
            total += PRIMITIVES[statement.op].weight
        elif isinstance(statement, (Loop, Part, While)):
            turns = (
                (statement.count if statement.until is None else min(statement.count, FEW))
                if isinstance(statement, Loop)
                else GUESS
                if isinstance(statement, While)
                else 1
            )
            total += turns * _weight(statement.body)
        elif isinstance(statement, Switch):
            total += max((_weight(case) for case in statement.cases), default=0.0)
        else:
            total += 1.0
    return total
