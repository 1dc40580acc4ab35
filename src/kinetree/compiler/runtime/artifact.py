"""From a program to machine code in this process, by the shortest way: memory, disk, or the compiler."""

from __future__ import annotations

import hashlib
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace

import llvmlite

from kinetree.compiler.emit.llvm import Module, emit, table_bytes
from kinetree.compiler.ir.graph import Block, Loop, Part, Switch, While
from kinetree.compiler.ir.program import Program
from kinetree.compiler.runtime import cache, native
from kinetree.compiler.runtime.batching import Core
from kinetree.compiler.runtime.entry import Description, Entry
from kinetree.compiler.runtime.loaded import Loaded
from kinetree.compiler.runtime.machine import Target, host
from kinetree.ops import PRIMITIVES, Expr

VERSION = "5"  # of everything that decides which machine code a program becomes
GUESS = 10.0  # turns of a while loop
OPT = 1

_memory: weakref.WeakValueDictionary[str, Loaded] = weakref.WeakValueDictionary()
_lock = threading.RLock()


class Artifact:
    """The machine code of one program and dtype, in its variants: "one" for a state, "run" for a batch.

    Args:
        program: the program, or a function that gives it when it is needed.
        key: a text that determines the program; without it, the program's own text is the key.
    """

    def __init__(
        self,
        program: Program | Callable[[], Program],
        description: Description,
        key: str | None = None,
        target: Target | None = None,
    ):
        self._program = program
        self._description = description
        self._key = key
        self._target = target or host()
        self._modules: dict[str, Module] = {}
        self._sizes: dict[str, int] = {}
        self.seconds = 0.0

    @property
    def program(self) -> Program:
        if not isinstance(self._program, Program):
            self._program = self._program()
        return self._program

    @property
    def ops(self) -> dict[str, int]:
        if not self._description.ops:
            kept = self._kept() if not isinstance(self._program, Program) else None
            self._description.ops = kept.description.ops if kept is not None else self.program.ops
        return self._description.ops

    def module(self, variant: str) -> Module:
        """The LLVM text of a variant."""
        if variant not in self._modules:
            started = time.perf_counter()
            dtype = self._description.dtype
            lanes = self._target.lanes(dtype) if variant == "run" else 1
            self._modules[variant] = emit(self.program, dtype, lanes, self._target)
            self.seconds += time.perf_counter() - started
        return self._modules[variant]

    def assembly(self, variant: str) -> str:
        return native.assembly(self.module(variant).text, self._target, OPT)

    def load(self, variant: str) -> Loaded:
        """The machine code of a variant, from memory or disk if it is there, else compiled now."""
        with _lock:
            text = self._key if self._key is not None else self.module(variant).text
            tables = b"" if self._key is not None else self._tables()
            key = digest(text, tables, variant, self._description.dtype, self._target)
            loaded = _memory.get(key)
            if loaded is None:
                entry = cache.load(key)
                if entry is None:
                    entry = self._compile(variant)
                    cache.store(key, entry)
                loaded = _memory[key] = Loaded(entry)
            self._description.ops = self._description.ops or loaded.description.ops
            self._sizes[variant] = loaded.code_bytes
            self._modules.pop(variant, None)  # long texts; made again if somebody asks
            return loaded

    def _kept(self) -> Entry | None:
        """An entry on disk of this program, in whichever variant."""
        if self._key is None:
            return None
        dtype = self._description.dtype
        found = (cache.load(digest(self._key, b"", v, dtype, self._target)) for v in ("one", "run"))
        return next((entry for entry in found if entry is not None), None)

    def _tables(self) -> bytes:
        return table_bytes(self.program, self._description.dtype)

    def _compile(self, variant: str) -> Entry:
        module = self.module(variant)
        started = time.perf_counter()
        code = native.build(module.text, self._target, OPT)
        self.seconds += time.perf_counter() - started
        description = replace(
            self._description,
            variant=variant,
            lanes=module.lanes,
            guarded=self.program.guard is not None,
            workspace_bytes=module.workspace_bytes,
            nanoseconds=estimate(self.program, module.lanes),
            ops=self.ops,
        )
        return Entry(description, code, self._tables())

    def report(self, inputs: Sequence[Core], outputs: Sequence[Core]) -> str:
        """What the kernel is, as a few lines of text."""
        lines = [f"{self._description.name} ({self._description.dtype})"]
        for title, cores in (("inputs", inputs), ("outputs", outputs)):
            lines.append(f"  {title:10}" + ", ".join(f"{c.name} {c.shape}" for c in cores))
        lines.append("  operations " + ", ".join(f"{k} {v}" for k, v in self.ops.items() if v))
        lines.append(f"  processor  {self._target.cpu}, {8 * self._target.vector_bytes}-bit vectors")
        for variant, size in self._sizes.items():
            what = (
                "one state"
                if variant == "one"
                else f"batches, {self._target.lanes(self._description.dtype)} lanes"
            )
            lines.append(f"  {what}: {size} bytes of code")
        lines.append(f"  compiled in {self.seconds:.3f} s")
        return "\n".join(lines)


def digest(text: str, tables: bytes, variant: str, dtype: str, target: Target) -> str:
    """The name under which machine code is kept: a hash of everything that decides it."""
    facts = "\0".join((VERSION, llvmlite.__version__, target.key, dtype, variant, str(OPT), text))
    return hashlib.sha256(facts.encode() + b"\0" + tables).hexdigest()


def estimate(program: Program, lanes: int) -> float:
    """Roughly the nanoseconds that one state takes."""
    return 10.0 + (0.4 / lanes if lanes > 1 else 0.14) * _weight(program.body)


def _weight(block: Block) -> float:
    total = 0.0
    for statement in block.statements:
        if isinstance(statement, Expr):
            total += PRIMITIVES[statement.op].weight
        elif isinstance(statement, (Loop, Part, While)):
            turns = (
                statement.count
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
