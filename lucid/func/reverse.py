"""Transforms by reverse mode: `grad`, `grad_and_value`, `vjp`, `jacrev`.

Each call differentiates by tensors of its own, which stand for the arguments: what others record of those stays apart. Results
keep a graph where they depend on tensors that required grad outside, as for an outer transform, and only there.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _dtypes
from .._pytree import tree_flatten, tree_map, tree_unflatten
from ..autograd.engine import grad as gradients_of
from ..autograd.grad_mode import enable_grad, is_grad_enabled
from ..autograd.levels import lifted
from ..autograd.node import Node
from ..ops.manipulation.joining import cat
from ..tensor import Tensor
from ..tensor.nodes import Leaf
from ._arguments import Argnums, basis, chosen, positions_of, refuse_complex, replaced, require_tensors, split_aux
from .batches import vmap


class Tape:
    """The tensors that one transform differentiates by, and whether results depend on others as well."""

    def __init__(self) -> None:
        self.outside = is_grad_enabled()
        self.leaves: list[Leaf] = []

    def own(self, tree: Any) -> Any:
        """`tree` with tensors of this tape over the memory of the given ones."""
        return tree_map(self._own, tree)

    def _own(self, tensor: Any) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        if not _dtypes.is_differentiable(tensor.dtype):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        mine = tensor.detach()
        if tensor._node is None or not self.outside:
            leaf = Leaf(mine)
            self.leaves.append(leaf)
            mine._node = leaf
        else:
            mine._node = Node("own", lifted([tensor._node], mine._array), lambda g, y: (g,), False)
        return mine

    def reaches_others(self, *tensors: Tensor) -> bool:
        """Whether `tensors` depend on some that required grad outside."""
        stack = [tensor._node for tensor in tensors if tensor._node is not None] if self.outside else []
        seen = set(stack)
        mine = set(self.leaves)
        while stack:
            node = stack.pop()
            if node.__class__ is Leaf and node not in mine:
                return True
            for parent in node.parents:
                if parent is not None and parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return False

    def settled(self, tree: Any) -> Any:
        """`tree` with tensors that know nothing of this tape where they depend on nothing else."""
        return tree_map(lambda value: self._settled(value) if isinstance(value, Tensor) else value, tree)

    def _settled(self, tensor: Tensor) -> Tensor:
        if tensor._node is None or self.reaches_others(tensor):
            return tensor
        return tensor.detach()


def gradients(outputs: Sequence[Tensor], inputs: Sequence[Tensor], upstream: Sequence[Tensor] | None, create_graph: bool,
              retain_graph: bool = False) -> list[Tensor]:
    """The gradients of `inputs`, zeros for those that no output depends on."""
    pairs = [(output, None if upstream is None else upstream[number]) for number, output in enumerate(outputs)
             if output._node is not None]
    found: Sequence[Tensor | None] = [None] * len(inputs)
    if pairs:
        found = gradients_of([output for output, _ in pairs], inputs, None if upstream is None else [g for _, g in pairs],
                             retain_graph or create_graph, create_graph, allow_unused=True)
    return [tensor.detach().new_zeros(tensor.shape) if gradient is None else gradient
            for tensor, gradient in zip(inputs, found, strict=True)]


def grad_and_value(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func`, and its value: ``(gradient, value)`` or ``(gradient, (value, aux))``.

    See `grad`.

    >>> lucid.func.grad_and_value(lambda x: (x ** 2).sum())(lucid.tensor([1.0, 2.0]))
    (Tensor([2.0, 4.0], requires_grad=False), Tensor(5.0, requires_grad=False))
    """
    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        name = "grad_and_value(f)(*args)"
        tape = Tape()
        with enable_grad():
            mine = tape.own(chosen(args, argnums))
            value, aux = split_aux(func(*replaced(args, argnums, mine), **kwargs), has_aux, name)
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
            if value.ndim:
                raise RuntimeError(f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} dims. "
                                   "Maybe you wanted to use the vjp or jacrev APIs instead?")
            leaves, spec = tree_flatten(mine)
            others = tape.reaches_others(value)
            found = tree_unflatten(gradients([value], leaves, None, others, retain_graph=others), spec)
        found, value, aux = tape.settled(found), tape.settled(value), tape.settled(aux)
        return (found, (value, aux)) if has_aux else (found, value)

    return differentiated


