"""The lengths of named axes, and tensors as NumPy arrays."""
from __future__ import annotations

from typing import Any

import numpy as np

from ..ops._operands import require_tensor
from ..tensor import Tensor
from .patterns import ELLIPSIS, Composition, is_anonymous, parse

__all__ = ["asnumpy", "parse_shape"]


def parse_shape(x: Any, pattern: str) -> dict[str, int]:
    """The lengths of the axes that `pattern` names; ``_`` leaves one out: ``parse_shape(x, 'batch _ h w')``.

    Raises RuntimeError for a shape that does not fit, and for parentheses.

    >>> lucid.einops.parse_shape(lucid.zeros(2, 3, 4), "batch _ width")
    {'batch': 2, 'width': 4}
    """
    groups, shape = parse(pattern, underscore=True), tuple(x.shape)
    if any(isinstance(group, Composition) and group for group in groups):
        raise RuntimeError(f"Can't parse shape with composite axes: {pattern} {shape}")
    if [ELLIPSIS] in groups:
        place = groups.index([ELLIPSIS])
        groups = groups[:place] + [["_"]] * (len(shape) - len(groups) + 1) + groups[place + 1:]
    if len(groups) != len(shape):
        raise RuntimeError(f"Can't parse shape with different number of dimensions: {pattern} {shape}")
    result = {}
    for group, length in zip(groups, shape, strict=True):
        axis = group[0] if group else "#1."
        if is_anonymous(axis):
            if int(axis[1:].split(".")[0]) != length:
                raise RuntimeError(f"Length of an anonymous axis does not match: {pattern} {shape}")
        elif axis != "_":
            result[axis] = length
    return result


def asnumpy(tensor: Tensor) -> np.ndarray:
    """The elements as a NumPy array, without their gradients, from any device.

    >>> lucid.einops.asnumpy(lucid.ones(2, requires_grad=True))
    array([1., 1.], dtype=float32)
    """
    return require_tensor("asnumpy", tensor).detach().cpu().numpy()
