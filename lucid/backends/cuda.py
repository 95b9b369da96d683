"""`lucid.backends.cuda`: how products of matrices on a GPU are computed, by the names of `torch.backends.cuda`.

`matmul.allow_tf32`: whether products of float32 matrices may run on tensor cores as TF32, which keeps 10 of the 23 bits of each
factor and adds in float32. False by default, as in PyTorch. It is `lucid.set_float32_matmul_precision` by another name.
`allow_fp16_reduced_precision_reduction`, `allow_bf16_reduced_precision_reduction` and `allow_fp16_accumulation` keep what
programs write into them: sums of halves are always float32.

The implementations of attention that programs switch on and off are one here, which is exact: the switches change no number.

>>> lucid.backends.cuda.matmul.allow_tf32
False
"""
from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

from lucid_kernels import tf32

from .gpu_probe import gpu_problem

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
           "flash_sdp_enabled", "is_built", "is_flash_attention_available", "math_sdp_enabled", "matmul",
           "mem_efficient_sdp_enabled", "sdp_kernel"]


class _Matmul:
    """The settings of products."""

    __slots__ = ("allow_bf16_reduced_precision_reduction", "allow_fp16_accumulation", "allow_fp16_reduced_precision_reduction")

    def __init__(self) -> None:
        self.allow_fp16_reduced_precision_reduction = self.allow_bf16_reduced_precision_reduction = True
        self.allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """Whether products of float32 matrices may be TF32."""
        return tf32.products != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(value).__name__}")
        tf32.set_products("high" if value else "highest")


matmul = _Matmul()


def is_built() -> bool:
    """Whether GPUs can be used.

    >>> lucid.backends.cuda.is_built()
    True
    """
    return gpu_problem() is None


_switches: dict[str, bool] = dict.fromkeys(("flash", "mem_efficient", "math", "cudnn"), True)


def _set(name: str, enabled: bool) -> None:
    if not isinstance(enabled, bool):
        raise RuntimeError(f"set_sdp_use_{name} expects a bool, but got {type(enabled).__name__}")
    _switches[name] = enabled


def enable_flash_sdp(enabled: bool) -> None:
    """What `flash_sdp_enabled` says from now on.

    >>> lucid.backends.cuda.enable_flash_sdp(True)
    """
    _set("flash", enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """What `mem_efficient_sdp_enabled` says from now on.

    >>> lucid.backends.cuda.enable_mem_efficient_sdp(True)
    """
    _set("mem_efficient", enabled)


def enable_math_sdp(enabled: bool) -> None:
    """What `math_sdp_enabled` says from now on.

    >>> lucid.backends.cuda.enable_math_sdp(True)
    """
    _set("math", enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """What `cudnn_sdp_enabled` says from now on.

    >>> lucid.backends.cuda.enable_cudnn_sdp(True)
    """
    _set("cudnn", enabled)


def _is_allowed(name: str, backend: str) -> bool:
    attention: Any = importlib.import_module("lucid.nn.attention")  # by its name: it stands above
    return _switches[name] and attention.SDPBackend[backend] in attention._cur_sdpa_kernel_backends()


def flash_sdp_enabled() -> bool:
    """Whether `enable_flash_sdp` and `nn.attention.sdpa_kernel` allow it.

    >>> lucid.backends.cuda.flash_sdp_enabled()
    True
    """
    return _is_allowed("flash", "FLASH_ATTENTION")


def mem_efficient_sdp_enabled() -> bool:
    """Whether `enable_mem_efficient_sdp` and `nn.attention.sdpa_kernel` allow it.

    >>> lucid.backends.cuda.mem_efficient_sdp_enabled()
    True
    """
    return _is_allowed("mem_efficient", "EFFICIENT_ATTENTION")


def math_sdp_enabled() -> bool:
    """Whether `enable_math_sdp` and `nn.attention.sdpa_kernel` allow it.

    >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.FLASH_ATTENTION):
    ...     print(lucid.backends.cuda.math_sdp_enabled())
    False
    """
    return _is_allowed("math", "MATH")


def cudnn_sdp_enabled() -> bool:
    """Whether `enable_cudnn_sdp` and `nn.attention.sdpa_kernel` allow it.

    >>> lucid.backends.cuda.cudnn_sdp_enabled()
    True
    """
    return _is_allowed("cudnn", "CUDNN_ATTENTION")


def is_flash_attention_available() -> bool:
    """False: the package of that name is not used; attention does not keep its scores anyway.

    >>> lucid.backends.cuda.is_flash_attention_available()
    False
    """
    return False


@contextlib.contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
               ) -> Iterator[None]:
    """`nn.attention.sdpa_kernel` by its older name, with a FutureWarning.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=FutureWarning):
    ...     with lucid.backends.cuda.sdp_kernel(enable_math=False):
    ...         print(lucid.backends.cuda.math_sdp_enabled())
    False
    """
    warnings.warn("lucid.backends.cuda.sdp_kernel() is deprecated: use lucid.nn.attention.sdpa_kernel().", FutureWarning,
                  stacklevel=3)
    attention: Any = importlib.import_module("lucid.nn.attention")
    wanted = {"FLASH_ATTENTION": enable_flash, "EFFICIENT_ATTENTION": enable_mem_efficient, "MATH": enable_math,
              "CUDNN_ATTENTION": enable_cudnn}
    with attention.sdpa_kernel([attention.SDPBackend[name] for name, on in wanted.items() if on]):
        yield
