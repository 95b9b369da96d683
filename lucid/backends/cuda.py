"""`lucid.backends.cuda`: how products of matrices on a GPU are computed, by the names of `torch.backends.cuda`.

`matmul.allow_tf32`: whether products of float32 matrices may run on tensor cores as TF32, which keeps 10 of the 23 bits of each
factor and adds in float32. False by default, as in PyTorch. It is `lucid.set_float32_matmul_precision` by another name.
"""
from __future__ import annotations

from lucid_kernels import tf32


class _Matmul:
    """The settings of products."""

    __slots__ = ()

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
