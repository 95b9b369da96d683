"""Whether float32 may be computed as TF32 by the tensor cores of a GPU: 10 of the 23 bits of a factor, and float32 sums.

The public switches are `lucid.backends.cudnn`, `lucid.backends.cuda` and `lucid.set_float32_matmul_precision`.
"""
from __future__ import annotations

#: float32 convolutions: True as in PyTorch.
convolutions = True
#: Products of float32 matrices: 'highest' is float32, as in PyTorch; 'high' and 'medium' are TF32.
products = "highest"


def set_products(precision: str) -> None:
    """Change `products`. Plans that were recorded before are forgotten: they name the precision to cuBLAS."""
    global products
    if precision == products:
        return
    from lucid_kernels.cuda.runtime import recording

    products = precision
    recording.forget()
