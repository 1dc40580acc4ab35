"""Whether an array is on a GPU, and its number type: used at every boundary, so nothing else is imported."""

from __future__ import annotations

from typing import Any

import numpy as np

CUDA = 2  # kDLCUDA, in DLPack's numbering
HOST = (np.ndarray, np.generic, float, int, list, tuple, type(None))


def is_on_device(array: Any) -> bool:
    """Whether an array is in GPU memory."""
    if isinstance(array, HOST):
        return False
    torch_says = getattr(array, "is_cuda", None)  # our own arrays have it too
    if torch_says is not None:
        return bool(torch_says)
    try:
        if hasattr(array, "__cuda_array_interface__"):
            return True
        ask = getattr(array, "__dlpack_device__", None)
        return ask is not None and int(ask()[0]) == CUDA
    except (TypeError, ValueError, RuntimeError):  # a tracer, which has no device
        return False


def kind_of(array: Any) -> np.dtype:
    """The number type of an array, on the host or on a device."""
    if isinstance(array, np.ndarray):
        return array.dtype
    return np.dtype(str(array.dtype).rpartition(".")[2]) if hasattr(array, "dtype") else _said(array)


def _said(array: Any) -> np.dtype:
    return np.dtype(array.__cuda_array_interface__["typestr"])
