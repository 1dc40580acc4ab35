"""Optional packages that some parts need and that kinetree does not install."""

from __future__ import annotations

import importlib
from typing import Any

from kinetree.errors import MissingPackageError

# package -> the extra that installs it
EXTRAS = {
    "matplotlib": "plots", "viser": "view", "trimesh": "view", "casadi": "casadi", "scipy": "solvers",
    "jax": "jax", "torch": "torch", "xacro": "files", "collada": "files", "ray": "scale", "zarr": "scale",
    "pyarrow": "tables", "pxr": "usd", "sympy": "symbolic", "gymnasium": "gym", "PIL": "view",
}  # fmt: skip


def needed(module: str, what: str, extra: str = "") -> Any:
    """The module, or an error that says how to install it.

    Args:
        module: such as "matplotlib.pyplot".
        what: the feature that needs it, for the message.
        extra: the extra that installs it, if several do.
    """
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is installed, but broken
        extra = extra or EXTRAS[package]
        raise MissingPackageError(
            f"{what} needs {package}, which is not installed: pip install 'kinetree[{extra}]'"
        ) from None
