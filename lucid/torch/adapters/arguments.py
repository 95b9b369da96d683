"""`torch._C._nn`: how the arguments of `to` are read, and functions under the names that pickles have for them."""
from __future__ import annotations

from typing import Any

from lucid.nn.functional import (
    avg_pool2d,
    avg_pool3d,
    gelu,
    linear,
    one_hot,
    pad,
    scaled_dot_product_attention,
    softplus,
    softshrink,
)
from lucid.nn.functional import logsigmoid as log_sigmoid
from lucid.ops.conversion import destination

from .. import dtypes

__all__ = ["_parse_to", "avg_pool2d", "avg_pool3d", "gelu", "linear", "log_sigmoid", "one_hot", "pad",
           "scaled_dot_product_attention", "softplus", "softshrink"]


def _parse_to(*args: Any, **keywords: Any) -> tuple[Any, Any, bool, Any]:
    """Device, dtype, `non_blocking` and memory format in the arguments of `Module.to`."""
    found = destination(*args, **keywords)
    if found.copy:
        raise RuntimeError(".to() does not accept copy argument")
    return found.device, None if found.dtype is None else dtypes.of(found.dtype), found.non_blocking, found.memory_format
