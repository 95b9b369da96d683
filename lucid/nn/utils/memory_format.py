"""Weights of convolutions in another order in memory."""
from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Module, memory_format: Any, kinds: tuple[type[Module], ...]) -> Module:
    for each in module.modules():
        if isinstance(each, kinds):
            each.weight.data = each.weight.detach().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Let the weights of all 2-d convolutions of `module` lie in `memory_format`, and return it.

    >>> model = nn.Sequential(nn.Conv2d(2, 3, 3))
    >>> _ = nn.utils.convert_conv2d_weight_memory_format(model, lucid.channels_last)
    >>> model[0].weight.is_contiguous(memory_format=lucid.channels_last)
    True
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Let the weights of all 3-d convolutions of `module` lie in `memory_format`, and return it.

    >>> model = nn.Sequential(nn.Conv3d(2, 3, 3))
    >>> _ = nn.utils.convert_conv3d_weight_memory_format(model, lucid.channels_last_3d)
    >>> model[0].weight.is_contiguous(memory_format=lucid.channels_last_3d)
    True
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
