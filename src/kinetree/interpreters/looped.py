from __future__ import annotations
def trace(*a, **k):
    raise NotImplementedError
