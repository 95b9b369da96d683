"""`gradcheck` and `gradgradcheck`: compare gradients with finite differences.

A gradient ``g`` of an output ``f`` for the upstream gradient ``v`` is right if, for every real direction ``u`` of the input,
``Re<v, df[u]> == Re<g, u>``. That also is PyTorch's convention for complex numbers, whose real and imaginary parts are
perturbed one after the other.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import backends
from ..tensor import Tensor, wrap
from .engine import grad

TensorOrTensors = Tensor | Sequence[Tensor]


class GradcheckError(RuntimeError):
    """A gradient that differs from the finite difference, or that is not what a gradient must be.

    >>> try:
    ...     lucid.autograd.gradcheck(lambda x: x.detach() + 0 * x, lucid.ones(1, dtype=lucid.float64, requires_grad=True))
    ... except lucid.autograd.GradcheckError:
    ...     print("the gradient is wrong")
    the gradient is wrong
    """


def gradcheck(func: Callable[..., Any], inputs: TensorOrTensors, *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Whether the gradients of ``func(*inputs)`` for all inputs that require grad agree with finite differences.

    The inputs should be float64 or complex128. They are perturbed in place, and restored; so functions that read them by
    otherwise (parameters of a module) can be checked too. `fast_mode` compares along one random direction of each input
    and output instead of element by element. Outputs are always differentiated one at a time, which covers
    `check_undefined_grad`. `check_forward_ad` compares tangents along a random direction of each input. Raises GradcheckError on
    a mismatch, or returns False without `raise_exception`; NotImplementedError for checks of batched gradients.

    >>> lucid.autograd.gradcheck(lucid.sin, lucid.randn(3, dtype=lucid.float64, requires_grad=True))
    True
    """
    if check_batched_grad or check_batched_forward_grad:
        raise NotImplementedError("gradcheck does not check batched gradients")
    arguments = _as_tuple(inputs)
    try:
        wanted = _differentiable_inputs(arguments)
        if check_forward_ad:
            _check_forward(func, arguments, wanted, eps, atol, rtol)
        if not check_backward_ad:
            return True
        outputs = _outputs(func, arguments)
        if not any(_differentiable(t) for t in outputs):
            _check_constant(func, arguments, wanted, eps, atol)
            return True
        for number, output in enumerate(outputs):
            if _differentiable(output):
                check = _check_direction if fast_mode else _check_elements
                check(func, arguments, wanted, number, eps, atol, rtol, nondet_tol, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: TensorOrTensors, grad_outputs: TensorOrTensors | None = None, *,
                  eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
                  raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_fwd_over_rev: bool = False,
                  check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False) -> bool:
    """Whether the second gradients agree with finite differences of the first, for all inputs and `grad_outputs`.

    `grad_outputs` are random unless given. The other arguments and the errors are those of `gradcheck`.

    >>> lucid.autograd.gradgradcheck(lucid.sin, lucid.randn(3, dtype=lucid.float64, requires_grad=True))
    True
    """
    if check_fwd_over_rev:
        raise NotImplementedError("gradgradcheck does not support forward mode")
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        random = np.random.default_rng(0)
        upstream = tuple(_random_like(t, random, gen_non_contig_grad_outputs).requires_grad_()
                         for t in _outputs(func, arguments) if _differentiable(t))
    else:
        upstream = _as_tuple(grad_outputs)
    count = len(upstream)

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        originals, seeds = values[:-count], values[-count:]
        outputs = tuple(t for t in _outputs(func, originals) if _differentiable(t))
        sources = tuple(x for x in originals if isinstance(x, Tensor) and x.requires_grad)
        found = grad(outputs, sources, seeds, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    if not count or not check_rev_over_rev:
        return True
    return gradcheck(gradients, arguments + upstream, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
                     check_batched_grad=check_batched_grad, fast_mode=fast_mode, masked=masked)


# ---- inputs and outputs --------------------------------------------------------------------------------------------
def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    return _as_tuple(func(*inputs))


def _differentiable_inputs(inputs: Sequence[Any]) -> list[int]:
    """The indices of the inputs to check. Raises ValueError if there are none."""
    wanted = [number for number, value in enumerate(inputs) if _differentiable(value)]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    for number in wanted:
        array = inputs[number]._array
        if array.dtype.name not in ("float64", "complex128"):
            warnings.warn(f"Input #{number} requires gradient and is not a double precision floating point or complex. "
                          "This check will likely fail if all the inputs are not of double precision floating point or "
                          "complex. ", stacklevel=4)
        if array.size and any(step == 0 and length > 1 for step, length in zip(array.strides, array.shape, strict=True)):
            raise RuntimeError(f"The {number}th input has a dimension with stride 0. gradcheck only supports inputs that "
                               "are non-overlapping to be able to compute the numerical gradients correctly. You should "
                               "call .contiguous on the input before passing it to gradcheck.")
    return wanted


def _host(tensor: Tensor) -> np.ndarray:
    return backends.to_host(tensor.to_dense()._array)  # gradients may be sparse


def _on_device_of(tensor: Tensor, array: np.ndarray) -> Tensor:
    return wrap(backends.to_device(array, tensor.device))


def _random_like(tensor: Tensor, random: np.random.Generator, strided: bool = False) -> Tensor:
    values = random.standard_normal(tensor.shape)
    if tensor.is_complex():
        values = values + 1j * random.standard_normal(tensor.shape)
    values = np.asarray(values, tensor.dtype)
    if strided and values.ndim:
        return _on_device_of(tensor, np.repeat(values, 2, axis=-1))[..., ::2]
    return _on_device_of(tensor, values)


# ---- finite differences --------------------------------------------------------------------------------------------
def _evaluate(func: Callable[..., Any], inputs: Sequence[Any], number: int) -> np.ndarray:
    """Output `number` as a float64 or complex128 array of its own."""
    array = _host(_outputs(func, inputs)[number].detach())
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _difference(func: Callable[..., Any], inputs: Sequence[Any], which: int, number: int, step: np.ndarray,
                eps: float) -> np.ndarray:
    """The central difference of output `number` when input `which` moves along `step`."""
    target = inputs[which]
    original = _host(target).copy()
    try:
        values = []
        for sign in (1, -1):
            _overwrite(target, original + sign * eps * step)
            values.append(_evaluate(func, inputs, number))
    finally:
        _overwrite(target, original)
    return (values[0] - values[1]) / (2 * eps)


def _overwrite(target: Tensor, values: np.ndarray) -> None:
    """Put `values` into the memory of `target` without a trace in graph and version."""
    moved = backends.to_device(np.asarray(values, target.dtype), target.device)
    backends.run("copy", (moved,), {"out": target._array})


def _numerical(func: Callable[..., Any], inputs: Sequence[Any], which: int, number: int, eps: float
               ) -> tuple[np.ndarray, np.ndarray | None]:
    """d output / d real part, and d output / d imaginary part of a complex input: arrays (input elements, output)."""
    target = inputs[which]
    steps: list[list[np.ndarray]] = []
    for unit in (1, 1j) if target.is_complex() else (1,):
        rows = []
        for index in np.ndindex(*target.shape):
            step = np.zeros(target.shape, target.dtype)
            step[index] = unit
            rows.append(_difference(func, inputs, which, number, step, eps).reshape(-1))
        steps.append(rows)
    size = _evaluate(func, inputs, number).size
    stacked = [np.stack(rows) if rows else np.zeros((0, size)) for rows in steps]
    return stacked[0], stacked[1] if len(stacked) > 1 else None


def _check_constant(func: Callable[..., Any], inputs: Sequence[Any], wanted: list[int], eps: float, atol: float) -> None:
    """No output requires grad: then nothing may depend on the inputs."""
    for number, output in enumerate(_outputs(func, inputs)):
        if not isinstance(output, Tensor) or not (output.is_floating_point() or output.is_complex()):
            continue
        for which in wanted:
            for part in _numerical(func, inputs, which, number, eps):
                if part is not None and (np.abs(part) > atol).any():
                    raise GradcheckError(f"Numerical gradient for function expected to be zero: output {number} does not "
                                         f"require grad but depends on input {which}")


# ---- the two comparisons -------------------------------------------------------------------------------------------
def _analytical(output: Tensor, sources: list[Tensor], seed: np.ndarray, nondet_tol: float, check_dtypes: bool,
                number: int, wanted: list[int]) -> list[np.ndarray]:
    """The gradients of ``sources`` for the upstream gradient `seed`, computed twice to find nondeterminism."""
    upstream = _on_device_of(output, seed.astype(output.dtype))
    results = []
    for which, source, first, second in zip(
            wanted, sources,
            grad(output, sources, upstream, retain_graph=True, allow_unused=True),
            grad(output, sources, upstream, retain_graph=True, allow_unused=True), strict=True):
        if first is None or second is None:
            results.append(np.zeros(source.shape, source.dtype))
            continue
        if first.shape != source.shape:
            raise GradcheckError(f"the gradient of input {which} for output {number} has shape {list(first.shape)}, the "
                                 f"input {list(source.shape)}")
        if first.device != source.device:
            raise GradcheckError(f"the gradient of input {which} for output {number} is on {first.device}, the input on "
                                 f"{source.device}")
        if check_dtypes and first.dtype != source.dtype:
            raise GradcheckError(f"Expected grad of input {which} to have dtype {source.dtype}, but got {first.dtype}")
        one, two = _host(first), _host(second)
        if not np.allclose(one, two, rtol=0, atol=nondet_tol, equal_nan=True):
            raise GradcheckError(f"Backward is not reentrant, i.e., running backward with same input (number {which}) and "
                                 "grad_output multiple times gives different values, although analytical gradient matches "
                                 f"numerical gradient. The tolerance for nondeterminism was {nondet_tol}.")
        results.append(one)
    return results


def _check_elements(func: Callable[..., Any], inputs: Sequence[Any], wanted: list[int], number: int, eps: float,
                    atol: float, rtol: float, nondet_tol: float, check_dtypes: bool) -> None:
    """Compare the gradient of every element of output `number` with respect to every element of the inputs."""
    output = _outputs(func, inputs)[number]
    sources = [inputs[which] for which in wanted]
    differences = [_numerical(func, inputs, which, number, eps) for which in wanted]
    for element in range(output.numel()):
        for unit in (1, 1j) if output.is_complex() else (1,):
            seed = np.zeros(output.numel(), output.dtype)
            seed[element] = unit
            gradients = _analytical(output, sources, seed.reshape(output.shape), nondet_tol, check_dtypes, number, wanted)
            for which, gradient, (real, imaginary) in zip(wanted, gradients, differences, strict=True):
                expected = _projected(real[:, element], unit)
                if imaginary is not None:
                    expected = expected + 1j * _projected(imaginary[:, element], unit)
                _compare(gradient.reshape(-1), expected, atol, rtol, gradient.shape,
                         f"output {number} (element {_position(element, output.shape)}) with respect to input {which}")


def _projected(values: np.ndarray, seed: complex) -> np.ndarray:
    """``Re(conj(seed) * values)``."""
    return values.real if seed == 1 else (np.conj(seed) * values).real


def _check_direction(func: Callable[..., Any], inputs: Sequence[Any], wanted: list[int], number: int, eps: float,
                     atol: float, rtol: float, nondet_tol: float, check_dtypes: bool) -> None:
    """Compare one random projection of the gradient for each input."""
    random = np.random.default_rng(0)
    output = _outputs(func, inputs)[number]
    seed = _host(_random_like(output, random))
    sources = [inputs[which] for which in wanted]
    gradients = _analytical(output, sources, seed, nondet_tol, check_dtypes, number, wanted)
    for which, gradient in zip(wanted, gradients, strict=True):
        direction = _host(_random_like(inputs[which], random))
        difference = _difference(func, inputs, which, number, direction, eps)
        expected = np.vdot(seed, difference).real
        found = np.vdot(gradient, direction).real
        _compare(np.asarray([found]), np.asarray([expected]), atol, rtol, (1,),
                 f"output {number} with respect to input {which} (a random direction)")


def _check_forward(func: Callable[..., Any], inputs: Sequence[Any], wanted: list[int], eps: float, atol: float, rtol: float
                   ) -> None:
    """Compare the tangents of all outputs for one random direction of each input."""
    from .transforms import pushed  # not with lucid: only transforms need it

    random = np.random.default_rng(1)
    for which in wanted:
        def moved(value: Tensor, which: int = which) -> tuple[Tensor, ...]:
            return tuple(t for t in _outputs(func, (*inputs[:which], value, *inputs[which + 1:])) if isinstance(t, Tensor))

        direction = _random_like(inputs[which], random)
        places = [number for number, t in enumerate(_outputs(func, inputs)) if isinstance(t, Tensor)]
        for number, (value, tangent) in zip(places, pushed(moved, (inputs[which],), (direction,)), strict=True):
            if not (value.is_floating_point() or value.is_complex()):
                continue
            expected = _difference(func, inputs, which, number, _host(direction), eps)
            found = np.zeros_like(expected) if tangent is None else _host(tangent)
            _compare(np.atleast_1d(found).ravel(), np.atleast_1d(expected).ravel(), atol, rtol, (found.size,),
                     f"output {number} with respect to input {which} in forward mode (a random direction)")


def _position(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()


def _compare(found: np.ndarray, expected: np.ndarray, atol: float, rtol: float, shape: tuple[int, ...], where: str) -> None:
    close = np.isclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return
    error = np.where(close, 0, np.nan_to_num(np.abs(found - expected), nan=np.inf))
    worst = int(np.argmax(error))
    raise GradcheckError(f"Jacobian mismatch for {where}: at element {_position(worst, shape)} of the input the numerical "
                         f"gradient is {expected[worst]}, the analytical gradient {found[worst]} "
                         f"({int((~close).sum())} of {close.size} elements differ)")
