"""Convolutions with kernels of one element are products of matrices: cuBLAS computes them. Of images with the channels last all
pixels are the rows of one product; of others each image is one, and the weight gradient is the sum of those of the images.

The functions return None where that does not serve: with a stride, padding or groups, of exact float32, and of rows that do not
begin at multiples of 16 bytes, which cuBLAS reads slowly. Nor do they where the gradients of the images would take more memory
than the images, or would be rounded to halves.
"""
from __future__ import annotations

import math
from typing import Any

from lucid_kernels.cuda.convolution import layout, slices
from lucid_kernels.cuda.convolution.problem import Geometry, kind_of
from lucid_kernels.cuda.matmul import products
from lucid_kernels.cuda.movement import copies
from lucid_kernels.cuda.runtime import launch


def convolve(x: Any, weight: Any, geometry: Geometry, out: Any) -> Any:
    """As `tensor_cores.convolve`."""
    return _product(x, weight, weight.shape[0], False, geometry, out)


def convolve_grad_input(g: Any, weight: Any, geometry: Geometry, out: Any) -> Any:
    """As `tensor_cores.convolve_grad_input`."""
    return _product(g, weight, weight.shape[1], True, geometry, out)


def convolve_grad_weight(g: Any, x: Any, geometry: Geometry, out: Any) -> Any:
    """As `tensor_cores.convolve_grad_weight`."""
    last = layout.is_channels_last(g) and layout.is_channels_last(x)
    outputs, inputs, pixels = geometry.out_channels, geometry.in_channels, math.prod(geometry.in_size)
    large = outputs * inputs > (outputs + inputs) * pixels
    if not _serves(g, geometry, last) or not (last or (g.dtype.char == "f" and not large)):
        return None
    dw = launch.result(out, (outputs, inputs, *(1,) * (x.ndim - 2)), g.dtype)
    if last:
        products.multiply(_kind(g), _rows(g).T, _rows(x), dw.reshape(outputs, inputs), (), False)
    else:
        images = [copies.contiguous(each).reshape(*each.shape[:2], pixels) for each in (g, x)]
        parts = launch.empty((len(g), outputs, inputs), g.dtype)
        products.multiply(_kind(g), images[0], images[1].transpose(0, 2, 1), parts, (len(g),), False)
        slices.add_weight_slices(parts, dw, inputs, inputs, 1)
    return launch.deliver(dw, out)


def _serves(x: Any, geometry: Geometry, last: bool) -> bool:
    plain = geometry.taps == geometry.groups == math.prod(geometry.stride) == 1 and not any(geometry.padding)
    sides = (geometry.in_channels, geometry.out_channels, *(() if last else (math.prod(geometry.in_size),)))
    return plain and x.size > 0 and kind_of(x.dtype) != "Float32" and all(n * x.itemsize % 16 == 0 for n in sides)


def _product(x: Any, weight: Any, channels: int, gradient: bool, geometry: Geometry, out: Any) -> Any:
    last = layout.is_channels_last(x)
    if not _serves(x, geometry, last) or (last and out is not None):
        return None
    shape = x.shape[0], channels, *x.shape[2:]
    matrix = copies.contiguous(weight).reshape(weight.shape[:2])
    if last:
        y = layout.result_like(None, shape, x)
        products.multiply(_kind(x), _rows(x), matrix if gradient else matrix.T, _rows(y), (), False)
        return y
    y, x = launch.result(out, shape, x.dtype), copies.contiguous(x)
    images = x.reshape(*x.shape[:2], -1)
    products.multiply(_kind(x), matrix.T if gradient else matrix, images, y.reshape(*shape[:2], -1), shape[:1], False)
    return launch.deliver(y, out)


def _rows(x: Any) -> Any:
    """The pixels of an array with the channels last, as a matrix."""
    return layout.turned(x).reshape(-1, x.shape[1])


def _kind(x: Any) -> tuple[int, int, int, int]:
    kind = products.TF32 if x.dtype.char == "f" else products.kind_of(x.dtype)
    assert kind is not None
    return kind
