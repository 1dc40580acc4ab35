"""Whether an array is on a GPU, and what it holds: asked at every boundary, so nothing else is loaded."""

from __future__ import annotations

from typing import Any

import numpy as np

CUDA = 2  # kDLCUDA, as DLPack counts devices
HOST = (np.ndarray, np.generic, float, int, list, tuple, type(None))


def is_on_device(array: Any) -> bool:
    """Whether an array is in the memory of a GPU."""
    if isinstance(array, HOST):
        return False
    torch_says = getattr(array, "is_cuda", None)  # so do our own arrays
    if torch_says is not None:
        return bool(torch_says)
    try:
        if hasattr(array, "__cuda_array_interface__"):
            return True
        ask = getattr(array, "__dlpack_device__", None)
        return ask is not None and int(ask()[0]) == CUDA
    except (TypeError, ValueError, RuntimeError):  # a tracer, which is nowhere
        return False


def kind_of(array: Any) -> np.dtype:
    """The type of the numbers of an array, on the host or on a device."""
    if isinstance(array, np.ndarray):
        return array.dtype
    return np.dtype(str(array.dtype).rpartition(".")[2]) if hasattr(array, "dtype") else _said(array)


def _said(array: Any) -> np.dtype:
    return np.dtype(array.__cuda_array_interface__["typestr"])
