"""A function of a model: its signature, how it becomes a program, and how it is called.

    f(model, *arrays, out=None, target=None, parameters=None, gravity=None)

A call binds the arguments, gets an executable of the function for the model from the target (cached on the
model), and runs it.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from kinetree.compiler.ir.program import Program
from kinetree.compiler.runtime.batching import is_masked_array
from kinetree.compiler.runtime.fastcall import Forms, by_forms
from kinetree.compiler.runtime.on_device import is_on_device, kind_of
from kinetree.errors import KinetreeError, ShapeError
from kinetree.model import Model
from kinetree.names import MODULE_OF
from kinetree.stages.arguments import bound, chosen, documentation, in_order, signature
from kinetree.stages.guests import bridge_of
from kinetree.stages.job import Job
from kinetree.stages.splice import inlined
from kinetree.stages.target import TARGETS, chosen_target
from kinetree.sweep.numbers import holds_expressions, origin
from kinetree.sweep.signature import MODEL_INPUTS, Argument

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
ndarray = np.ndarray


class Function(ABC):
    """A function of a model that broadcasts over leading batch axes like a NumPy gufunc.

    The kind of number decides how a call runs. Floats run as machine code, compiled once for the model;
    complex numbers, 50-digit numbers and symbols run eagerly, in plain Python; expressions of a trace become
    part of that trace. `target` overrides the choice.
    """

    # In a simulation with `parameters` or `gravity`: whether it receives them, or uses the model as it is.
    sees_numbers = True

    def __init__(
        self,
        body: Callable[..., Any],
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        options: Mapping[str, Any],
        result: Callable[..., Any] | None = None,
        order: Sequence[str] = (),
    ):
        self.name = self.__name__ = body.__name__
        self.identity = self.name  # a text that identifies it among all functions of this package
        self.body = self.__wrapped__ = body
        self.own_inputs = tuple(inputs)
        self.inputs = (*inputs, *MODEL_INPUTS)
        self.outputs = tuple(outputs)
        self.options = dict(options)
        self.result = result  # the type of several results together; a plain tuple if None
        self.order = list(order) or in_order(self.own_inputs, self.options)
        self.__module__ = body.__module__
        self.__qualname__ = self.name
        self.__doc__ = documentation(self, inspect.getdoc(body) or "")
        self.__signature__ = signature(self)
        self.changed: tuple[Function, dict[str, Any]] | None = None  # made by `with_options` of this
        self.kind = type(self)
        self._plans: dict[Any, _Plan] = {}
        self._forms: Forms | None = None

    # -- implemented by each kind of function

    @abstractmethod
    def lower(
        self, model: Model, inputs: tuple[str, ...], options: dict[str, Any], mode: str | None = None
    ) -> Program:
        """The program that computes one state of one model from the named inputs.

        `mode`: "unrolled", "looped", or None to choose by size.
        """

    @abstractmethod
    def evaluate(self, model: Model, arrays: dict[str, np.ndarray], options: dict[str, Any]) -> list[Any]:
        """The results for numbers of any kind, in plain Python; batch axes lead."""

    def prepare(self, given: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name; a function may accept other forms of some."""
        return given

    # -- calls

    def __call__(
        self, model: Model, /, *args: Any, out: Any = None, target: str | None = None, **keywords: Any
    ) -> Any:
        return self._call(model, *args, out=out, target=target, **keywords)

    def _call(
        self, model: Model, /, *args: Any, out: Any = None, target: str | None = None, **keywords: Any
    ) -> Any:
        """Dispatch a call: known call forms go to machine code, which checks the arrays."""
        try:
            known = model._memo.get(self)
        except AttributeError:
            known = None  # not a model; the error is raised below
        if known is not None and target is None:
            names = (len(args), *keywords)
            plan = self._plans.get(names)
            if plan is not None:
                given = (*args, *keywords.values())
                try:
                    call = known.get((names, (), *[given[k] for k in plan.options]))
                except TypeError:
                    call = self._listed(known, names, [given[k] for k in plan.options])
                if call is not None:
                    arrays = [given[k] for k in plan.arrays]
                    return call(*arrays) if out is None else call(*arrays, out=out)
            kernel = self._on_device(known, names, args, keywords)
            if kernel is not None:
                return self._finished(kernel(*args, *keywords.values(), out=out))
        return self._first_call(model, args, keywords, out, target)

    def _listed(self, known: dict, names: tuple, options: list) -> Any:
        """The cached entry of a call form whose options include lists."""
        try:
            return known.get((names, (), *map(_kept, options)))
        except TypeError:
            return None

    def _on_device(self, known: dict, names: tuple, args: tuple, keywords: dict) -> Any:
        """The kernel that an earlier call of this form used for device arrays; None if there was none."""
        if args and type(args[0]) is not ndarray and is_on_device(args[0]):
            return known.get((names, "device", _precision(args[0])))
        return None

    def _first_call(self, model: Model, args: tuple, keywords: dict, out: Any, target: str | None) -> Any:
        """A call whose form is not cached yet, or that does not run as machine code."""
        if isinstance(model, Model):
            model, given = origin(model)
            keywords = given | keywords
        bridge = bridge_of((*args, *keywords.values()))
        if bridge is not None:
            found = bridge.evaluated(self, model, args, keywords, out, target)
            if found is not None:
                return found
        arrays, options = bound(self, model, args, keywords)
        if target is None:
            target = "trace" if holds_expressions(model) else chosen_target(arrays.values())
        if target == "trace":
            if out is not None:
                raise ShapeError(f"{self.name}: expressions cannot be written to out=")
            return self._finished(inlined(self, model, arrays, options))
        if not isinstance(target, str) or target not in TARGETS:
            raise KinetreeError(f"{self.name}: unknown target {target!r}; choose from {', '.join(TARGETS)}")
        dtype = "float32" if arrays and all(kind_of(a) == FLOAT32 for a in arrays.values()) else "float64"
        job = Job(self, model, tuple(arrays), options, dtype)
        executable = TARGETS[target].executable(job)
        if target == "cpu" and dtype == "float64":
            self._remember(job, executable, args, keywords)
        given_in_order = (*self.order[: len(args)], *keywords)
        if target == "cuda" and tuple(arrays) == given_in_order and is_on_device(args[0] if args else None):
            known = model._memo.setdefault(self, {})
            known[(len(args), *keywords), "device", _precision(args[0])] = executable
        keywords = {} if out is None else {"out": out}
        return self._finished(executable(*arrays.values(), **keywords))

    def _remember(self, job: Job, kernel: Any, args: tuple, keywords: dict[str, Any]) -> None:
        """Let the next call of this form go straight to machine code."""
        given = dict(zip(self.order, args)) | keywords
        absent = tuple(n for n, value in given.items() if value is None and n not in self.options)
        options = [(k, _kept(value)) for k, (n, value) in enumerate(given.items()) if n in self.options]
        names = (len(args), *keywords)
        form = (names, absent, *[value for _, value in options])
        known = job.model._memo.setdefault(self, {})
        try:
            if form in known or not kernel.calls or any(isinstance(given[n], Mapping) for n in given):
                return  # worth it from the second call on
        except TypeError:  # an option that is not hashable
            return
        call, context = known[job] if job in known else known.setdefault(job, self._machine(job, kernel))
        known[form] = call
        if not absent:
            arrays = tuple(list(given).index(name) for name in job.present)
            self._plans.setdefault(names, _Plan(arrays, tuple(k for k, _ in options)))
        is_fixed = not any(type(value) is list for value in given.values())
        if context is not None and is_fixed and _is_constant(form[2:]):
            if self._forms is None:
                self._forms = by_forms(self, self._call)
            words = [*[None] * len(args), *map(sys.intern, keywords)]
            place = {name: k for k, name in enumerate(job.present)}
            self._forms.know(
                job.model, [(w, place.get(n), given[n]) for w, n in zip(words, given, strict=True)], context
            )

    def _machine(self, job: Job, kernel: Any) -> tuple[Callable[..., Any], Any]:
        """The callable that runs a job: a built-in function and its context, or a plain Python one."""

        def general(*arrays: Any, out: Any = None) -> Any:
            ready = doubles(list(arrays))
            if ready is None:
                keywords = dict(zip(job.present, arrays, strict=True)) | job.options
                return self._first_call(job.model, (), keywords, out, None)
            return self._finished(kernel(*ready) if out is None else kernel(*ready, out=out))

        is_tuple = isinstance(self.result, type) and issubclass(self.result, tuple)
        if self.result is not None and not is_tuple:
            return general, None
        return kernel.fast(general, self.result or tuple) or (general, None)

    def _finished(self, value: Any) -> Any:
        """Several results as one value of the function's result type, if it has one."""
        return value if self.result is None else self.result(*value)

    # -- properties

    def present(self, given: Sequence[str] | None) -> tuple[str, ...]:
        """The inputs that are present if a caller gives these: in order, including all required ones."""
        return tuple(a.name for a in self.inputs if not a.optional or (given and a.name in given))

    def shapes(
        self, model: Model, present: Sequence[str], options: Mapping[str, Any]
    ) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        """The core shapes of the inputs that are present, and of the outputs."""
        inputs = [a.sizes(model, options) for a in self.inputs if a.name in present]
        return inputs, [a.sizes(model, options) for a in self.outputs]

    def with_options(self, **options: Any) -> Function:
        """The same function with other defaults for some of its options."""
        new = object.__new__(self.kind)
        new.__dict__.update(self.__dict__)
        new.options = chosen(self, options, "with_options", complete=False)
        new._plans, new._forms = {}, None
        new.changed = self, options
        new.__signature__ = signature(new)
        return new

    def __reduce__(self) -> Any:
        if self.changed is not None:
            return _changed, self.changed, {"sees_numbers": self.sees_numbers}
        if _found(self.__module__, self.name) is not self:  # another function, or none, would come back
            raise pickle.PicklingError(
                f"{self.name} cannot be pickled: {self.__module__}.{self.name} is not this function. Define "
                "it at the top level of a module, under its own name"
            )
        return _named, (self.__module__, self.name)

    def __copy__(self) -> Function:
        return self

    def __deepcopy__(self, memo: Any) -> Function:
        return self

    def __repr__(self) -> str:
        return f"<function {self.name} of a model>"


