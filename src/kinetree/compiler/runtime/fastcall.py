"""The shortest way from Python into machine code: a built-in function that is itself machine code.

One generated function serves all kernels. It is called as CPython calls built-in functions (METH_FASTCALL),
checks that every argument is a plain contiguous array of the right type and shape, for one state or a
modest batch, makes the results, and runs the kernel. In every other case it hands the call on to the
kernel's general method. What it must know about the memory of Python and NumPy objects is verified against
live objects when it is first needed; if anything is not as expected, kernels are called the general way.
It holds addresses of this process, so it is never kept on disk.
"""

from __future__ import annotations

import ctypes
import importlib
import platform
import sys
import sysconfig
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.compiler.emit.llvm.entry import AXES, HEADER, RESULTS, SPEC, Addresses, Offsets, define_entry
from kinetree.compiler.runtime.batching import Core
from kinetree.compiler.runtime.loaded import Loaded
from kinetree.compiler.runtime.native import Library, build

METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
ARRAY_NEW, ARRAY_RETURN = 93, 76  # positions in NumPy's table of C functions
TYPE_NUMBERS = {"float64": 12, "float32": 11}

_lock = threading.Lock()
_entry: Library | bool | None = None


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Context(np.ndarray):
    """The facts about one kernel that the function reads; it also keeps alive whatever they point to."""

    keeps: list[Any]

    def write(self, word: int, value: int) -> None:
        self[word] = np.uint64(value).astype(np.int64)

    def allow(self, longest: int) -> None:
        """Run batches of up to `longest` states directly."""
        self[6] = longest

    def connect(self, code: Loaded, single: bool) -> None:
        """Let calls of one state, or of a batch, run `code`."""
        if any(kept is code for kept in self.keeps):
            return
        workspace = code.workspace()
        self.keeps += [code, workspace]
        first = 0 if single else 3
        self.write(first + 1, code.tables)
        self.write(first + 2, workspace.__array_interface__["data"][0])
        self.write(first, code.address)  # last: the function looks at this word


def make(
    name: str, inputs: tuple[Core, ...], outputs: tuple[Core, ...], dtype: np.dtype, general: Callable
) -> tuple[Callable, Context] | None:
    """A built-in function that calls a kernel, or `general` instead; None if that is not possible here."""
    cores = (*inputs, *outputs)
    if not inputs or not 0 < len(outputs) <= RESULTS or any(len(c.shape) > AXES for c in cores):
        return None
    library = _library()
    if library is None:
        return None
    words = HEADER + (SPEC + 3) * len(cores)
    context = np.zeros(words, np.int64).view(Context)
    descriptor = np.dtype(dtype)
    facts = (len(inputs), len(outputs), id(descriptor), TYPE_NUMBERS[str(dtype)], id(general))
    for k, fact in enumerate(facts):
        context.write(7 + k, fact)
    for k, core in enumerate(cores):
        size = core.size * dtype.itemsize
        spec = (len(core.shape), *core.shape, *(0 for _ in range(AXES - len(core.shape))), size)
        first = HEADER + SPEC * k
        context[first : first + SPEC] = spec
        context[HEADER + SPEC * len(cores) + len(cores) + k] = size
    definition = MethodDef(name.encode(), library.address("entry"), METH_FASTCALL_KEYWORDS, None)
    context.keeps = [definition, library, general, descriptor]
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes, new.restype = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.py_object
    return new(ctypes.byref(definition), context, None), context


def is_available() -> bool:
    """True if kernels can be called this way in this process."""
    return _library() is not None


def _library() -> Library | None:
    global _entry
    with _lock:
        if _entry is None:
            addresses = _addresses()
            _entry = Library(build(define_entry(addresses, offsets()), opt=1)) if addresses else False
        return _entry if isinstance(_entry, Library) else None


def offsets() -> Offsets:
    """Where the members of NumPy's array object are, given the size of the object header."""
    head = object.__basicsize__
    return Offsets(type=8, data=head, nd=head + 8, dimensions=head + 16, descr=head + 40, flags=head + 48)


def _addresses() -> Addresses | None:
    """The C functions and objects that are needed; None if this Python or NumPy is not as expected."""
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little" or not _layout_is_known():
        return None
    try:
        api = _numpy_functions()
        python = ctypes.pythonapi
        return Addresses(
            array_type=id(np.ndarray),
            out=id(sys.intern("out")),
            array_new=api[ARRAY_NEW],
            array_return=api[ARRAY_RETURN],
            increment=_address(python.Py_IncRef),
            decrement=_address(python.Py_DecRef),
            vectorcall=_address(python.PyObject_Vectorcall),
            tuple_new=_address(python.PyTuple_New),
            tuple_set=_address(python.PyTuple_SetItem),
            release=_address(python.PyEval_SaveThread),
            acquire=_address(python.PyEval_RestoreThread),
        )
    except (AttributeError, ImportError, ValueError):
        return None


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _numpy_functions() -> Any:
    """NumPy's table of C functions."""
    try:
        module = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:  # NumPy 1
        module = importlib.import_module("numpy.core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes, pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    table = pointer(module._ARRAY_API, None)
    return ctypes.cast(table, ctypes.POINTER(ctypes.c_uint64))


def _layout_is_known() -> bool:
    """True if array objects, tuples and the type header look in memory as the function takes them to."""
    place = offsets()
    samples = (
        np.zeros((2, 3, 5)),
        np.ones(7, np.float32),
        np.asfortranarray(np.zeros((3, 4)))[1:],
        np.array(1.0),
    )
    for array in samples:
        base = id(array)
        shape = tuple(_word(_word(base + place.dimensions) + 8 * k) for k in range(array.ndim))
        flags = ctypes.c_int.from_address(base + place.flags).value
        seen = (
            _word(base + place.type) == id(np.ndarray),
            _word(base + place.data) == array.__array_interface__["data"][0],
            ctypes.c_int.from_address(base + place.nd).value == array.ndim,
            array.ndim == 0 or shape == array.shape,
            _word(base + place.descr) == id(array.dtype),
            bool(flags & 0x0001) == array.flags.c_contiguous,
            bool(flags & 0x0100) == array.flags.aligned,
            bool(flags & 0x0400) == array.flags.writeable,
        )
        if not all(seen):
            return False
    pair = (samples, place)
    return _word(id(pair) + 16) == 2 and _word(id(pair) + 24) == id(samples)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value
