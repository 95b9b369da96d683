"""Derivatives of functions: Jacobians, Hessians and their products with vectors, under the names of PyTorch.

By reverse mode, where a Jacobian-vector product differentiates the vector-Jacobian product once more; Jacobians also by forward
mode. With `vectorize` all rows, or columns, of a Jacobian are computed in one pass, as by `lucid.func`.

>>> from lucid.autograd.functional import jacobian
>>> jacobian(lambda x: x ** 2, lucid.tensor([1.0, 2.0]))
Tensor([[2.0, 0.0],
        [0.0, 4.0]], requires_grad=False)
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..tensor import Tensor
from .engine import grad
from .grad_mode import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Inputs = Tensor | tuple[Tensor, ...]


def jacobian(func: Callable[..., Any], inputs: Inputs, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The derivative of every output element by every input element: shape ``output.shape + input.shape``.

    A tuple of inputs (outputs) gives a tuple, or a tuple of tuples ``[output][input]``. With `strict`, an output that does not
    depend on an input raises RuntimeError instead of giving zeros. With `vectorize` all rows are computed in one pass, or with
    the `strategy` 'forward-mode', which needs it, all columns.

    >>> lucid.autograd.functional.jacobian(lambda x: x ** 2, lucid.tensor([1.0, 2.0]))
    Tensor([[2.0, 0.0],
            [0.0, 4.0]], requires_grad=False)
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "reverse-mode" or "forward-mode". Hint: If your function has more '
                             'outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
                             '"reverse-mode".')
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-mode\"` "
                                      "are not supported together (yet). Please either set `create_graph=False` or "
                                      "`strategy=\"reverse-mode\"`.")
        if strict:
            raise RuntimeError('torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not '
                               'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.')
        if not vectorize:
            raise NotImplementedError('Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented '
                                      "for `vectorize=True`.")
        return _forward_jacobian(func, inputs)
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                           "Please either set `strict=False` or `vectorize=False`.")
    with enable_grad():
        single_input, sources = _prepare(inputs, create_graph)
        single_output, outputs = _outputs(func(*sources), "jacobian")
        rows = []
        for number, output in enumerate(outputs):
            if vectorize:
                rows.append(_vectorized_row(output, sources, create_graph))
                continue
            flat = output.reshape(-1)
            columns: list[list[Tensor]] = [[] for _ in sources]
            for element in range(flat.numel()):
                found = _gradients(flat[element], sources, None, create_graph, strict, number)
                for column, gradient in zip(columns, found, strict=True):
                    column.append(gradient)
            rows.append(tuple(_stacked(column, output, source) for column, source in zip(columns, sources, strict=True)))
    picked = [row[0] if single_input else row for row in rows]
    return picked[0] if single_output else tuple(picked)


def _vectorized_row(output: Tensor, sources: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """The Jacobian of one output, in one backward pass."""
    count = output.numel()
    found: Sequence[Tensor | None] = (None,) * len(sources)
    if output.requires_grad and count:
        units = _units(output).reshape((count, *output.shape))
        found = grad(output, sources, units, retain_graph=True, create_graph=create_graph, allow_unused=True,
                     is_grads_batched=True)
    return tuple(source.detach().new_zeros((*output.shape, *source.shape)) if gradient is None else
                 gradient.reshape((*output.shape, *source.shape)) for gradient, source in zip(found, sources, strict=True))


def _units(like: Tensor) -> Tensor:
    """The unit matrix over the elements of a tensor."""
    matrix = like.detach().new_zeros((like.numel(), like.numel()))
    matrix.fill_diagonal_(1)
    return matrix


def _forward_jacobian(func: Callable[..., Any], inputs: Inputs) -> Any:
    """The Jacobian by columns, all in one pass of forward mode for each input."""
    from .transforms import mapped, pushed  # not with lucid: only transforms need it

    single_input, sources = _prepare(inputs, False)
    sources = tuple(source.detach() for source in sources)
    single_output, shapes = True, list[tuple[int, ...]]()
    columns: list[list[Tensor]] = []
    for place, source in enumerate(sources):
        def push(unit: Tensor, place: int = place) -> list[Tensor]:
            nonlocal single_output

            def moved(value: Tensor) -> tuple[Tensor, ...]:
                nonlocal single_output
                single_output, results = _outputs(func(*sources[:place], value, *sources[place + 1:]), "jacobian")
                return results

            pairs = pushed(moved, (sources[place],), (unit,))
            shapes[:] = [tuple(value.shape) for value, _ in pairs]
            return [value.detach().new_zeros(value.shape) if tangent is None else tangent for value, tangent in pairs]

        units = _units(source).reshape((source.numel(), *source.shape))
        columns.append([column.detach() for column in mapped(push, (units,), source.numel()) if column is not None])
    rows = [tuple(column[number].movedim(0, -1).reshape((*shape, *source.shape))
                  for column, source in zip(columns, sources, strict=True)) for number, shape in enumerate(shapes)]
    picked = [row[0] if single_input else row for row in rows]
    return picked[0] if single_output else tuple(picked)


def hessian(func: Callable[..., Any], inputs: Inputs, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The second derivatives of a function with one output element: shape ``input.shape + input.shape``.

    A tuple of inputs gives a tuple of tuples. `vectorize` and `outer_jacobian_strategy` are those of `jacobian`, for the second
    derivatives.

    >>> lucid.autograd.functional.hessian(lambda x: (x ** 3).sum(), lucid.tensor([1.0, 2.0]))
    Tensor([[ 6.0,  0.0],
            [ 0.0, 12.0]], requires_grad=False)
    """
    if outer_jacobian_strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "reverse-mode" or "forward-mode".')
    single, _ = _prepare(inputs, True)
    forward = outer_jacobian_strategy == "forward-mode"

    def gradient(*values: Tensor) -> Any:
        if forward:  # the tangents are of the arguments themselves, which no graph connects
            values = tuple(v.detach().requires_grad_() for v in values)
        result = jacobian(_scalar(func, "hessian"), values, create_graph=True, strict=strict)
        return tuple(g.reshape(v.shape) for g, v in zip(result, values, strict=True))

    result = jacobian(gradient, (inputs,) if isinstance(inputs, Tensor) else inputs, create_graph, strict, vectorize,
                      outer_jacobian_strategy)
    return result[0][0] if single else result