class _Plan:
    """The positions of arrays and options among the arguments of one call form."""

    __slots__ = ("arrays", "options")

    def __init__(self, arrays: tuple[int, ...], options: tuple[int, ...]):
        self.arrays, self.options = arrays, options


def _kept(value: Any) -> Any:
    """An option as a cache key: a list is frozen as a tuple."""
    return tuple(value) if type(value) is list else value


def _is_constant(value: Any) -> bool:
    """True if an object is immutable and can serve as a key."""
    if type(value) is tuple:
        return all(map(_is_constant, value))
    settings = getattr(type(value), "__dataclass_params__", None)
    if settings is not None and settings.frozen:
        return all(_is_constant(getattr(value, part.name)) for part in fields(value))
    return value is None or type(value) in (str, int, float, bool)


def doubles(arrays: list) -> list | None:
    """The arguments as arrays that machine code takes as doubles; None if they are of other kinds."""
    single = True
    for k, a in enumerate(arrays):
        if type(a) is float:  # the machine code takes it as it is
            single = False
        elif type(a) is not ndarray or a.dtype is not FLOAT64:
            special = is_on_device(a) or is_masked_array(a)
            if special or bridge_of((a,)) is not None:
                return None
            try:
                a = np.asarray(a)
            except (ValueError, RuntimeError):  # rows of different lengths, or tensors with gradients
                return None
            if a.dtype.kind not in "fiub":
                return None
            single = single and a.dtype == FLOAT32
            arrays[k] = a
        else:
            single = False
    if single and arrays:
        return None
    return arrays


def _changed(function: Function, options: dict[str, Any]) -> Function:
    """Unpickle a function with other options."""
    return function.with_options(**options)


def _named(module: str, name: str) -> Any:
    """The function of this name, for unpickling."""
    home = "kinetree" if module.partition(".")[0] == "kinetree" and name in MODULE_OF else module
    return getattr(importlib.import_module(home), name)


def _found(module: str, name: str) -> Any:
    """The same, or None if there is no such function."""
    try:
        return _named(module, name)
    except (ImportError, AttributeError, ValueError):
        return None


def _precision(array: Any) -> Any:
    """The type of a device array in terms of its library; not all have `dtype`."""
    return array.dtype if hasattr(array, "dtype") else kind_of(array)
