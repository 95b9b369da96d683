"""`torch.jit.trace` and what goes with it: the module, as it was when it was traced, runs as Python.

What PyTorch's trace holds fast is held here: the modes of layers, attributes, hooks. Parameters and buffers are shared with the
module. Branches and loops that depend on values, which PyTorch's trace takes for constants with a warning, stay what they are.
"""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import lucid
from lucid import nn
from lucid._pytree import tree_leaves
from lucid.testing import assert_close

from .. import refused

__all__ = ["RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TopLevelTracedModule", "TracedModule", "TracerWarning",
           "freeze", "optimize_for_inference", "run_frozen_optimizations", "trace", "trace_module"]

_HIDDEN = ("_parameters", "_buffers", "_modules")


class TracerWarning(Warning):
    """Something about a trace may be wrong."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Nothing to ignore."""


class ScriptModule(nn.Module):
    """The base of what `trace` and `freeze` give. lucid compiles no scripts, so it has no objects of its own."""

    def __init__(self) -> None:
        refused.refuse_use("torch.jit.ScriptModule")

    def save(self, f: Any, **keywords: Any) -> None:
        """Refused: lucid writes no programs."""
        refused.refuse_use("torch.jit.save")


class TracedModule(ScriptModule):
    """A module as it was when it was traced."""

    def __init__(self, orig: nn.Module) -> None:
        nn.Module.__init__(self)
        self.__dict__.update({name: vars(orig)[name] for name in _HIDDEN}, _original=orig, training=orig.training,
                             original_name=type(orig).__name__)
        self.__dict__["_modules"] = {name: child and TracedModule(child) for name, child in orig._modules.items()}

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self._original(*args, **kwargs)

    def extra_repr(self) -> str:
        """The class of the module."""
        return f"original_name={self.original_name}"

    def _get_name(self) -> str:
        return str(self.original_name)


class TopLevelTracedModule(TracedModule):
    """What `trace` gives of a module."""


class RecursiveScriptModule(ScriptModule):
    """What `freeze` gives: its parameters and buffers are constants."""

    def __init__(self, orig: nn.Module, name: str) -> None:
        nn.Module.__init__(self)
        self.__dict__.update(_original=orig, original_name=name, training=False)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes."""
        return self._original(*args, **kwargs)

    def extra_repr(self) -> str:
        """The class of the module."""
        return f"original_name={self.original_name}"


class ScriptFunction:
    """What `trace` gives of a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._function.__name__.replace("<lambda>", "_lambda")

    def save(self, f: Any, **keywords: Any) -> None:
        """Refused: lucid writes no programs."""
        refused.refuse_use("torch.jit.save")


def _as_it_is(module: nn.Module, constant: bool = False) -> nn.Module:
    """A copy of a module that shares its tensors, or with `constant` has copies that need no gradient."""
    spaces = [space for each in module.modules() for space in (each._parameters, each._buffers, vars(each))]
    tensors = {id(value): _constant(value) if constant else value for space in spaces for value in space.values()
               if isinstance(value, lucid.Tensor)}
    return copy.deepcopy(module, tensors)


def _constant(tensor: lucid.Tensor) -> lucid.Tensor:
    copied = tensor.detach().clone()
    return nn.Parameter(copied, requires_grad=False) if isinstance(tensor, nn.Parameter) else copied


def trace(func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
          check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
          _compilation_unit: Any = None, example_kwarg_inputs: Any = None, _store_inputs: bool = True) -> Any:
    """A module, or a function, after it has run with the example inputs, twice with `check_trace`."""
    if isinstance(func, ScriptModule | ScriptFunction):
        warnings.warn("The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
                      stacklevel=2)
        return func
    if example_inputs is None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")
    inputs = example_kwarg_inputs if example_inputs is None else example_inputs
    if isinstance(inputs, lucid.Tensor) or (isinstance(inputs, dict) and example_inputs is not None):
        inputs = (inputs,)
    owner = getattr(func, "__self__", None)
    if isinstance(func, nn.Module) or (isinstance(owner, nn.Module) and func.__name__ == "forward"):
        module = func if isinstance(func, nn.Module) else owner
        checks = [{"forward": each} for each in check_inputs or ()]
        return trace_module(module, {"forward": inputs}, None, check_trace, checks, check_tolerance, strict,
                            example_inputs_is_kwarg=example_inputs is None)
    _run(func, inputs, check_trace, check_inputs, check_tolerance, strict, example_inputs is None)
    return ScriptFunction(func)


