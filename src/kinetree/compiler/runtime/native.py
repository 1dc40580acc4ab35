"""Machine code: from LLVM text to an object file, and from there to callable functions."""

from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import sys
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from llvmlite.binding.ffi import ObjectRef
from llvmlite.binding.newpassmanagers import NewPassManager

from kinetree.compiler.emit.llvm.instructions import LIBRARY
from kinetree.compiler.runtime import cache
from kinetree.compiler.runtime.machine import Target, host, lock, using_llvm
from kinetree.errors import CompileError

OPT = 1  # LLVM's optimisation level

_libraries: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()


def library(
    text: str, target: Target, symbols: Mapping[str, int] | None = None, passes: int = 0
) -> Library:
    """The machine code of an LLVM module, from memory or disk if available, else compiled now.

    Args:
        symbols: the addresses of functions that it calls, besides those of the C library.
        passes: the level of LLVM's own passes; programs need none of them.
    """
    with lock:
        name = name_of(f"{passes}\0{text}", target)
        found = _libraries.get(name)
        if found is None:
            found = _libraries[name] = copy(text, target, symbols, passes)
        return found


def copy(
    text: str, target: Target, symbols: Mapping[str, int] | None = None, passes: int = 0
) -> Library:
    """The same, loaded once more, with its own variables."""
    with lock:
        name = name_of(f"{passes}\0{text}", target)
        code, seconds = cache.load(name), 0.0
        if code is None:
            started = time.perf_counter()
            code = build(text, target, passes)
            seconds = time.perf_counter() - started
            cache.store(name, code)
        return Library(code, seconds, symbols or {})


def name_of(text: str, target: Target) -> str:
    """The cache name for a text: a hash of everything that determines the machine code."""
    facts = (llvmlite.__version__, target.key, str(OPT), text)
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def build(text: str, target: Target, passes: int = 0) -> bytes:
    """The object file of an LLVM module."""
    with using_llvm():  # also while LLVM objects are freed
        return _built(text, target, target.machine(OPT), passes)


def _built(text: str, target: Target, machine: Any, passes: int) -> bytes:
    return machine.emit_object(optimised(_parse(text, target), machine, passes))


def optimised(module: Any, machine: Any, level: int) -> Any:
    """A module after LLVM's own passes."""
    if level:
        builder = _pass_builder(machine, level)
        manager = builder.getModulePassManager()
        manager.run(module, builder)
        if type(manager)._dispose is ObjectRef._dispose:  # llvmlite 0.44 to 0.50 never frees its passes
            NewPassManager._dispose(manager)
            manager.detach()
    return module


def _pass_builder(machine: Any, level: int) -> Any:
    """The pass builder: kept with the machine, since llvmlite does not free all of it."""
    made = machine.__dict__.setdefault("_pass_builders", {})
    if level not in made:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        made[level] = llvm.create_pass_builder(machine, options)
    return made[level]


def assembly(text: str, target: Target) -> str:
    """The assembly text of an LLVM module."""
    with using_llvm():
        return target.machine(OPT).emit_assembly(_parse(text, target))


def parsed(text: str) -> Any:
    """A module in its own context, which keeps every constant that it has seen: both are freed together."""
    return llvm.parse_assembly(text, llvm.create_context())


def _parse(text: str, target: Target) -> Any:
    try:
        module = parsed(text)
        module.triple = target.triple
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the text of a program: {error}") from error
    return module


class Library:
    """An object file loaded into this process. Its functions are valid as long as the library lives."""

    def __init__(self, code: bytes, seconds: float, symbols: Mapping[str, int]):
        self.size = len(code)
        self.seconds = seconds  # of compilation; 0 if it was found on disk
        with using_llvm():
            for name, address in {**_library_functions(), **symbols}.items():
                llvm.add_symbol(name, address)
            backing = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(backing, host().machine())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """The address of the function `name`."""
        with using_llvm():
            address = self._engine.get_function_address(name)
        if not address:
            raise CompileError(f"the object file has no function {name!r}")
        return address

    def variable(self, name: str) -> int:
        """The address of the global variable `name`."""
        with using_llvm():
            return self._engine.get_global_value_address(name)


_known: dict[str, int] = {}


def _library_functions() -> dict[str, int]:
    """The C library functions that machine code may call, by address."""
    if not _known:
        names = {"sin", "cos", "floor", "fma", *LIBRARY}
        wanted = {symbol for name in names for symbol in (name, f"{name}f")}
        wanted |= {"memset", "memcpy", host().yielding}
        for library in _c_libraries():
            for symbol in sorted(wanted - _known.keys()):
                function = getattr(library, symbol, None)
                if function is not None:
                    _known[symbol] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return _known


def _c_libraries() -> Iterator[ctypes.CDLL]:
    """The libraries with these functions, by their usual names: searching for them is slow."""
    names = {"win32": ("ucrtbase", "msvcrt", "kernel32"), "darwin": ("libSystem.dylib",)}.get(sys.platform)
    for name in names or ("libm.so.6", "libc.so.6"):
        try:
            yield ctypes.CDLL(name)
        except OSError:  # another C library, such as musl
            found = ctypes.util.find_library(name[3:].partition(".")[0])
            if found:
                yield ctypes.CDLL(found)
