"""`vmap`: a function of single examples as one of batches."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._layout import sparse_coo, strided
from .._pytree import TreeSpec, broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..autograd.lifting import into_batch, out_of_batch
from ..autograd.transforms import entered
from ..levels.lifted import Level, levels_of
from ..ops.manipulation.joining import cat
from ..tensor import Tensor
from ._arguments import name_of


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable[..., Any]:
    """A function that computes `func` for every slice of its arguments along one dimension, and stacks the results.

    `func` sees tensors without that dimension, which is `in_dims` of each argument: an int, None for an argument that is the
    same for all, or a container of those as the arguments are. `out_dims` are the places of the new dimension in the results.
    Operations compute all slices at once; one without a rule takes them in turn, and warns about that. Over a sparse tensor of
    layout COO, `func` runs for one slice after the other, and sees each as it is; its results may be sparse.

    `randomness` is what random operations do: 'error', the 'same' numbers for all slices, or 'different' ones. At most
    `chunk_size` slices are computed at a time. Transforms nest in any order.

    Raises ValueError for arguments that do not fit `in_dims`, lengths that differ, and results that are no tensors; RuntimeError
    where `func` looks at elements (`if x > 0`, `item()`), and for results whose shapes would depend on them. Over sparse tensors
    also for the randomness 'same', a batch of size 0, and the layouts of matrices (CSR and CSC).

    >>> rows = lucid.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> lucid.vmap(lucid.dot)(rows, rows)
    Tensor([ 5.0, 25.0], requires_grad=False)
    >>> lucid.vmap(lucid.func.grad(lambda x: (x ** 2).sum()))(rows)
    Tensor([[2.0, 4.0],
            [6.0, 8.0]], requires_grad=False)
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, spec, size = _inputs(func, in_dims, args)
        if any(dim is not None and leaf.layout is not strided for leaf, dim in zip(leaves, dims, strict=True)):
            return _in_turn(func, leaves, dims, spec, size, out_dims, randomness, kwargs)
        if chunk_size is None or chunk_size >= size:
            return _run(func, leaves, dims, spec, size, out_dims, randomness, kwargs)
        parts = []
        for start in range(0, size, chunk_size):
            stop = min(start + chunk_size, size)
            slices = [leaf if dim is None else leaf.narrow(dim, start, stop - start)
                      for leaf, dim in zip(leaves, dims, strict=True)]
            parts.append(_run(func, slices, dims, spec, stop - start, out_dims, randomness, kwargs))
        return _joined(func, parts, out_dims)

    return mapped


