"""Identification: what the motion of a robot tells about its inertias, and how to find them from it."""

from kinetree.identification.base import BaseParameters, base_parameters
from kinetree.identification.identify import Identified, identify
from kinetree.identification.regressors import (
    energy_regressor,
    momentum_regressor,
    regressor_columns,
    torque_regressor,
)

__all__ = [
    "BaseParameters",
    "Identified",
    "base_parameters",
    "energy_regressor",
    "identify",
    "momentum_regressor",
    "regressor_columns",
    "torque_regressor",
]