def grad(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that returns the gradient of `func`, which returns a single number (a tensor of no dimensions).

    `argnums` are the positions of the arguments to differentiate by: containers of tensors, or a tuple of several. With
    `has_aux`, `func` returns a pair, of which the second is returned beside the gradient. Transforms nest: ``grad(grad(f))`` is
    the second derivative, ``vmap(grad(f))`` the gradient of each example.

    Raises RuntimeError for a result that is no number, for positions that there are not, and for integers.

    >>> lucid.func.grad(lambda x: (x ** 3).sum())(lucid.tensor([1.0, 2.0]))
    Tensor([ 3.0, 12.0], requires_grad=False)
    >>> lucid.func.grad(lucid.func.grad(lucid.sin))(lucid.tensor(0.5))  # twice
    Tensor(-0.4794, requires_grad=False)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return differentiated


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """``func(*primals)``, and a function of the upstream gradients of its results that returns the gradients of `primals`.

    That function takes a container as the results are, and returns a tuple, of one gradient for each of `primals`. With `has_aux`
    the third result is what `func` returns beside its output.

    >>> y, pull = lucid.func.vjp(lambda x: x ** 2, lucid.tensor([1.0, 2.0]))
    >>> y, pull(lucid.tensor([1.0, 10.0]))
    (Tensor([1.0, 4.0], requires_grad=False), (Tensor([ 2.0, 40.0], requires_grad=False),))
    """
    output, back, aux = pulled(func, primals, tuple(range(len(primals))), has_aux)
    return (output, back, aux) if has_aux else (output, back)


def pulled(func: Callable[..., Any], args: tuple[Any, ...], argnums: Argnums, has_aux: bool) -> tuple[Any, Any, Any]:
    """The output of `func`, the function back to the arguments at `argnums`, and what `func` returns beside its output."""
    tape = Tape()
    with enable_grad():
        mine = tape.own(chosen(args, argnums))
        leaves, spec = tree_flatten(mine)
        output, aux = split_aux(func(*replaced(args, argnums, mine)), has_aux, "vjp(f, *primals)")
        flat, built = tree_flatten(output)
        require_tensors(flat, "vjp(f, *primals)")
        for tensor in flat:
            if not _dtypes.is_differentiable(tensor.dtype):
                raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with "
                                   f"dtype {tensor.dtype}")

    def back(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given, given_spec = tree_flatten(cotangents)
        if given_spec != built:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                               f"function. cotangents: {given_spec}, primal output: {built}")
        for number, (cotangent, tensor) in enumerate(zip(given, flat, strict=True)):
            if cotangent.shape != tensor.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{number}] has a shape of {cotangent.shape} and "
                                   f"output[{number}] has a shape of {tensor.shape}.")
        recording = is_grad_enabled() and (tape.reaches_others(*flat) or any(c._node is not None for c in given))
        create = recording if create_graph is None else create_graph
        found = tree_unflatten(gradients(flat, leaves, given, create, retain_graph), spec)
        return tape.settled(found) if create else found

    return tape.settled(output), back, tape.settled(aux)


def jacrev(func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func` by reverse mode: one backward pass for all elements of the outputs.

    The Jacobian of a tensor by a tensor has the shape ``output.shape + input.shape``; containers give containers of outputs, of
    inputs. At most `chunk_size` rows are computed at a time. For more inputs than outputs; see `jacfwd`.

    >>> lucid.func.jacrev(lambda x: x ** 2)(lucid.tensor([1.0, 2.0]))
    Tensor([[2.0, 0.0],
            [0.0, 4.0]], requires_grad=False)
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def differentiated(*args: Any) -> Any:
        refuse_complex("jacrev", tree_flatten(args)[0], True)
        positions_of(argnums, len(args))
        output, back, aux = pulled(func, args, argnums, has_aux)
        flat, built = tree_flatten(output)
        refuse_complex("jacrev", flat, False)
        inputs, spec = tree_flatten(chosen(args, argnums))
        total = sum(tensor.numel() for tensor in flat)
        step = total if chunk_size is None else min(chunk_size, total)

        def rows(*cotangents: Tensor) -> list[Tensor]:
            return tree_flatten(back(tree_unflatten(cotangents, built)))[0]

        parts: list[list[Tensor]] = []
        for start in range(0, total, max(step, 1)):
            units = basis(flat, start, min(start + step, total))
            if step == 1:
                parts.append([row.unsqueeze(0) for row in rows(*[unit.squeeze(0) for unit in units])])
            else:
                parts.append(list(vmap(rows)(*units)))
        columns = [cat(list(pieces), 0) if len(pieces) > 1 else pieces[0] for pieces in zip(*parts, strict=True)] if parts else [
            tensor.detach().new_zeros((0, *tensor.shape)) for tensor in inputs]
        found, start = [], 0
        for tensor in flat:
            count = tensor.numel()
            found.append(tree_unflatten([column.narrow(0, start, count).reshape((*tensor.shape, *source.shape))
                                         for column, source in zip(columns, inputs, strict=True)], spec))
            start += count
        jacobian = tree_unflatten(found, built)
        return (jacobian, aux) if has_aux else jacobian

    return differentiated