def _inputs(func: Callable[..., Any], in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], list[int | None], TreeSpec, int]:
    """The leaves of the arguments, the dimension of each, how they are built, and the length of the batch."""
    name = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list, dict)):
        raise ValueError(f"{name}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of "
                         f"inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
                         "vmap over a function with no inputs. The latter is unsupported.")
    leaves, spec = tree_flatten(args)
    given = broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if given is None:
        raise ValueError(f"{name}: in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                         f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}.")
    dims: list[int | None] = []
    sizes: list[int] = []
    for leaf, dim in zip(leaves, given, strict=True):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(f"{name}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None.")
        if dim is None:
            dims.append(None)
            continue
        if not isinstance(leaf, Tensor):
            raise ValueError(f"{name}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                             "non-Tensor arguments, please use None as the respective in_dim")
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(f"{name}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim} "
                             f"so expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}.")
        if leaf.layout not in (strided, sparse_coo):
            raise RuntimeError(f"{name}: Got in_dim={dim} for a tensor of layout {leaf.layout}, over which vmap cannot go; pass "
                               "it with the in_dim None, or make it dense with to_dense().")
        dims.append(dim % leaf.ndim)
        sizes.append(leaf.shape[dim])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return leaves, dims, spec, sizes[0]


def _in_turn(func: Callable[..., Any], leaves: Sequence[Any], dims: Sequence[int | None], spec: TreeSpec, size: int,
             out_dims: Any, randomness: str, kwargs: dict[str, Any]) -> Any:
    """`_run` for one slice after the other, which each are what the function sees: a batch of sparse tensors has no array that
    hides the dimension, as their slices keep different places.
    """
    if randomness == "same":
        raise RuntimeError("vmap: randomness='same' is not supported over sparse tensors, whose slices are computed in turn")
    if not size:
        raise RuntimeError("vmap: over sparse tensors there is nothing to compute for a batch of size 0")
    parts = []
    for number in range(size):
        level = Level(1, randomness)
        given = [leaf if dim is None else leaf.select(dim, number) for leaf, dim in zip(leaves, dims, strict=True)]
        with entered(level) if randomness == "error" else contextlib.nullcontext():  # in which random operations raise
            flat, built = tree_flatten(func(*tree_unflatten(given, spec), **kwargs))
        found = [_result(func, output, dim, None) for output, dim in zip(flat, _out_dims(func, out_dims, built), strict=True)]
        parts.append(tree_unflatten(found, built))
    return _joined(func, parts, out_dims)


def _run(func: Callable[..., Any], leaves: Sequence[Any], dims: Sequence[int | None], spec: TreeSpec, size: int, out_dims: Any,
         randomness: str, kwargs: dict[str, Any]) -> Any:
    level = Level(size, randomness)
    with entered(level):
        given = [leaf if dim is None else into_batch(leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)]
        outputs = func(*tree_unflatten(given, spec), **kwargs)
        flat, built = tree_flatten(outputs)
        found = []
        for output, dim in zip(flat, _out_dims(func, out_dims, built), strict=True):
            found.append(_result(func, output, dim, level))
    return tree_unflatten(found, built)


def _out_dims(func: Callable[..., Any], out_dims: Any, spec: TreeSpec) -> list[Any]:
    """A dimension for each result."""
    if isinstance(out_dims, int) or out_dims is None:
        return [out_dims] * spec.num_leaves
    if spec.type is None and isinstance(out_dims, tuple) and len(out_dims) == 1 and isinstance(out_dims[0], int):
        return [out_dims[0]]
    name = f"vmap({name_of(func)}, ..., out_dims={out_dims})"
    if not isinstance(out_dims, (tuple, list, dict)):
        raise ValueError(f"{name}: `out_dims` must be an int, None or a python collection of ints representing where in the "
                         "outputs the vmapped dimension should appear.")
    found = broadcast_to_and_flatten(out_dims, spec)
    if found is None and isinstance(out_dims, tuple):
        found = broadcast_to_and_flatten(list(out_dims), spec)
    if found is None:
        raise ValueError(f"{name}(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has structure "
                         f"{tree_flatten(out_dims)[1]} but outputs has structure {spec}.")
    return found


def _result(func: Callable[..., Any], output: Any, dim: Any, level: Level | None) -> Any:
    """The result with the batch of `level`, or None for that of one slice alone, as dimension `dim`."""
    if dim is None:
        if isinstance(output, Tensor) and level in levels_of(output._array):
            raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` can not return a BatchedTensor when out_dim is None")
        return output
    if not isinstance(output, Tensor):
        raise ValueError(f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type {type(output)}. Did "
                         "you mean to set out_dims= to None for output?")
    ndim = output.ndim + 1
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return output.unsqueeze(dim % ndim) if level is None else out_of_batch(output, dim % ndim, level)


def _joined(func: Callable[..., Any], parts: Sequence[Any], out_dims: Any) -> Any:
    """The results of chunks, one after the other along the dimensions of the batch."""
    flat = [tree_flatten(part)[0] for part in parts]
    spec = tree_flatten(parts[0])[1]
    dims = _out_dims(func, out_dims, spec)
    return tree_unflatten([pieces[0] if dim is None else cat(list(pieces), dim)
                           for pieces, dim in zip(zip(*flat, strict=True), dims, strict=True)], spec)