def vjp(func: Callable[..., Any], inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False
        ) -> tuple[Any, Any]:
    """``(func(inputs), v^T J)``: the outputs, and the gradients of the inputs for the upstream gradient `v`.

    >>> lucid.autograd.functional.vjp(lambda x: x ** 2, lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 10.0]))
    (Tensor([1.0, 4.0], requires_grad=False), Tensor([ 2.0, 40.0], requires_grad=False))
    """
    with enable_grad():
        single_input, sources = _prepare(inputs, create_graph)
        single_output, outputs = _outputs(func(*sources), "vjp")
        seeds = _vectors(v, outputs, "output")
        found = _gradients(outputs, sources, seeds, create_graph, strict, 0)
    return _packed(outputs, single_output, create_graph), _packed(found, single_input, create_graph)


def jvp(func: Callable[..., Any], inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False
        ) -> tuple[Any, Any]:
    """``(func(inputs), J v)``: the outputs, and how they change when the inputs move along `v`.

    >>> lucid.autograd.functional.jvp(lambda x: x ** 2, lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 10.0]))
    (Tensor([1.0, 4.0], requires_grad=False), Tensor([ 2.0, 40.0], requires_grad=False))
    """
    with enable_grad():
        _, sources = _prepare(inputs, create_graph)
        single_output, outputs = _outputs(func(*sources), "jvp")
        directions = _vectors(v, sources, "input")
        # u -> u^T J is linear, so its derivative by u, applied to v, is J v: wherever u may be, unless rules take its log.
        seeds = tuple(output.detach().new_ones(output.shape).requires_grad_() for output in outputs)
        products = _gradients(outputs, sources, seeds, True, strict, 0)
        found = _gradients(products, seeds, directions, create_graph, strict, 0)
    return _packed(outputs, single_output, create_graph), _packed(found, single_output, create_graph)


def vhp(func: Callable[..., Any], inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False
        ) -> tuple[Any, Any]:
    """``(func(inputs), v^T H)`` for a function with one output element and its Hessian H.

    >>> lucid.autograd.functional.vhp(lambda x: (x ** 3).sum(), lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 0.0]))
    (Tensor(9.0, requires_grad=False), Tensor([6.0, 0.0], requires_grad=False))
    """
    with enable_grad():
        single, sources = _prepare(inputs, create_graph)
        output = _scalar(func, "vhp")(*sources)
        directions = _vectors(v, sources, "input")
        first = _gradients((output,), sources, None, True, strict, 0)
        found = _gradients(first, sources, directions, create_graph, strict, 0)
    return _packed((output,), True, create_graph), _packed(found, single, create_graph)


