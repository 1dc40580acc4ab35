"""DLPack through ctypes: device arrays exchanged with other libraries.

Reference: the DLPack specification, version 0.8 (`DLManagedTensor`), which every library reads.
"""

from __future__ import annotations

import atexit
import ctypes
from typing import Any

import numpy as np

from kinetree.compiler.runtime.on_device import CUDA

KINDS = {0: "i", 1: "u", 2: "f"}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_held: dict[int, tuple] = {}  # in use by other libraries, by the address of its description
# A private handle: other libraries declare types on the shared `ctypes.pythonapi`.
_api = ctypes.PyDLL(None, handle=ctypes.pythonapi._handle)
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_api.PyCapsule_IsValid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.Py_IncRef.argtypes = (ctypes.py_object,)
_NEW, _USED = b"dltensor", b"used_dltensor"


@_Deleter
def _release(managed: Any) -> None:
    _held.pop(ctypes.addressof(managed.contents), None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _forget(capsule: int) -> None:
    """An unused capsule was deleted: release its array."""
    one = ctypes.cast(capsule, ctypes.py_object)
    if _api.PyCapsule_IsValid(one, _NEW):
        _held.pop(_api.PyCapsule_GetPointer(one, _NEW), None)


@atexit.register
def let_go() -> None:
    """At exit others may still use arrays: keep them alive, without calling back into Python."""
    for held in _held.values():
        held[1].deleter = _Deleter()
        _api.Py_IncRef(held)
    _held.clear()


def capsule(
    owner: Any, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype, device: int
) -> Any:
    """A capsule of an array, with strides in numbers; `owner` lives as long as the capsule is used."""
    managed = _Managed()
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*strides)
    t = managed.tensor
    t.data, t.device_type, t.device, t.ndim = pointer, CUDA, device, len(shape)
    t.kind, t.bits, t.lanes, t.offset = 2, 8 * dtype.itemsize, 1, 0
    t.shape, t.strides = sizes, steps
    managed.deleter = _release
    address = ctypes.addressof(managed)
    _held[address] = owner, managed, sizes, steps
    return _api.PyCapsule_New(address, _NEW, ctypes.cast(_forget, ctypes.c_void_p))


class Taken:
    """An array of another library, by its capsule; `__cuda_array_interface__` gives its address."""

    def __init__(self, array: Any, stream: int):
        one = array.__dlpack__(stream=stream or 1)  # 1 is the stream that others call 0
        address = _api.PyCapsule_GetPointer(one, _NEW)
        _api.PyCapsule_SetName(one, _USED)
        self._managed = _Managed.from_address(address)
        t = self._managed.tensor
        dtype = np.dtype(f"{KINDS.get(t.kind, 'V')}{t.bits // 8}")
        shape = tuple(t.shape[k] for k in range(t.ndim))
        strides = tuple(t.strides[k] * dtype.itemsize for k in range(t.ndim)) if t.strides else None
        data = ((t.data or 0) + t.offset, False)
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": dtype.str, "data": data, "strides": strides, "version": 3
        }  # fmt: skip

    def __del__(self) -> None:
        managed = getattr(self, "_managed", None)
        if managed is not None and managed.deleter:
            managed.deleter(ctypes.byref(managed))
