"""Machine code: LLVM text to an object file, and an object file to functions that can be called."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Iterator
from typing import Any

import llvmlite.binding as llvm

from kinetree.compiler.runtime.machine import Target, host, lock
from kinetree.errors import CompileError


def build(text: str, target: Target | None = None, opt: int = 2) -> bytes:
    """The object file of an LLVM module."""
    target = target or host()
    with lock:
        return target.machine(opt).emit_object(_parse(text, target))


def assembly(text: str, target: Target | None = None, opt: int = 2) -> str:
    """The assembly text of an LLVM module."""
    target = target or host()
    with lock:
        return target.machine(opt).emit_assembly(_parse(text, target))


def _parse(text: str, target: Target) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = target.triple
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refuses the text of a program: {error}") from error
    return module


class Library:
    """An object file loaded into this process. Its functions are valid as long as the library lives."""

    def __init__(self, code: bytes, target: Target | None = None):
        target = target or host()
        self.size = len(code)
        with lock:
            for name, address in _library_functions().items():
                llvm.add_symbol(name, address)
            backing = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(backing, target.machine())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where the function `name` starts."""
        with lock:
            address = self._engine.get_function_address(name)
        if not address:
            raise CompileError(f"the object file has no function {name!r}")
        return address


_known: dict[str, int] = {}


def _library_functions() -> dict[str, int]:
    """The C library's functions that machine code may call, by address."""
    if not _known:
        names = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "tanh", "floor", "fma")
        wanted = {symbol for name in names for symbol in (name, f"{name}f")}
        wanted |= {"memset", "memcpy", host().yielding}
        for library in _c_libraries():
            for symbol in sorted(wanted - _known.keys()):
                function = getattr(library, symbol, None)
                if function is not None:
                    _known[symbol] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return _known


def _c_libraries() -> Iterator[ctypes.CDLL]:
    """The libraries that have these functions, by their usual names: looking them up takes long."""
    names = {"win32": ("ucrtbase", "msvcrt", "kernel32"), "darwin": ("libSystem.dylib",)}.get(sys.platform)
    for name in names or ("libm.so.6", "libc.so.6"):
        try:
            yield ctypes.CDLL(name)
        except OSError:  # another C library, such as musl
            found = ctypes.util.find_library(name[3:].partition(".")[0])
            if found:
                yield ctypes.CDLL(found)