def hvp(func: Callable[..., Any], inputs: Inputs, v: Any = None, create_graph: bool = False, strict: bool = False
        ) -> tuple[Any, Any]:
    """``(func(inputs), H v)``: the same as `vhp` for real inputs, whose Hessian is symmetric.

    >>> lucid.autograd.functional.hvp(lambda x: (x ** 3).sum(), lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 0.0]))
    (Tensor(9.0, requires_grad=False), Tensor([6.0, 0.0], requires_grad=False))
    """
    return vhp(func, inputs, v, create_graph, strict)


def _prepare(inputs: Inputs, create_graph: bool) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether a single tensor was given, and the inputs as tensors of their own that require grad."""
    single = isinstance(inputs, Tensor)
    values: Sequence[Any] = (inputs,) if isinstance(inputs, Tensor) else inputs
    for number, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(f"The inputs given to the function must be either a Tensor or a tuple of Tensors but the value "
                            f"at index {number} has type {type(value)}.")
    # With create_graph the results must stay connected with the tensors of the caller.
    return single, tuple(v.view_as(v) if create_graph and v.requires_grad else v.detach().requires_grad_() for v in values)


def _outputs(result: Any, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    single = isinstance(result, Tensor)
    values = (result,) if single else tuple(result)
    for value in values:
        if not isinstance(value, Tensor):
            raise TypeError(f"The outputs of the function given to {name} must be either a Tensor or a tuple of Tensors but "
                            f"got a value of type {type(value)}.")
    return single, values


def _scalar(func: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    def checked(*values: Tensor) -> Tensor:
        output = func(*values)
        if not isinstance(output, Tensor) or output.numel() != 1:
            raise RuntimeError(f"The function given to {name} should return a Tensor with a single element")
        return output.reshape(())

    return checked


def _gradients(outputs: Any, sources: tuple[Tensor, ...], seeds: Any, create_graph: bool, strict: bool, number: int
               ) -> tuple[Tensor, ...]:
    """The gradients of `sources`, zeros where there is no dependence (or RuntimeError with `strict`)."""
    pairs = [(o, None if seeds is None else seeds[i])
             for i, o in enumerate((outputs,) if isinstance(outputs, Tensor) else outputs) if o.requires_grad]
    found: tuple[Tensor | None, ...] = (None,) * len(sources)
    if pairs:
        found = grad([o for o, _ in pairs], sources, None if seeds is None else [s for _, s in pairs], retain_graph=True,
                     create_graph=create_graph, allow_unused=True)
    for which, gradient in enumerate(found):
        if gradient is None and strict:
            raise RuntimeError(f"Output {number} of the user-provided function is independent of input {which}. This is not "
                               "allowed in strict mode.")
    return tuple(s.detach().new_zeros(s.shape) if g is None else g for g, s in zip(found, sources, strict=True))


def _vectors(v: Any, like: tuple[Tensor, ...], what: str) -> tuple[Tensor, ...]:
    """`v` as a tuple that fits `like`; ones for a single element if it is not given."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the user-provided function has a single {what} with a "
                               "single element.")
        return (like[0].detach().new_ones(like[0].shape),)
    values = (v,) if isinstance(v, Tensor) else tuple(v)
    if len(values) != len(like) or any(a.shape != b.shape for a, b in zip(values, like, strict=False)):
        raise RuntimeError(f"v should contain {len(like)} tensors with the shapes of the {what}s, "
                           f"{[list(t.shape) for t in like]}, but has {[list(t.shape) for t in values]}")
    return values


def _stacked(column: list[Tensor], output: Tensor, source: Tensor) -> Tensor:
    shape = (*output.shape, *source.shape)
    if not column:
        return source.detach().new_zeros(shape)
    # Concatenation of flat gradients: `stack` lives in the layer above.
    result = source.new_zeros((len(column), *source.shape))
    for number, gradient in enumerate(column):
        result[number] = gradient
    return result.reshape(shape)


def _packed(tensors: tuple[Tensor, ...], single: bool, create_graph: bool) -> Any:
    values = tensors if create_graph else tuple(t.detach() for t in tensors)
    return values[0] if single else values
