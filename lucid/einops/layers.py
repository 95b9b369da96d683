"""Patterns as modules.

>>> from lucid.einops.layers import Rearrange
>>> nn.Sequential(Rearrange("b h w -> b (h w)"), nn.Linear(6, 2))(lucid.ones(4, 2, 3)).shape
lucid.Size([4, 2])
"""
from __future__ import annotations

import math
import warnings
from typing import Any

from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..ops.creation.creation import empty
from ..ops.linalg.einsum import einsum
from ..tensor import Tensor
from .contraction import letters
from .patterns import ELLIPSIS, Composition, EinopsError, Groups, is_anonymous, names, parse, require_used, sides
from .transforms import rearrange, reduce, sides_of_rearrange, sides_of_reduce

__all__ = ["EinMix", "Rearrange", "Reduce"]


def _lengths(lengths: dict[str, Any]) -> str:
    return "".join(f", {axis}={length}" for axis, length in lengths.items())


class Rearrange(Module):
    """`rearrange` as a module: ``Rearrange('b c h w -> b (c h w)')``. Raises EinopsError for a wrong pattern.

    >>> nn.Sequential(lucid.einops.layers.Rearrange("b c h w -> b (c h w)"), nn.Linear(12, 2))(lucid.ones(5, 3, 2, 2)).shape
    lucid.Size([5, 2])
    """

    def __init__(self, pattern: str, **axes_lengths: Any) -> None:
        super().__init__()
        self.pattern, self.axes_lengths = pattern, axes_lengths
        left, right = sides_of_rearrange(pattern)
        require_used(axes_lengths, names(left) + names(right), pattern)

    def forward(self, input: Tensor) -> Tensor:
        """`input` rearranged."""
        return rearrange(input, self.pattern, **self.axes_lengths)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pattern!r}{_lengths(self.axes_lengths)})"


class Reduce(Module):
    """`reduce` as a module: ``Reduce('b c (h 2) (w 2) -> b c h w', 'max')``. Raises EinopsError for a wrong pattern.

    >>> lucid.einops.layers.Reduce("b c h w -> b c", "max")(lucid.ones(5, 3, 2, 2)).shape
    lucid.Size([5, 3])
    """

    def __init__(self, pattern: str, reduction: Any, **axes_lengths: Any) -> None:
        super().__init__()
        self.pattern, self.reduction, self.axes_lengths = pattern, reduction, axes_lengths
        left, right = sides_of_reduce(pattern, reduction)
        require_used(axes_lengths, names(left) + names(right), pattern)

    def forward(self, input: Tensor) -> Tensor:
        """`input` reduced."""
        return reduce(input, self.pattern, self.reduction, **self.axes_lengths)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pattern!r}, {self.reduction!r}{_lengths(self.axes_lengths)})"


