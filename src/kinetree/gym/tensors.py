"""Arrays of other libraries that share the memory of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.compiler.runtime.on_device import is_on_device
from kinetree.errors import ArgumentError
from kinetree.extras import needed

BACKENDS = ("numpy", "torch", "jax")
ALIGNED = 64  # bytes: JAX shares only memory with this alignment


def checked(backend: str, dtype: Any) -> str:
    if backend not in BACKENDS:
        raise ArgumentError(f"VectorEnv: backend is {backend!r}: choose from {', '.join(BACKENDS)}")
    if backend != "numpy":
        library = needed(backend, f"kt.gym.VectorEnv with backend={backend!r}")
        if backend == "jax" and dtype == np.float64 and not library.config.jax_enable_x64:
            raise ArgumentError(
                "VectorEnv: JAX would make float32 of float64, since its x64 is off: call "
                "jax.config.update('jax_enable_x64', True) first, or choose dtype='float32'"
            )
    return backend


def empty(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array whose memory other libraries can share."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.empty(size + ALIGNED, np.uint8)
    first = -room.ctypes.data % ALIGNED
    return room[first : first + size].view(dtype).reshape(shape)


def handed_over(array: np.ndarray, backend: str) -> Any:
    """An array as one of the library."""
    if backend == "torch":
        return needed("torch", "VectorEnv").from_numpy(array)
    if backend == "jax":
        jax = needed("jax", "VectorEnv")
        return jax.dlpack.from_dlpack(array)
    return array


def taken(actions: Any, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """The actions of a policy, as an array (num_envs, size) of finite numbers."""
    if is_on_device(actions):
        raise ArgumentError(
            "VectorEnv: actions are on a GPU, but the robots are not: make the environment with "
            "target='cuda', or move them; nothing is copied unasked"
        )
    if hasattr(actions, "detach"):
        actions = actions.detach()
    try:
        array = np.asarray(actions)
        array = array.astype(dtype, casting="same_kind" if array.dtype.kind in "cf" else "unsafe", copy=False)
    except (TypeError, ValueError):
        kind = f" of {actions.dtype}" if hasattr(actions, "dtype") else ""
        given = f"a {type(actions).__name__}{kind}"
        raise ArgumentError(f"VectorEnv: actions must be numbers that NumPy knows, got {given}") from None
    if array.shape != shape:
        raise ArgumentError(
            f"VectorEnv: actions have shape {array.shape}, but {shape} is needed: a row for each environment"
        )
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise ArgumentError(f"VectorEnv: the action of environment {row} holds NaN or infinity")
    return array
