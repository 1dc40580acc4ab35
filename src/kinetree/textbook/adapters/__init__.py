"""The same quantities in the notations of the literature: `soa`, `boyden`, `concurrent`."""

from kinetree.textbook.adapters import boyden, concurrent, soa

__all__ = ["boyden", "concurrent", "soa"]
