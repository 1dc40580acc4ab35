"""What this process has taken from the C library."""

from __future__ import annotations

import ctypes
import gc

FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()


class _Info(ctypes.Structure):
    """As `mallinfo2` gives it."""

    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


def is_known() -> bool:
    """Whether the C library tells: that of Linux does, since 2.33."""
    return hasattr(ctypes.CDLL(None), "mallinfo2")


def given_out() -> int:
    """Bytes that it has given out and not got back, after a collection of garbage."""
    gc.collect()
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Info
    found = ask()
    return int(found.uordblks + found.hblkhd)