class EinMix(Module):
    """A weight multiplied into a tensor along named axes, and a bias: linear layers along any axes, by heads or channels.

    ``EinMix('t b c_in -> t b c_out', weight_shape='c_in c_out', bias_shape='c_out', c_in=10, c_out=20)`` is a linear layer.
    Both sides of `pattern` may compose axes. `axes_lengths` has those of the weight. The parameters begin uniform, within
    ``sqrt(3 / n)`` and ``sqrt(1 / n)`` for the n elements that make up one of the result.

    Raises EinopsError for patterns that do not fit each other.

    >>> layer = lucid.einops.layers.EinMix("b c -> b d", weight_shape="c d", bias_shape="d", c=3, d=5)
    >>> layer(lucid.ones(2, 3)).shape
    lucid.Size([2, 5])
    """

    def __init__(self, pattern: str, weight_shape: str, bias_shape: str | None = None, **axes_lengths: Any) -> None:
        super().__init__()
        self.pattern, self.weight_shape, self.bias_shape, self.axes_lengths = pattern, weight_shape, bias_shape, axes_lengths
        left, right = sides(pattern)
        weight = parse(weight_shape)
        self._require_fitting(left, right, weight)
        before, after = _in_a_row(left), _in_a_row(right)
        composed = any(len(group) != 1 or isinstance(group, Composition) for group in left)
        self.pre_rearrange = None
        if composed:
            lengths = {axis: length for axis, length in axes_lengths.items() if axis in names(left)}
            self.pre_rearrange = Rearrange(f"{pattern.split('->')[0]} -> {before}", **lengths)
        self.post_rearrange = None
        if any(len(group) != 1 or isinstance(group, Composition) for group in right):
            self.post_rearrange = Rearrange(f"{after} -> {pattern.split('->')[1]}")
        self.einsum_pattern = letters(f"{before}, {weight_shape} -> {after}")
        summed = math.prod(axes_lengths[axis] for axis in names(weight) if axis not in names(right))
        bound = math.sqrt(3 / summed)
        self.weight = Parameter(empty([axes_lengths[axis] for axis in names(weight)]).uniform_(-bound, bound))
        self.bias: Parameter | None = None
        if bias_shape is not None:
            bound = math.sqrt(1 / summed)
            self.bias = Parameter(empty(self._bias_lengths(bias_shape, right)).uniform_(-bound, bound))

    def _require_fitting(self, left: Groups, right: Groups, weight: Groups) -> None:
        inputs, outputs, weights = set(names(left)), set(names(right)), set(names(weight))
        if outputs - inputs - weights:
            raise EinopsError(f"Unrecognized identifiers on the right side of EinMix {outputs - inputs - weights}")
        if ELLIPSIS in weights:
            raise EinopsError("Ellipsis is not supported in weight, as its shape should be fully specified")
        if (ELLIPSIS in inputs) != (ELLIPSIS in outputs):
            raise EinopsError(f"Ellipsis in EinMix should be on both sides, {self.pattern}")
        if any(ELLIPSIS in group and isinstance(group, Composition) for group in left):
            raise EinopsError(f"Ellipsis on left side can't be in parenthesis, got {self.pattern}")
        if any(map(is_anonymous, inputs | outputs | weights)):
            raise EinopsError("Anonymous axes (numbers) are not allowed in EinMix")
        if any(isinstance(group, Composition) for group in weight):
            raise EinopsError(f"Parenthesis is not allowed in weight shape: {self.weight_shape}")
        given = set(self.axes_lengths)
        if weights - given:
            raise EinopsError(f"Dimension {min(weights - given)} of weight should be specified")
        if given - inputs - weights:
            raise EinopsError(f"Axes {given - inputs - weights} are not used in pattern")
        if weights - inputs - outputs:
            raise EinopsError(f"Weight axes {weights - inputs - outputs} are redundant")
        if not weights:
            warnings.warn("EinMix: weight has no dimensions (means multiplication by a number)", stacklevel=3)

    def _bias_lengths(self, bias_shape: str, right: Groups) -> list[int]:
        """The shape of a bias that is added before the axes of the result are composed."""
        if not isinstance(bias_shape, str):
            raise EinopsError("bias shape should be string specifying which axes bias depends on")
        axes = set(names(parse(bias_shape)))
        if axes - set(names(right)):
            raise EinopsError(f"Bias axes {axes - set(names(right))} not present in output")
        if axes - set(self.axes_lengths):
            raise EinopsError(f"Sizes not provided for bias axes {axes - set(self.axes_lengths)}")
        order = names(right)
        if ELLIPSIS in order and axes & set(order[:order.index(ELLIPSIS)]):
            raise EinopsError("all bias dimensions should go after ellipsis in the output")
        return [self.axes_lengths[axis] if axis in axes else 1 for axis in order if axis != ELLIPSIS]

    def forward(self, input: Tensor) -> Tensor:
        """`input` times the weight, summed over the axes that the result does not have, plus the bias."""
        x = input if self.pre_rearrange is None else self.pre_rearrange(input)
        x = einsum(self.einsum_pattern, x, self.weight)
        if self.bias is not None:
            x = x + self.bias
        return x if self.post_rearrange is None else self.post_rearrange(x)

    def __repr__(self) -> str:
        bias = "" if self.bias_shape is None else f", {self.bias_shape!r}"
        return f"{type(self).__name__}({self.pattern!r}, {self.weight_shape!r}{bias}{_lengths(self.axes_lengths)})"


def _in_a_row(groups: Groups) -> str:
    """The axes without parentheses."""
    return " ".join("..." if axis == ELLIPSIS else axis for group in groups for axis in group)
