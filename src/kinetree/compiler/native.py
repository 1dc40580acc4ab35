"""Machine code: LLVM text to an object file, and an object file to functions that can be called."""

from __future__ import annotations

import ctypes
import ctypes.util
import threading
from typing import Any

import llvmlite.binding as llvm

from kinetree.compiler.target import Target, host
from kinetree.errors import CompileError

_lock = threading.RLock()  # LLVM's contexts are shared by the process


def build(text: str, target: Target | None = None, opt: int = 2) -> bytes:
    """The object file of an LLVM module."""
    target = target or host()
    with _lock:
        return target.machine(opt).emit_object(_parse(text, target))


def assembly(text: str, target: Target | None = None, opt: int = 2) -> str:
    """The assembly text of an LLVM module."""
    target = target or host()
    with _lock:
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
        with _lock:
            for name, address in _library_functions().items():
                llvm.add_symbol(name, address)
            backing = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(backing, target.machine())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where the function `name` starts."""
        with _lock:
            address = self._engine.get_function_address(name)
        if not address:
            raise CompileError(f"the object file has no function {name!r}")
        return address


_known: dict[str, int] = {}


def _library_functions() -> dict[str, int]:
    """The C library's functions that machine code may call, by address."""
    if not _known:
        library = ctypes.CDLL(ctypes.util.find_library("m") if _needs_name() else "libm.so.6")
        for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "fma"):
            for symbol in (name, f"{name}f"):
                _known[symbol] = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
        for symbol in ("memset", "memcpy"):
            _known[symbol] = ctypes.cast(getattr(ctypes.CDLL(None), symbol), ctypes.c_void_p).value or 0
    return _known


def _needs_name() -> bool:
    """True if the mathematical library must be looked up (which may take a compiler run)."""
    try:
        ctypes.CDLL("libm.so.6")
    except OSError:
        return True
    return False
