"""The address of an array's elements."""
from __future__ import annotations

import numpy as np
import pytest
from lucid_kernels.cpu._address import address_of
from lucid_kernels.cpu._tensor_list import addresses_of


@pytest.mark.parametrize("array", [
    np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32)[1:], np.zeros((3, 4), np.float32)[:0], np.zeros(()),
    np.broadcast_to(np.zeros(3), (2, 3)), np.frombuffer(bytes(64), np.float64)])
def test_address_of_elements(array):
    """Of views, empty and read-only arrays too."""
    assert address_of(array) == array.ctypes.data and addresses_of([array, array]).tolist() == [array.ctypes.data] * 2
