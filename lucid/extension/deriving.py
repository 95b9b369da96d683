"""The signature that CUDA kernels show: arrays that they only read are inputs, those that they write outputs, numbers scalars."""
from __future__ import annotations

from collections.abc import Collection
from typing import Any

from .bindings import Bindings
from .cuda import CudaKernel


def signature_of(gpu: Any, name: str, workspace: Collection[str], scalars: bool = True) -> str:
    """What `op` would be told, in the order of the kernels' arguments; `scalars` have no defaults.

    Raises ValueError where there is no CUDA kernel, or none writes an array.
    """
    kernels = [kernel for kernel in (gpu if isinstance(gpu, (list, tuple)) else [gpu]) if isinstance(kernel, CudaKernel)]
    arguments = [argument for kernel in kernels for argument in kernel.arguments]
    arrays = {a.name: True for a in arguments if a.pointer and a.name not in workspace}
    for argument in arguments:
        if argument.name in arrays and not argument.constant:
            arrays[argument.name] = False
    inputs = [array for array, constant in arrays.items() if constant]
    outputs = [array for array, constant in arrays.items() if not constant]
    if not inputs or not outputs:
        raise ValueError(f"op '{name}': only CUDA kernels that read some arrays (const T* x) and write others (T* y) show the "
                         f"signature; write it down, as in '{name}(x, weight, *, eps=1e-6) -> y'")
    known = Bindings(name, inputs[0], dict.fromkeys(arrays), {})
    numbers = dict.fromkeys(a.name for a in arguments if not a.pointer and not known.has(a.name)) if scalars else {}
    return f"{name}({', '.join([*inputs, *(['*', *numbers] if numbers else [])])}) -> {', '.join(outputs)}"