def trace_module(mod: Any, inputs: Any, optimize: Any = None, check_trace: bool = True, check_inputs: Any = None,
                 check_tolerance: float = 1e-5, strict: bool = True, _force_outplace: bool = False, _module_class: Any = None,
                 _compilation_unit: Any = None, example_inputs_is_kwarg: bool = False, _store_inputs: bool = True) -> Any:
    """A module after its methods have run with example inputs; `inputs` has these by the names of methods."""
    if not isinstance(mod, nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    original = _as_it_is(mod)
    made = TopLevelTracedModule(original)
    for name, example in inputs.items():
        method = original if name == "forward" else getattr(original, name)
        checks = [each[name] for each in check_inputs] if check_inputs else None
        _run(method, example, check_trace, checks, check_tolerance, strict, example_inputs_is_kwarg)
        if name != "forward":
            made.__dict__[name] = method
    return made


def _run(function: Callable[..., Any], example: Any, check: bool, check_inputs: Any, tolerance: float, strict: bool,
         by_name: bool) -> None:
    """Run a function as PyTorch does when it traces, and raise where that does."""
    def call(inputs: Any) -> Any:
        if by_name:
            return function(**inputs)
        return function(*(inputs if isinstance(inputs, tuple | list) else (inputs,)))

    examples = example.values() if by_name else example if isinstance(example, tuple | list) else [example]
    for leaf in tree_leaves(list(examples)):
        if not isinstance(leaf, lucid.Tensor):
            raise RuntimeError(f"Type '{type(leaf).__name__}' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, "
                               "and Tuples of Tensors can be traced")
    result = call(example)
    _check_result(result, strict)
    if check:
        with lucid.random.fork_rng(), lucid.no_grad():
            for inputs in check_inputs or [example]:
                _compare(call(inputs) if check_inputs else result, call(inputs), tolerance)


def _check_result(result: Any, strict: bool) -> None:
    if result is None:
        raise RuntimeError("The traced function didn't return any values! Side-effects are not captured in traces, so it would "
                           "be a no-op.")
    if isinstance(result, dict) and strict:
        raise RuntimeError("Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only "
                           "valid if the container structure does not change based on the module's inputs. Give a NamedTuple, or "
                           "pass strict=False to the tracer")
    if not all(isinstance(leaf, lucid.Tensor) for leaf in tree_leaves(result)):
        raise RuntimeError("Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions")


def _compare(first: Any, second: Any, tolerance: float) -> None:
    for number, (one, other) in enumerate(zip(tree_leaves(first), tree_leaves(second), strict=True), 1):
        try:
            assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warnings.warn(f"Output nr {number}. of the traced function does not match the corresponding output of the repeated "
                          f"trace. Detailed error:\n{error}", TracerWarning, stacklevel=4)


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """A copy of a module in evaluation mode whose parameters and buffers are constants. It also takes modules from
    `torch.jit.script`, which gives them back as they are.
    """
    if not isinstance(mod, nn.Module):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script "
                           "your 'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module "
                           "before freezing.")
    own = mod._original if isinstance(mod, ScriptModule) else mod
    frozen = RecursiveScriptModule(_as_it_is(own, constant=True), getattr(mod, "original_name", type(mod).__name__))
    for name in preserved_attrs or ():
        if not hasattr(mod, name):
            raise RuntimeError(f"Unknown name: {name}")
        frozen.__dict__[name] = getattr(mod if name == "training" else frozen._original, name)
    return frozen


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """`freeze`, after the module was put into evaluation mode."""
    return freeze(mod.eval(), other_methods) if not isinstance(mod, RecursiveScriptModule) else mod


def run_frozen_optimizations(mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None) -> None:
    """Nothing: numbers stay what they are."""
