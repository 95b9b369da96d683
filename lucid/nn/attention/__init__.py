"""Which implementations attention may use: `sdpa_kernel`, by the names of PyTorch's.

lucid has one implementation for each device, fused and exact; the choice is kept, for programs that read it, and changes no
number. Not imported with lucid.

`flex_attention`: attention with a function of the scores, and a mask by blocks.
`block_mask`: such masks.

>>> from lucid.nn.attention import SDPBackend, sdpa_kernel
>>> x = lucid.randn(1, 2, 4, 8)
>>> with sdpa_kernel(SDPBackend.MATH):
...     y = F.scaled_dot_product_attention(x, x, x)
>>> lucid.equal(y, F.scaled_dot_product_attention(x, x, x))
True
"""
from __future__ import annotations

import contextlib
import contextvars
import enum
from collections.abc import Iterator, Sequence


class SDPBackend(enum.IntEnum):
    """PyTorch's implementations of `scaled_dot_product_attention`.

    >>> nn.attention.SDPBackend.MATH
    <SDPBackend.MATH: 0>
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_ALL = (SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH, SDPBackend.CUDNN_ATTENTION)
_allowed: contextvars.ContextVar[tuple[SDPBackend, ...]] = contextvars.ContextVar("allowed", default=_ALL)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """What the innermost `sdpa_kernel` allows."""
    return list(_allowed.get())


@contextlib.contextmanager
def sdpa_kernel(backends: Sequence[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Allow only `backends` in this context. Raises AssertionError for what is no `SDPBackend` or a list of them.

    >>> x = lucid.randn(1, 2, 4, 8)
    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
    ...     y = F.scaled_dot_product_attention(x, x, x)
    >>> y.shape
    lucid.Size([1, 2, 4, 8])
    """
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not all(isinstance(backend, SDPBackend) for backend in chosen):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    token = _allowed.set(tuple(dict.fromkeys(chosen)))
    try:
        yield
    finally:
        _allowed.reset(token)


__all__ = ["SDPBackend", "sdpa_kernel"]
