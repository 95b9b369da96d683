"""The register blocks of recurrent networks: their values are those of `test_recurrent`."""
import re

import numba
import pytest
from lucid_kernels.cpu.recurrent.microkernels import _make_multiply
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.pointer import pointer

from ..convolution.direct.test_microkernels import innermost


@pytest.mark.parametrize("gates", [1, 3, 4])
@pytest.mark.parametrize("rows", [1, 2, 4, 6])
def test_sums_stay_in_vector_registers(rows, gates):
    multiply = _make_multiply(rows, gates)

    @numba.njit(numba.void(*3 * [numba.float32[::1]], numba.int64, numba.int64))
    def call(lines, weight, product, have, count):
        addresses = lines.ctypes.data, weight.ctypes.data, product.ctypes.data
        multiply(pointer(lines, addresses[0]), count, have, pointer(lines, addresses[1]), count, pointer(lines, addresses[2]), 64)

    loop = innermost(call)
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= min(6, rows * gates)
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
