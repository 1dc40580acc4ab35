"""The shortest path from Python into machine code: built-in functions that are themselves machine code.

Two generated functions serve all kernels and all functions of a model. CPython calls them like built-in
functions (METH_FASTCALL). The one for a kernel checks that every argument is an array of the right type and
shape, for one state or a modest batch, creates the results that are not given, and runs the kernel; the one
for a function first looks up the kernel for the model. All other calls are passed on to a general method. The
memory layout of Python and NumPy objects is verified against live objects on first use; if anything is
unexpected, kernels are called in the general way.
"""

from __future__ import annotations

import ctypes
import importlib
import platform
import sys
import sysconfig
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Self

import numpy as np

from kinetree.compiler.emit.llvm import entry_parts as entry
from kinetree.compiler.emit.llvm.entry import define_entries
from kinetree.compiler.runtime.description import Core
from kinetree.compiler.runtime.loaded import Loaded
from kinetree.compiler.runtime.machine import host, lock
from kinetree.compiler.runtime.native import Library, library

METH_FASTCALL_KEYWORDS = 0x0080 | 0x0002
NUMPY_FUNCTIONS = {"PyArray_New": 93, "PyArray_Return": 76}  # indices in NumPy's table
PYTHON_FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyObject_Vectorcall", "PyType_GenericAlloc", "PyEval_SaveThread",
    "PyEval_RestoreThread",
)  # fmt: skip

_entry: Library | bool | None = None


class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Words(np.ndarray):
    """The facts that a built-in function reads; they also keep alive what they point to."""

    keeps: list[Any]

    @classmethod
    def of(cls, size: int, facts: dict[int, int], *keeps: Any) -> Self:
        """A new array of words, zero except for the given facts."""
        words = np.zeros(size, np.int64).view(cls)
        words.keeps = list(keeps)
        for place, fact in facts.items():
            words.write(place, fact)
        return words

    def write(self, place: int, value: int) -> None:
        self[place] = np.uint64(value).astype(np.int64)

    @property
    def address(self) -> int:
        return self.__array_interface__["data"][0]


class Context(Words):
    """The facts about one kernel."""

    def allow(self, longest: int) -> None:
        """Run batches of up to `longest` states directly."""
        self[entry.LONGEST] = longest

    def connect(self, code: Loaded, single: bool) -> None:
        """Let calls of one state, or of a batch, run `code`."""
        if any(kept is code for kept in self.keeps):
            return
        workspace = code.workspace()
        self.keeps += [code, workspace]
        first = entry.ONE if single else entry.RUN
        self.write(first + 1, code.tables)
        self.write(first + 2, workspace.__array_interface__["data"][0])
        self.write(first, code.address)  # last: the function tests this word


class Forms(Words):
    """The facts about a function: which kernel takes calls of a known form, and how."""

    turn = 0

    def know(self, first: Any, given: Sequence[tuple[str | None, int | None, Any]], context: Context) -> None:
        """Route calls of a form to a kernel, whose context must live as long as the first argument.

        Args:
            first: the first argument.
            given: for each further argument its name, None if positional; which array of the kernel it is, or
                None; and in that case the object that it must be.
        """
        if len(given) > entry.ARGUMENTS:
            return
        self.turn = (self.turn + 1) % entry.KNOWN  # replaces the oldest form
        start = entry.FORMS + entry.FORM * self.turn
        self.write(start, 0)
        objects = [(name, None if array is not None else value) for name, array, value in given]
        self.keeps[self.turn] = objects, weakref.ref(first, lambda _: self.write(start, 0))
        positional = sum(name is None for name, _, _ in given)
        takes = sum(array is not None for _, array, _ in given)
        facts = [positional, len(given), context.address, takes]
        for name, array, value in given:
            facts += [0 if name is None else id(name)]
            facts += [entry.CONSTANT, id(value)] if array is None else [array, 0]
        for place, fact in enumerate(facts, start + 1):
            self.write(place, fact)
        self.write(start, id(first))  # last: the function tests this word


def for_kernel(
    name: str,
    inputs: tuple[Core, ...],
    outputs: tuple[Core, ...],
    dtype: np.dtype,
    general: Callable,
    result: type = tuple,
) -> tuple[Callable, Context] | None:
    """A built-in function that calls a kernel, or else `general`; None if that is not possible here.

    `result` is the type of several results together: tuple, or a NamedTuple.
    """
    cores = (*inputs, *outputs)
    if not 0 < len(outputs) <= entry.RESULTS or len(cores) > entry.ARRAYS:
        return None
    if any(len(core.shape) > entry.AXES for core in cores) or not is_available():
        return None
    facts = {
        entry.INPUTS: len(inputs),
        entry.OUTPUTS: len(outputs),
        entry.NUMBER: dtype.num,
        entry.KIND: kind_of(dtype),
        entry.GENERAL: id(general),
        entry.ARRAY_TYPE: id(np.ndarray),
        entry.TUPLE_TYPE: id(tuple),
        entry.NONE: id(None),
        entry.OUT: id("out"),
        entry.RESULT: id(result),
    }
    context = Context.of(entry.SPECS + entry.SPEC * len(cores), facts, general, result)
    for k, core in enumerate(cores):
        axes = len(core.shape)
        steps = [dtype.itemsize * prod(core.shape[axis + 1 :]) for axis in range(axes)]
        rest = [0] * (entry.AXES - axes)
        first = entry.SPECS + entry.SPEC * k
        spec = (axes, *core.shape, *rest, *steps, *rest, core.size * dtype.itemsize)
        context[first : first + entry.SPEC] = spec
    return _built_in(name, "kernel", context), context


