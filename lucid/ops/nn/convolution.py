"""Convolutions over one, two and three dimensions, and their transposes.

A convolution and its two gradients are linear in each argument, so the gradient of each of the three is made of the other
two, and all of them differentiate any number of times. A transposed convolution is the gradient for the input.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _dtypes
from ...autograd.calls import operation, single_op
from ...autograd.grad_mode import GRAD, is_composed, mode
from ...autograd.op import Op, Vjp
from ...backends import TABLES, versions
from ...tensor import Tensor, version_box
from .._operands import refuse_stored
from ..manipulation.complex import complex
from ..manipulation.padding import constant_pad
from ._convolution_arguments import (
    Geometry,
    Sizes,
    check_channels,
    check_sizes,
    geometry_of,
    per_dimension,
    require_operands,
    transposed_sizes,
)
from .activation import relu_grad

__all__ = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


class _Ops(NamedTuple):
    """A convolution and its gradients. All take the fields of `Geometry` as attributes."""

    convolve: Op
    convolve_relu: Op
    grad_input: Op
    grad_weight: Op
    grad_parameters: Op
    grad: Op | None  # all three, where the backend has them in one, which is not differentiated


def _ops(name: str, together: bool) -> _Ops:
    """The operations `name`, `name`_relu, `name`_grad_input, `name`_grad_weight, and `name`_grad_parameters for weight and bias.
    """
    def convolve_rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor | None, **geometry: Any) -> Vjp:
        input_shape, weight_shape = x._array.shape, weight._array.shape
        needs_x, needs_weight, _ = needs
        x, weight = x if needs_weight else None, weight if needs_x else None  # type: ignore[assignment]

        def vjp(g: Tensor, y: Any, needs: Any = needs) -> tuple[Any, Any, Any]:
            needs_x, needs_weight, needs_bias = needs
            together = ops.grad if needs_x and needs_weight and not is_composed() else None
            if together is not None and together.name in TABLES[g._array.__class__]:
                gradients: tuple[Any, Any, Any] = together(g, x, weight, with_bias=needs_bias, **geometry)
                return gradients
            dx = ops.grad_input(g, weight, input_shape=input_shape, **geometry) if needs_x else None
            if needs_weight and needs_bias:
                return (dx, *ops.grad_parameters(g, x, weight_shape=weight_shape, **geometry))
            return (dx, ops.grad_weight(g, x, weight_shape=weight_shape, **geometry) if needs_weight else None,
                    g.sum((0, *range(2, len(input_shape)))) if needs_bias else None)

        return vjp

    def convolve_relu_rule(needs: Any, x: Tensor, weight: Tensor, bias: Tensor | None, residual: Tensor | None = None,
                           **geometry: Any) -> Vjp:
        linear = convolve_rule(needs[:3], x, weight, bias, **geometry)

        def vjp(g: Tensor, y: Any, needs: Any = needs) -> Any:
            g = relu_grad(g, y)
            return (*linear(g, None, needs[:3]), *[g if needed else None for needed in needs[3:]])  # type: ignore[call-arg]

        return vjp

    def grad_input_rule(needs: Any, g: Tensor, weight: Tensor, *, input_shape: Sizes, **geometry: Any) -> Vjp:
        weight_shape = weight._array.shape

        def vjp(gg: Tensor, y: Any, needs: Any = needs) -> tuple[Any, Any]:
            needs_g, needs_weight = needs
            return (ops.convolve(gg, weight, None, **geometry) if needs_g else None,
                    ops.grad_weight(g, gg, weight_shape=weight_shape, **geometry) if needs_weight else None)

        return vjp

    def grad_weight_rule(needs: Any, g: Tensor, x: Tensor, *, weight_shape: Sizes, **geometry: Any) -> Vjp:
        input_shape = x._array.shape

        def vjp(gg: Tensor, y: Any, needs: Any = needs) -> tuple[Any, Any]:
            needs_g, needs_x = needs
            return (ops.convolve(x, gg, None, **geometry) if needs_g else None,
                    ops.grad_input(g, gg, input_shape=input_shape, **geometry) if needs_x else None)

        return vjp

    def grad_parameters_rule(needs: Any, g: Tensor, x: Tensor, *, weight_shape: Sizes, **geometry: Any) -> Vjp:
        g_shape, input_shape = g._array.shape, x._array.shape

        def vjp(gg: Any, y: Any, needs: Any = needs) -> tuple[Any, Any]:
            needs_g, needs_x = needs
            weight, bias = (*gg, None)[:2]  # without one for the bias the list ends before
            if weight is None:
                return bias.reshape(-1, *(1,) * (len(g_shape) - 2)).expand(g_shape) if needs_g else None, None
            return (ops.convolve(x, weight, bias, **geometry) if needs_g else None,
                    ops.grad_input(g, weight, input_shape=input_shape, **geometry) if needs_x else None)

        return vjp

    ops = _Ops(single_op(name, convolve_rule), single_op(f"{name}_relu", convolve_relu_rule, saved_outputs=True),
               single_op(f"{name}_grad_input", grad_input_rule), single_op(f"{name}_grad_weight", grad_weight_rule),
               operation(f"{name}_grad_parameters", grad_parameters_rule), operation(f"{name}_grad") if together else None)
    return ops


# By the number of dimensions.
OPS = {2: _ops("conv2d", True), 3: _ops("conv3d", False)}


# ---- one dimension as two ----------------------------------------------------------------------------------------------
def _as_plane(geometry: Geometry) -> tuple[int, Geometry]:
    """Where a 1-d convolution gets a dimension of length 1 to be a 2-d one, and its geometry there.

    The only dimension becomes the height where it can: the direct kernels then need no copy of the input for each tap, at
    0.55 to 0.8 of the time of a row. Strides and groups have their fast loops along the rows.
    """
    stride, padding, dilation, groups = geometry
    if stride == (1,) and groups == 1:
        return 3, Geometry((1, 1), (*padding, 0), (*dilation, 1), 1)
    return 2, Geometry((1, *stride), (0, *padding), (1, *dilation), groups)


def _convolve(x: Tensor, weight: Tensor, bias: Tensor | None, geometry: Geometry, relu: bool = False) -> Tensor:
    if len(geometry.stride) > 1:
        stride, padding, dilation, groups = geometry
        ops = OPS[len(stride)]
        kernel = weight._array
        if kernel.__class__ in versions.kinds:
            if not mode.get() & GRAD:
                versions.note(kernel, version_box(weight))
            elif versions.noted:
                versions.forget(kernel)
        result: Tensor = (ops.convolve_relu if relu else ops.convolve)(x, weight, bias, stride=stride, padding=padding,
                                                                       dilation=dilation, groups=groups)
        return result
    dim, geometry = _as_plane(geometry)
    return _convolve(x.unsqueeze(dim), weight.unsqueeze(dim), bias, geometry, relu).squeeze(dim)


def _transpose(x: Tensor, weight: Tensor, sizes: Sizes, geometry: Geometry) -> Tensor:
    if len(sizes) > 1:
        shape = (x._array.shape[0], weight._array.shape[1] * geometry.groups, *sizes)
        result: Tensor = OPS[len(sizes)].grad_input(x, weight, input_shape=shape, **geometry._asdict())
        return result
    dim, geometry = _as_plane(geometry)
    sizes = (*sizes, 1) if dim == 3 else (1, *sizes)
    return _transpose(x.unsqueeze(dim), weight.unsqueeze(dim), sizes, geometry).squeeze(dim)


# ---- complex numbers ---------------------------------------------------------------------------------------------------
def _by_parts(product: Callable[[Tensor, Tensor], Tensor], x: Tensor, weight: Tensor) -> Tensor:
    """``product(x, weight)``, which is linear in both, for complex tensors as three real products instead of four (Gauss)."""
    real, imaginary = product(x.real, weight.real), product(x.imag, weight.imag)
    both = product(x.real + x.imag, weight.real + weight.imag)
    return complex(real - imaginary, both - real - imaginary)


# ---- any dimension -----------------------------------------------------------------------------------------------------
def _convolution(count: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
                 groups: int, relu: bool = False) -> Tensor:
    require_operands(f"conv{count}d", input, weight, bias, count)
    geometry, same = geometry_of(stride, padding, dilation, groups, count)
    shape, kernel = input._array.shape, weight._array.shape
    check_channels(shape, kernel, None if bias is None else bias._array.shape, geometry.groups, False)
    batched = len(shape) == count + 2
    x, w, b = _as_floating(input if batched else input.unsqueeze(0), weight, bias)
    if same:
        x, geometry = _pad_to_same(x, kernel, geometry)
    check_sizes(x._array.shape, kernel, geometry)
    if kernel[1] == 0:  # no input channels: the kernels want at least one, which may be zeros
        none = (0, 0) * count
        x, w = constant_pad(x, (*none, 0, groups)), constant_pad(w, (*none, 0, 1))
    if x.is_complex():
        y = _by_parts(lambda part, other: _convolve(part, other, None, geometry), x, w)
        y = y if b is None else y + b.reshape(-1, *(1,) * count)
    else:
        y = _convolve(x, w, b, geometry, relu).to(input._array.dtype)
    return y if batched else y.squeeze(0)


def _transposed(count: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any,
                output_padding: Any, groups: int, dilation: Any) -> Tensor:
    name = f"conv_transpose{count}d"
    require_operands(name, input, weight, bias, count)
    if isinstance(padding, str):
        raise TypeError(f"{name}(): argument 'padding' must be tuple of ints, not str")
    geometry, _ = geometry_of(stride, padding, dilation, groups, count)
    shape, kernel = input._array.shape, weight._array.shape
    check_channels(shape, kernel, None if bias is None else bias._array.shape, geometry.groups, True)
    batched = len(shape) == count + 2
    x, w, b = _as_floating(input if batched else input.unsqueeze(0), weight, bias)
    extra = per_dimension("output_padding", output_padding, count)
    sizes = transposed_sizes(x._array.shape, kernel, geometry, extra)
    # Where the extra elements are a stride or more, a convolution of the result has more outputs than `input` has elements.
    surplus = [e // s for e, s in zip(extra, geometry.stride, strict=True)]
    if any(surplus):
        x = constant_pad(x, [n for s in reversed(surplus) for n in (0, s)])
    if x.is_complex():
        y = _by_parts(lambda part, other: _transpose(part, other, sizes, geometry), x, w)
    else:
        y = _transpose(x, w, sizes, geometry)
    if b is not None:
        y = y + b.reshape(-1, *(1,) * count)
    y = y.to(input.dtype)
    return y if batched else y.squeeze(0)


def _as_floating(input: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[Any, Any, Any]:
    """The tensors, which have one dtype; integers as float64."""
    refuse_stored("convolution", input._array.dtype)
    if _dtypes.is_differentiable(input._array.dtype):
        return input, weight, bias
    return input.double(), weight.double(), None if bias is None else bias.double()


def _pad_to_same(x: Tensor, kernel: Sizes, geometry: Geometry) -> tuple[Tensor, Geometry]:
    """Padding 'same'. The kernel pads both sides alike: where an odd number is needed, the last one goes to the end here."""
    total = [d * (k - 1) for k, d in zip(kernel[2:], geometry.dilation, strict=True)]
    if any(n % 2 for n in total):
        x = constant_pad(x, [n for t in reversed(total) for n in (0, t % 2)])
    return x, geometry._replace(padding=tuple(n // 2 for n in total))


# ---- public functions --------------------------------------------------------------------------------------------------
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """`conv2d` over one dimension: `input` (N, C, L) or (C, L), `weight` (O, C / groups, K).

    >>> F.conv1d(lucid.tensor([[[1.0, 2.0, 3.0, 4.0]]]), lucid.tensor([[[1.0, -1.0]]]))
    Tensor([[[-1.0, -1.0, -1.0]]], requires_grad=False)
    """
    return _convolution(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """Cross-correlation of `input` (N, C, H, W) or (C, H, W) with `weight` (O, C / groups, KH, KW), plus `bias` (O,).

    `stride`, `padding` and `dilation` are a number or one for each dimension; `padding` may also be 'valid' (none) or 'same'
    (output as large as the input, for stride 1). All tensors have one floating-point or complex dtype; integers are
    computed in float64. Raises RuntimeError for shapes, dtypes and options that do not fit, as PyTorch does.

    >>> F.conv2d(lucid.ones(1, 1, 3, 3), lucid.ones(1, 1, 2, 2))
    Tensor([[[[4.0, 4.0],
              [4.0, 4.0]]]], requires_grad=False)
    >>> F.conv2d(lucid.randn(8, 3, 32, 32), lucid.randn(16, 3, 3, 3), stride=2, padding=1).shape
    lucid.Size([8, 16, 16, 16])
    """
    return _convolution(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
           groups: int = 1) -> Tensor:
    """`conv2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W), `weight` (O, C / groups, KD, KH, KW).

    While it runs it needs memory for copies of some slices of the input: a few megabytes, or a few times the weight.

    >>> F.conv3d(lucid.ones(1, 1, 2, 2, 2), lucid.ones(1, 1, 2, 2, 2))
    Tensor([[[[[8.0]]]]], requires_grad=False)
    """
    return _convolution(3, input, weight, bias, stride, padding, dilation, groups)


def convolution_relu(count: int, input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                     dilation: Any = 1, groups: int = 1) -> Tensor:
    """ReLU of `conv1d`, `conv2d` or `conv3d` of real tensors, by `count`, as one operation that writes its result once."""
    return _convolution(count, input, weight, bias, stride, padding, dilation, groups, relu=True)


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                     output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """`conv_transpose2d` over one dimension: `input` (N, C, L) or (C, L), `weight` (C, O / groups, K).

    >>> F.conv_transpose1d(lucid.tensor([[[1.0, 2.0]]]), lucid.tensor([[[1.0, 10.0]]]), stride=2)
    Tensor([[[ 1.0, 10.0,  2.0, 20.0]]], requires_grad=False)
    """
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                     output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """The transpose of `conv2d`, as a linear function: of `input` (N, C, H, W) or (C, H, W) with `weight` (C, O / groups, KH,
    KW), plus `bias` (O,).

    Each length n becomes ``(n - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1``. Where several lengths
    of a convolution's input give one length of its output, `output_padding`, smaller than stride or dilation, chooses.
    dtypes and errors are those of `conv2d`.

    Source: Zeiler et al., "Deconvolutional Networks", 2010; Dumoulin and Visin, "A guide to convolution arithmetic", 2016.

    >>> F.conv_transpose2d(lucid.ones(1, 1, 2, 2), lucid.ones(1, 1, 2, 2))
    Tensor([[[[1.0, 2.0, 1.0],
              [2.0, 4.0, 2.0],
              [1.0, 2.0, 1.0]]]], requires_grad=False)
    """
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
                     output_padding: Any = 0, groups: int = 1, dilation: Any = 1) -> Tensor:
    """`conv_transpose2d` over three dimensions: `input` (N, C, D, H, W) or (C, D, H, W), `weight` (C, O / groups, KD, KH, KW).

    >>> F.conv_transpose3d(lucid.ones(1, 2, 2, 2, 2), lucid.ones(2, 3, 2, 2, 2), stride=2).shape
    lucid.Size([1, 3, 4, 4, 4])
    """
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)
