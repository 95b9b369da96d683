"""The two passes of batch normalisation, forward and backward, over some neighbouring channels of (N, C, S), in LLVM IR.

`parameters` has the rows of `channel_parameters`. `memory` is float64, `SUM_BYTES` for each of the channels first..last; it
begins with their sums afterwards, two each. Nothing is checked.
"""
from __future__ import annotations

from typing import Any

from numba import types

from ..runtime.intrinsic import intrinsic
from ..simd.ir import data_of
from .channel_loops import Channels, Term
from .channel_parameters import BIAS, MEAN, RSTD, SHIFT, SLOPE, WEIGHT


@intrinsic
def shifted_sums(typing, x, first, last, parameters, memory):
    """The sums of x - mean and of its square; any number near the mean will do for it."""
    signature = types.void(x, types.int64, types.int64, parameters, memory)

    def emit(context, builder, signature, arguments):
        x, parameters, memory = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 3, 4))
        channels = Channels(context, builder, signature.args[0], *arguments[:3])

        def prepare(channel: Any) -> Term:
            (shift,) = channels.parameters(parameters, channel, MEAN)

            def terms(at: Any, mask: Any) -> tuple[Any, Any, Any]:
                distance = builder.fsub(channels.load(x, at, mask), shift)
                return distance, distance, distance

            return terms

        channels.two_sums(prepare, memory)
        return context.get_dummy_value()

    return signature, emit


def _make_normalize(relu: bool, added: bool) -> Any:
    @intrinsic
    def normalize(typing, x, residual, first, last, parameters, y, stream):
        """y = (x - mean) * rstd * weight + bias, plus the residual if it is `added`; with `relu` the larger of that and 0."""
        signature = types.void(x, residual, types.int64, types.int64, parameters, y, types.boolean)

        def emit(context, builder, signature, arguments):
            x, residual, parameters, y = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4, 5))
            channels = Channels(context, builder, signature.args[0], arguments[0], *arguments[2:4], backwards=True)

            def prepare(channel: Any) -> Term:
                mean, rstd, weight, bias = channels.parameters(parameters, channel, MEAN, RSTD, WEIGHT, BIAS)
                scale = builder.fmul(rstd, weight)

                def value(at: Any, mask: Any) -> Any:
                    value = channels.affine(builder.fsub(channels.load(x, at, mask), mean), scale, bias)
                    if added:
                        value = builder.fadd(value, channels.load(residual, at, mask))
                    return channels.unless_positive(value, value) if relu else value

                return value

            channels.fill(y, prepare, arguments[6], None if added else x)
            return context.get_dummy_value()

        return signature, emit

    return normalize


normalize, normalize_relu = _make_normalize(False, False), _make_normalize(True, False)
normalize_add_relu = _make_normalize(True, True)


class _Masked:
    """g and x - mean at each position, where a ReLU followed: without a residual whether it let g pass is computed again."""

    def __init__(self, channels: Channels, channel: Any, g: Any, x: Any, parameters: Any, recomputed: bool) -> None:
        self.channels, self.g, self.x, self.recomputed = channels, g, x, recomputed
        self.mean, rstd, weight, self.bias = channels.parameters(parameters, channel, MEAN, RSTD, WEIGHT, BIAS)
        self.scale = channels.builder.fmul(rstd, weight)

    def at(self, at: Any, mask: Any) -> tuple[Any, Any]:
        channels = self.channels
        gradient = channels.load(self.g, at, mask)
        distance = channels.builder.fsub(channels.load(self.x, at, mask), self.mean)
        if self.recomputed:
            gradient = channels.unless_positive(channels.affine(distance, self.scale, self.bias), gradient)
        return gradient, distance


def _make_grad_sums(recomputed: bool) -> Any:
    @intrinsic
    def grad_sums(typing, g, x, first, last, parameters, memory):
        """The sums of g and of g * (x - mean). If it is `recomputed`, g counts where the result is positive, or NaN."""
        signature = types.void(g, x, types.int64, types.int64, parameters, memory)

        def emit(context, builder, signature, arguments):
            g, x, parameters, memory = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4, 5))
            channels = Channels(context, builder, signature.args[1], *arguments[1:4])

            def prepare(channel: Any) -> Term:
                masked = _Masked(channels, channel, g, x, parameters, recomputed)

                def terms(at: Any, mask: Any) -> tuple[Any, Any, Any]:
                    gradient, distance = masked.at(at, mask)
                    return gradient, gradient, distance

                return terms

            channels.two_sums(prepare, memory)
            return context.get_dummy_value()

        return signature, emit

    return grad_sums


grad_sums, recomputed_grad_sums = _make_grad_sums(False), _make_grad_sums(True)


@intrinsic
def masked_grad_sums(typing, g, y, x, first, last, parameters, gm, memory):
    """gm = g where not y <= 0, else 0; its sums and those of gm * (x - mean), as `grad_sums`."""
    signature = types.void(g, y, x, types.int64, types.int64, parameters, gm, memory)

    def emit(context, builder, signature, arguments):
        g, y, x, parameters, gm, memory = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 2, 5, 6, 7))
        channels = Channels(context, builder, signature.args[2], *arguments[2:5])

        def prepare(channel: Any) -> Term:
            (mean,) = channels.parameters(parameters, channel, MEAN)

            def terms(at: Any, mask: Any) -> tuple[Any, Any, Any]:
                masked = channels.unless_positive(channels.load(y, at, mask), channels.load(g, at, mask))
                channels.store(masked, gm, at, mask)  # not streamed: the second pass reads it
                return masked, masked, builder.fsub(channels.load(x, at, mask), mean)

            return terms

        channels.two_sums(prepare, memory)
        return context.get_dummy_value()

    return signature, emit


def _make_grad(recomputed: bool, constant: bool) -> Any:
    @intrinsic
    def grad(typing, g, x, first, last, parameters, dx, stream):
        """dx = rstd * weight * (g - shift - (x - mean) * slope), or rstd * weight * g if the statistics are `constant`.

        If it is `recomputed`, g is 0 unless the result is positive, or NaN.
        """
        signature = types.void(g, x, types.int64, types.int64, parameters, dx, types.boolean)

        def emit(context, builder, signature, arguments):
            g, x, parameters, dx = (data_of(context, builder, signature.args[i], arguments[i]) for i in (0, 1, 4, 5))
            channels = Channels(context, builder, signature.args[1], *arguments[1:4], backwards=True)

            def prepare(channel: Any) -> Term:
                masked = _Masked(channels, channel, g, x, parameters, recomputed)
                shift, slope = channels.parameters(parameters, channel, SHIFT, SLOPE)

                def value(at: Any, mask: Any) -> Any:
                    gradient, distance = masked.at(at, mask)
                    # A slope of 0 instead of `constant` would let NaN and inf of x reach dx.
                    if not constant:
                        gradient = channels.affine(builder.fneg(distance), slope, builder.fsub(gradient, shift))
                    return builder.fmul(gradient, masked.scale)

                return value

            channels.fill(dx, prepare, arguments[6])
            return context.get_dummy_value()

        return signature, emit

    return grad


grad, recomputed_grad = _make_grad(False, False), _make_grad(True, False)
constant_grad, recomputed_constant_grad = _make_grad(False, True), _make_grad(True, True)
