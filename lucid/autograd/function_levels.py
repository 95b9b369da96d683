"""Functions written by the user inside of function transforms: their own rules for batches and tangents."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._pytree import broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..levels.lifted import Batched, Level, active, is_dual, levels_of, outermost
from ..tensor import Tensor
from .lifting import into_batch, out_of_batch, tangent_of, value_of, with_tangent


class VmapInfo(NamedTuple):
    """What `Function.vmap` gets to know of the transform."""

    batch_size: int
    randomness: str


def apply_inside(function: Any, args: Sequence[Any]) -> Any:
    """`function.apply` of tensors of which some are batched or dual: the rule for the latest level that they have."""
    top = outermost([arg._array for arg in args if isinstance(arg, Tensor)])
    if top is None:
        return function._call(args)[0]
    if top.__class__ is Batched:
        return _batched(function, args, top.level)
    return _dual(function, args, top.level)


def _batched(function: Any, args: Sequence[Any], level: Level) -> Any:
    name = function.__name__
    if not function._overrides("setup_context"):
        raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it "
                           f"must override the setup_context staticmethod, which {name} does not.")
    own = function._overrides("vmap")
    if function.generate_vmap_rule:
        if own:
            raise RuntimeError(f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap "
                               "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to "
                               "avoid ambiguity.")
        if any(isinstance(arg, Tensor) and is_dual(arg._array) for arg in args):
            raise RuntimeError(f"{name}: vmap of forward mode needs a vmap staticmethod, not generate_vmap_rule=True")
        return function._call(args)[0]
    if not own:
        raise RuntimeError(f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the "
                           "vmap staticmethod or set generate_vmap_rule=True.")
    given, in_dims = [], []
    for arg in args:
        batched = isinstance(arg, Tensor) and level in levels_of(arg._array)
        given.append(out_of_batch(arg, 0, level) if batched else arg)
        in_dims.append(0 if batched else None)
    token = active.set(tuple(other for other in active.get() if other is not level))  # the method is outside of it
    try:
        result = function.vmap(VmapInfo(level.size, level.randomness), tuple(in_dims), *given)
    finally:
        active.reset(token)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"Expected the vmap staticmethod of {name} to have two returns, an output and out_dims with pytree "
                           f"structure compatible with the output. Got {type(result)} instead")
    outputs, spec = tree_flatten(result[0])
    out_dims = broadcast_to_and_flatten(result[1], spec)
    if out_dims is None:
        raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. "
                           f"Expected out_dims={result[1]} to be compatible with the structure of `output`. out_dims has "
                           f"structure {tree_flatten(result[1])[1]} but output has structure {spec}.")
    return tree_unflatten([output if dim is None else into_batch(output, dim % output.ndim, level)
                           for output, dim in zip(outputs, out_dims, strict=True)], spec)


def _dual(function: Any, args: Sequence[Any], level: Level) -> Any:
    values = [value_of(arg, level) if isinstance(arg, Tensor) else arg for arg in args]
    tangents = [tangent_of(arg, level) if isinstance(arg, Tensor) else None for arg in args]
    if not any(tangent is not None for tangent in tangents) or not function._overrides("jvp"):
        function.jvp(None)  # says what is missing
    token = active.set(tuple(other for other in active.get() if other is not level))
    try:
        top = outermost([value._array for value in values if isinstance(value, Tensor)])
        if top is not None:
            raise RuntimeError(f"{function.__name__}: forward mode inside of other transforms of a custom autograd.Function is "
                               "not supported; write it with operations")
        output, node = function._call(values)
        if node._materialize:
            tangents = [value.new_zeros(value.shape) if tangent is None and isinstance(value, Tensor) and (
                value.is_floating_point() or value.is_complex()) else tangent
                for value, tangent in zip(values, tangents, strict=True)]
        node._in_forward = True
        try:
            changes = function.jvp(node, *tangents)
        finally:
            node._in_forward = False
    finally:
        active.reset(token)
    alone = not isinstance(output, tuple)
    outputs = (output,) if alone else output
    changes = changes if isinstance(changes, (tuple, list)) else (changes,)
    if len(changes) != len(outputs):
        raise RuntimeError(f"{function.__name__}: jvp returned {len(changes)} tangents for {len(outputs)} outputs")
    found = tuple(value if change is None or not isinstance(value, Tensor) else with_tangent(value, change, level)
                  for value, change in zip(outputs, changes, strict=True))
    return found[0] if alone else found
