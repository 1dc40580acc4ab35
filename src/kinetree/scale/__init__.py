"""Many runs of a function of a model, on this machine or on a cluster, with the same results everywhere."""

from kinetree.scale.distributions import choice, file, lognormal, normal, on_sphere, sobol, uniform
from kinetree.scale.reductions import Reduction, best, covariance, histogram, mean, quantiles
from kinetree.scale.sweep import Results, Sweep, map, resume
from kinetree.scale.work import Part

__all__ = [
    "Part", "Reduction", "Results", "Sweep", "best", "choice", "covariance", "file", "histogram",
    "lognormal", "map", "mean", "normal", "on_sphere", "quantiles", "resume", "sobol", "uniform",
]  # fmt: skip
