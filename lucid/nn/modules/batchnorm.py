"""Batch normalisation."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _dtypes, _recording
from ..._namespace.interception import is_seen
from ...autograd.inplace import increment
from ...ops.creation.creation import empty, ones, tensor, zeros
from ...ops.nn.normalization import batch_norm, counted_batch_norm
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _NormBase(Module):
    """What batch and instance normalisations share: parameters, running statistics and the checks of a state."""

    _version = 2  # since version 2 there is num_batches_tracked
    _described_buffers = _omitted_buffers = frozenset({"running_mean", "running_var", "num_batches_tracked"})

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_features, **options)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_features, **options)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **options) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **options) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=_dtypes.int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the running statistics."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the running statistics and start with weight 1 and bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """The arguments of the constructor."""
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            counter = self.num_batches_tracked
            state_dict.setdefault(prefix + "num_batches_tracked",
                                  tensor(0, dtype=_dtypes.int64) if counter is None or counter.is_meta else counter)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class _BatchNorm(_NormBase):
    """What batch normalisations of any dimension share.

    In training mode each channel is normalised with the mean and variance of the batch, and the buffers `running_mean` and
    `running_var` follow them: ``running = (1 - momentum) * running + momentum * batch``, with ``momentum=None`` as their
    average over all batches. In evaluation mode the running statistics are used. `num_batches_tracked` counts batches.
    With `affine`, the result is multiplied by `weight` and, with `bias`, shifted by `bias`, one number for each channel.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Normalise each channel, dimension 1. Raises ValueError for an input with another number of dimensions."""
        return self._normalized(_seen_batch_norm if is_seen(batch_norm) else counted_batch_norm, input)

    def _normalized(self, function: Callable[..., Tensor], input: Tensor, **options: Any) -> Tensor:
        """`function`, `counted_batch_norm` or one with its arguments, with the statistics of the mode; they are updated."""
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        updates = self.training and self.track_running_stats
        mean, variance, weight, bias, counter = self._tensors("running_mean", "running_var", "weight", "bias",
                                                              "num_batches_tracked")
        counter = counter if updates else None
        if counter is not None and self.momentum is None:
            momentum = _recording.number(_cumulative_momentum, counter)  # the plain average of all batches
        # Running statistics are passed where they are updated, or read because the batch's own are not used.
        passed = updates or not self.training
        # The counter grows only once it has been used: a refused batch leaves the buffers alone.
        return function(input, mean if passed else None, variance if passed else None, weight, bias,
                        self.training or (mean is None and variance is None), momentum, self.eps, counter=counter, **options)


def _cumulative_momentum(counter: Tensor) -> float:
    return 1.0 / (float(counter) + 1.0)


def _seen_batch_norm(*args: Any, counter: Tensor | None) -> Tensor:
    """`counted_batch_norm` by the public function, for what looks at calls of that."""
    result = batch_norm(*args)
    if counter is not None:
        increment(counter)
    return result


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L); the base class says how.

    >>> layer = nn.BatchNorm1d(2)
    >>> layer(lucid.tensor([[1.0, 10.0], [3.0, 30.0]]))
    Tensor([[-1.0, -1.0],
            [ 1.0,  1.0]], requires_grad=True)
    >>> layer.running_mean
    Tensor([0.2, 2.0], requires_grad=False)
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.ndim}D input)")


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W); the base class says how.

    >>> layer = nn.BatchNorm2d(3)
    >>> y = layer(lucid.randn(8, 3, 4, 4) * 5 + 2)
    >>> bool(y.mean().abs() < 1e-5), y.std(correction=0).round(decimals=2)
    (True, Tensor(1.0, requires_grad=True))
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim != 4:
            raise ValueError(f"expected 4D input (got {input.ndim}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W); the base class says how.

    >>> nn.BatchNorm3d(3)(lucid.randn(2, 3, 4, 4, 4)).shape
    lucid.Size([2, 3, 4, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim != 5:
            raise ValueError(f"expected 5D input (got {input.ndim}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of (N, C, *) over all processes of a group, of which lucid has one: batch normalisation of any rank.

    >>> nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)))[1]
    SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """`module` with a `SyncBatchNorm` of the same parameters and buffers in the place of each batch normalisation in it."""
        result = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            result = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                         process_group)
            result._parameters.update(module._parameters)
            result._buffers.update(module._buffers)
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class BatchNormReLU2d(BatchNorm2d):
    """`BatchNorm2d`, an added residual and ReLU in one pass: ``relu(batch_norm(input) + residual)``.

    Its parameters, buffers and state_dict keys are those of `BatchNorm2d`. PyTorch has no such module.

    >>> nn.BatchNormReLU2d(1)(lucid.tensor([1.0, 3.0]).view(2, 1, 1, 1)).flatten()
    Tensor([0.0, 1.0], requires_grad=True)
    """

    def forward(self, input: Tensor, residual: Tensor | None = None) -> Tensor:
        """Normalise (N, C, H, W), add `residual` of the same shape, if any, and clip at 0."""
        return self._normalized(F.batch_norm_relu, input, residual=residual)
