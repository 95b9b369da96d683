"""Transforms by forward mode: `jvp`, `jacfwd`; and those of both: `hessian`, `linearize`."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._pytree import tree_flatten, tree_unflatten
from ..autograd.engine import grad as gradients_of
from ..autograd.forward_ad import check_tangent
from ..autograd.grad_mode import enable_grad
from ..autograd.transforms import pushed
from ..tensor import Tensor
from ._arguments import Argnums, basis, chosen, positions_of, refuse_complex, replaced, require_tensors, split_aux
from .batches import vmap
from .reverse import Tape, jacrev

_NAME = "jvp(f, primals, tangents)"


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
        ) -> tuple[Any, ...]:
    """``(func(*primals), tangents of that)``: how the results change when the tuple `primals` moves along `tangents`.

    With `has_aux` the third result is what `func` returns beside its output; with `strict` an output that does not depend on
    the primals raises RuntimeError instead of having zeros.

    >>> lucid.func.jvp(lambda x: x ** 2, (lucid.tensor([1.0, 2.0]),), (lucid.tensor([1.0, 10.0]),))
    (Tensor([1.0, 4.0], requires_grad=False), Tensor([ 2.0, 40.0], requires_grad=False))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{_NAME}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    return _jvp(func, primals, tangents, None, strict, has_aux)


def _jvp(func: Callable[..., Any], args: tuple[Any, ...], tangents: Any, argnums: Argnums | None, strict: bool, has_aux: bool
         ) -> Any:
    primals = args if argnums is None else chosen(args, argnums)
    leaves, spec = tree_flatten(primals)
    moves, given = tree_flatten(tangents)
    if spec != given:
        raise RuntimeError(f"{_NAME}: Expected primals and tangents to have the same python structure. For example, if primals "
                           f"is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with "
                           f"structure {given}")
    for what, values in (("primals", leaves), ("tangents", moves)):
        if not values:
            raise RuntimeError(f"{_NAME}: Expected {what} to contain at least one Tensor.")
        for value in values:
            if not isinstance(value, Tensor):
                raise RuntimeError(f"{_NAME}: Expected {what} to only contain Tensors, got {type(value)}")
    for leaf, move in zip(leaves, moves, strict=True):
        check_tangent(leaf, move)
    built: Any = None
    extra: Any = None
    count = 0

    def flat(*duals: Tensor) -> list[Tensor]:
        nonlocal built, extra, count
        new = tree_unflatten(duals, spec)
        output, aux = split_aux(func(*(new if argnums is None else replaced(args, argnums, new))), has_aux, _NAME)
        results, built = tree_flatten(output)
        require_tensors(results, _NAME)
        count = len(results)
        beside, extra = tree_flatten(aux)
        extra = (beside, extra)
        return [*results, *[value for value in beside if isinstance(value, Tensor)]]

    pairs = pushed(flat, leaves, moves)
    if strict and any(tangent is None for _, tangent in pairs[:count]):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                           "allowed with strict=True.")
    value = tree_unflatten([primal for primal, _ in pairs[:count]], built)
    change = tree_unflatten([primal.detach().new_zeros(primal.shape) if tangent is None else tangent
                             for primal, tangent in pairs[:count]], built)
    if not has_aux:
        return value, change
    beside, beside_spec = extra
    plain = iter([primal for primal, _ in pairs[count:]])
    aux = tree_unflatten([next(plain) if isinstance(item, Tensor) else item for item in beside], beside_spec)
    return value, change, aux


def jacfwd(func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
           ) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func` by forward mode: one pass for all elements of the inputs.

    The shapes are those of `jacrev`. For fewer inputs than outputs. `randomness` is that of `vmap`.

    >>> lucid.func.jacfwd(lambda x: x ** 2)(lucid.tensor([1.0, 2.0]))
    Tensor([[2.0, 0.0],
            [0.0, 4.0]], requires_grad=False)
    """
    @functools.wraps(func)
    def differentiated(*args: Any) -> Any:
        refuse_complex("jacfwd", tree_flatten(args)[0], True)
        positions_of(argnums, len(args))
        inputs, spec = tree_flatten(chosen(args, argnums))
        total = sum(tensor.numel() for tensor in inputs)
        aux: Any = None
        built: Any = None

        def push(*tangents: Tensor) -> Any:
            nonlocal built
            found = _jvp(func, args, tree_unflatten(tangents, spec), argnums, False, has_aux)
            outputs, built = tree_flatten(found[1])
            refuse_complex("jacfwd", outputs, False)
            return (outputs, found[2]) if has_aux else (outputs, ())

        columns, aux = vmap(push, out_dims=(-1, 0 if not has_aux else None), randomness=randomness)(*basis(inputs, 0, total))
        found, start = [], 0
        parts: list[list[Tensor]] = []
        for column in columns:
            row, start = [], 0
            for source in inputs:
                count = source.numel()
                row.append(column.narrow(-1, start, count).reshape((*column.shape[:-1], *source.shape)))
                start += count
            parts.append(row)
        found = [tree_unflatten(row, spec) for row in parts]
        jacobian = tree_unflatten(found, built)
        return (jacobian, aux) if has_aux else jacobian

    return differentiated


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the Hessian of `func`: forward mode over reverse mode.

    >>> lucid.func.hessian(lambda x: (x ** 3).sum())(lucid.tensor([1.0, 2.0]))
    Tensor([[ 6.0,  0.0],
            [ 0.0, 12.0]], requires_grad=False)
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)``, and the function of tangents that is its derivative there: `func` itself runs once.

    For many tangents at one point; `jvp` computes one in less time. That function takes tangents as `primals` are, and raises
    RuntimeError for others.

    >>> y, tangent = lucid.func.linearize(lambda x: x ** 2, lucid.tensor([1.0, 2.0]))
    >>> y, tangent(lucid.tensor([1.0, 10.0]))
    (Tensor([1.0, 4.0], requires_grad=False), Tensor([ 2.0, 40.0], requires_grad=False))
    """
    tape = Tape()
    with enable_grad():
        mine = tape.own(primals)
        leaves, spec = tree_flatten(mine)
        flat, built = tree_flatten(func(*mine))
        require_tensors(flat, "linearize(f, *primals)")
        tracked = [tensor for tensor in flat if tensor._node is not None]
        # What is linear in these is differentiated by them, for each tangent. Not at zeros, of which a rule may take logarithms.
        seeds = [tensor.detach().new_ones(tensor.shape).requires_grad_() for tensor in tracked]
        products: Any = [None] * len(leaves)
        if tracked:
            products = gradients_of(tracked, leaves, seeds, create_graph=True, allow_unused=True)

    def jvp_fn(*tangents: Any) -> Any:
        given, given_spec = tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}")
        for leaf, tangent in zip(leaves, given, strict=True):
            check_tangent(leaf, tangent)
        pairs = [(product, tangent) for product, tangent in zip(products, given, strict=True)
                 if product is not None and product._node is not None]
        found: Any = [None] * len(tracked)
        if pairs:
            found = gradients_of([product for product, _ in pairs], seeds, [tangent for _, tangent in pairs], retain_graph=True,
                                 allow_unused=True)
        changes = iter(found)
        results = []
        for tensor in flat:
            change = next(changes) if tensor._node is not None else None
            results.append(tensor.detach().new_zeros(tensor.shape) if change is None else change)
        return tree_unflatten(results, built)

    return tree_unflatten([tape.settled(tensor) for tensor in flat], built), jvp_fn
