"""What this processor has, and how wide its vectors are: the constants that kernels are shaped by."""
from __future__ import annotations

from typing import Any

import llvmlite.binding
from numba.core import config

_config: Any = config  # Numba adds its settings to this module when it is imported


# Those that Numba compiles for: NUMBA_CPU_FEATURES, or this processor's.
_FEATURES = _config.CPU_FEATURES


def has_feature(feature: str) -> bool:
    if _FEATURES is None:
        return bool(llvmlite.binding.get_host_cpu_features().get(feature, False))
    return f"+{feature}" in _FEATURES


WIDE = has_feature("avx512f")


# Whether registers of VECTOR_BYTES exist: elsewhere LLVM splits vectors, and blocks of products need too many registers.
WHOLE_VECTORS = WIDE or has_feature("avx2")


# The name that LLVM has for the processor that Numba compiles for.
PROCESSOR = _config.CPU_NAME or llvmlite.binding.get_host_cpu_name()


# Whether to prefetch, within the loop of a product, what the next block of rows reads and writes. On a Zen 5, which starts two
# multiply-adds of 64 bytes in a cycle and two loads, prefetches cost more than they save: without, 1x1 taps take 0.8 to 0.98
# of the time, and a GPT's products 0.96 to 0.98.
PREFETCH_WITHIN = PROCESSOR != "znver5"


# Bytes of one vector register.
VECTOR_BYTES = 64 if WIDE else 32
