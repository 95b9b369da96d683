"""Normalisation of each channel of each sample."""
from __future__ import annotations

import warnings
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .batchnorm import _NormBase


class _InstanceNorm(_NormBase):
    """What instance normalisations of any dimension share.

    Each channel of each sample is normalised with its own mean and variance. With `track_running_stats` the buffers
    `running_mean` and `running_var` follow the averages over the samples, and are used in evaluation mode. A batch may be left
    out: (C, *) is one sample. `num_batches_tracked` stays 0, as in PyTorch.
    """

    _dimensions: int  # of the input, with a batch

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in (self._dimensions - 1, self._dimensions):
            raise ValueError(f"expected {self._dimensions - 1}D or {self._dimensions}D input (got {input.ndim}D input)")

    def forward(self, input: Tensor) -> Tensor:
        """Normalise (N, C, *) or (C, *). Raises ValueError for another number of dimensions or, with `affine`, of channels."""
        self._check_input_dim(input)
        channels = input.ndim - self._dimensions + 1
        if input.shape[channels] != self.num_features:
            if self.affine:
                raise ValueError(f"expected input's size at dim={channels} to match num_features ({self.num_features}), but got: "
                                 f"{input.shape[channels]}.")
            warnings.warn(f"input's size at dim={channels} does not match num_features, which is not used because affine=False",
                          stacklevel=2)
        batch = input if channels else input.unsqueeze(0)
        result = F.instance_norm(batch, self.running_mean, self.running_var, self.weight, self.bias,
                                 self.training or not self.track_running_stats,
                                 0.0 if self.momentum is None else self.momentum, self.eps)
        return result if channels else result.squeeze(0)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and not self.track_running_stats:
            # Before PyTorch 0.4 there were running statistics in any case.
            old = [name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if old:
                names = " and ".join(f'"{name}"' for name in old)
                error_msgs.append(f"Unexpected running stats buffer(s) {names} for {type(self).__name__} with "
                                  "track_running_stats=False. Remove them from the state dict if it is that of an old version, "
                                  "in which they were always there")
                for name in old:
                    state_dict.pop(prefix + name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L); the base class says how.

    >>> nn.InstanceNorm1d(2)(lucid.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    Tensor([[[-1.0,  1.0],
             [-1.0,  1.0]]], requires_grad=False)
    """

    _dimensions = 3


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W); the base class says how.

    >>> nn.InstanceNorm2d(3, affine=True)(lucid.randn(2, 3, 4, 4)).shape
    lucid.Size([2, 3, 4, 4])
    """

    _dimensions = 4


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (N, C, D, H, W) or (C, D, H, W); the base class says how.

    >>> nn.InstanceNorm3d(3)(lucid.randn(2, 3, 4, 4, 4)).shape
    lucid.Size([2, 3, 4, 4, 4])
    """

    _dimensions = 5