def by_forms(function: Any, general: Callable) -> Forms:
    """Make an object callable through a built-in function that routes known forms to kernels, others to
    `general`.

    There must be kernels with built-in functions.
    """
    names = ("out",)
    facts = {0: id(general), entry.NAME: id(names[0]), entry.NAMES: id(names)}
    size = entry.FORMS + entry.FORM * entry.KNOWN
    forms = Forms.of(size, facts, *[None] * entry.KNOWN, general, names)
    call_by(function, _built_in(function.name, "function", forms))
    return forms


def call_by(instance: Any, call: Callable) -> None:
    """Make an object callable through a built-in function: in its class, without `self` or a frame."""
    kind = type(instance)
    instance.__class__ = type(kind.__name__, (kind,), {"__call__": call, "__module__": kind.__module__})


def _built_in(name: str, symbol: str, words: Words) -> Callable:
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes, new.restype = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p), ctypes.py_object
    return new(ctypes.byref(_definition(name, symbol)), words, None)


@cache
def _definition(name: str, symbol: str) -> MethodDef:
    """The definition that built-in functions of this name point to. It is never freed: they do not own it,
    and read it when they are deleted, after everything else they keep alive.
    """
    code = _library()
    assert code is not None
    definition = MethodDef(name.encode(), code.address(symbol), METH_FASTCALL_KEYWORDS, None)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(definition))
    return definition


def is_available() -> bool:
    """True if kernels can be called this way in this process."""
    return _library() is not None


def _library() -> Library | None:
    global _entry
    with lock:
        if _entry is None:
            symbols = _symbols()
            _entry = symbols is not None and library(define_entries(offsets()), host(), symbols, passes=2)
        return _entry if isinstance(_entry, Library) else None


def offsets() -> entry.Offsets:
    """Member offsets of array objects, descriptors and tuples, given the size of the object header."""
    head = object.__basicsize__
    return entry.Offsets(
        type=8,
        data=head,
        nd=head + 8,
        dimensions=head + 16,
        strides=head + 24,
        descr=head + 40,
        flags=head + 48,
        kind=head + 8,
        length=head,
        items=head + 8,
    )


def kind_of(descriptor: np.dtype) -> int:
    """The part of a descriptor with the number type and byte order of an array."""
    return _word(id(descriptor) + offsets().kind) & entry.KIND_MASK


def _symbols() -> dict[str, int] | None:
    """The required C functions; None if this Python or NumPy is not as expected."""
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little" or not _layout_is_known():
        return None
    try:
        table = _numpy_functions()
        numpy = {name: table[position] for name, position in NUMPY_FUNCTIONS.items()}
        python = {name: getattr(ctypes.pythonapi, name) for name in PYTHON_FUNCTIONS}
        return numpy | {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in python.items()}
    except (AttributeError, ImportError, ValueError):
        return None


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
    """True if array objects, tuples and the type header have the expected memory layout."""
    place = offsets()
    samples = (
        np.zeros((2, 3, 5)),
        np.ones(7, np.float32),
        np.asfortranarray(np.zeros((3, 4)))[1:],
        np.array(1.0),
    )
    for array in samples:
        base = id(array)
        shape, strides = (
            tuple(_word(_word(base + member) + 8 * k) for k in range(array.ndim))
            for member in (place.dimensions, place.strides)
        )
        flags = ctypes.c_int.from_address(base + place.flags).value
        seen = (
            _word(base + place.type) == id(np.ndarray),
            _word(base + place.data) == array.__array_interface__["data"][0],
            ctypes.c_int.from_address(base + place.nd).value == array.ndim,
            array.ndim == 0 or (shape == array.shape and strides == array.strides),
            _word(base + place.descr) == id(array.dtype),
            bool(flags & 0x0001) == array.flags.c_contiguous,
            bool(flags & 0x0100) == array.flags.aligned,
            bool(flags & 0x0400) == array.flags.writeable,
        )
        if not all(seen):
            return False
    kinds = {
        kind: _word(id(kind) + place.kind) for kind in map(np.dtype, ("f8", "f4", ">f8", "i4", "?", "c16"))
    }
    for kind, word in kinds.items():
        if (word & 0xFF, word >> 16 & 0xFF, word >> 32) != (ord(kind.kind), ord(kind.byteorder), kind.num):
            return False
    pair = (samples, place)
    return _word(id(pair) + place.length) == 2 and _word(id(pair) + place.items) == id(samples)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value
