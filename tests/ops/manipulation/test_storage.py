"""Tensors given another size or other memory in place, what storages tell, tensors of given strides and over buffers."""
from __future__ import annotations

import array
import warnings

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree


def test_resize_keeps_the_memory_that_suffices(device):
    x = lucid.arange(6.0, device=device).reshape(2, 3)
    address = x.data_ptr()
    assert x.resize_(2, 2) is x and x.tolist() == [[0, 1], [2, 3]] and x.data_ptr() == address
    assert x.resize_(6).tolist() == [0, 1, 2, 3, 4, 5] and x.data_ptr() == address
    row = lucid.arange(6.0, device=device).reshape(2, 3)[1]
    assert row.resize_(2).tolist() == [3, 4]
    assert row.resize_((3, 1)).shape == (3, 1) and row.stride() == (1, 1)


def test_resize_to_more_elements_keeps_the_old_ones(device):
    x = lucid.arange(6.0, device=device).reshape(2, 3)
    old = x.detach()
    assert x.resize_(3, 4).shape == (3, 4) and x.reshape(-1)[:6].tolist() == [0, 1, 2, 3, 4, 5]
    assert old.tolist() == [[0, 1, 2], [3, 4, 5]]
    empty = lucid.zeros(0, device=device)
    assert empty.resize_(2, 2).fill_(1).tolist() == [[1, 1], [1, 1]]
    assert lucid.ones((), device=device).resize_(1, 1).tolist() == [[1]] and lucid.ones(3, device=device).resize_(()).shape == ()


def test_resize_of_transposed_and_strided_tensors(device):
    def sizes(lib, x):
        t = x.t().clone()
        same = t.resize_(4, 3)
        return same, x.clone().t().resize_(2, 2), x.clone().resize_(1, 2, 2, 3)

    agree(sizes, np.arange(12.0).reshape(3, 4), device=device, grad=False)
    gaps = lucid.arange(6.0, device=device)[::2]
    assert gaps.resize_(2).tolist() == [0, 1]  # the memory, not the elements
    x = lucid.zeros(1, 2, 2, 2, device=device).resize_(1, 3, 2, 2, memory_format=lucid.channels_last)
    assert x.stride() == (12, 1, 6, 3)
    assert lucid.zeros(2, 3, device="meta").resize_(4, 5).shape == (4, 5)


def test_resize_refuses(device):
    x = lucid.ones(2, device=device, requires_grad=True)
    for tensor in (x, x * 1):
        with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            tensor.resize_(3)
    with pytest.raises(RuntimeError, match="negative dimension"):
        lucid.ones(2, device=device).resize_(-1)


def test_resize_as(device):
    x, wanted = lucid.arange(6.0, device=device), lucid.zeros(3, 2, device=device)
    assert lucid.resize_as_(x, wanted) is x and x.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.resize_as_(wanted.t(), memory_format=lucid.preserve_format).stride() == (1, 2) and x.shape == (2, 3)


def test_a_resized_tensor_is_seen_to_have_changed(device):
    x = lucid.ones(2, device=device)
    y = x * lucid.ones(2, device=device, requires_grad=True)
    x.resize_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_set_shares_memory(device):
    x, source = lucid.zeros(2, device=device), lucid.arange(6.0, device=device).reshape(2, 3)
    assert x.set_(source) is x and x.shape == (2, 3) and x.data_ptr() == source.data_ptr()
    x[0, 0] = 7.0
    assert source[0, 0].item() == 7
    assert x.set_(source, 1, (2,), (2,)).tolist() == [1, 3]
    assert x.set_(source.untyped_storage(), 4, (2,)).tolist() == [4, 5]
    assert x.set_(source.untyped_storage()).tolist() == [7, 1, 2, 3, 4, 5]
    assert x.set_().shape == (0,)


def test_set_on_the_device_meta():
    x, source = lucid.zeros(2, device="meta"), lucid.zeros(2, 3, device="meta")
    assert x.set_(source).shape == (2, 3) and x.set_(source.untyped_storage(), 1, (2,), (2,)).stride() == (2,)
    assert source.untyped_storage().data_ptr() == 0 and source.untyped_storage().nbytes() == 24


def test_set_takes_the_history_of_its_source(device):
    leaf = lucid.ones(2, device=device, requires_grad=True)
    x = lucid.zeros(1, device=device).set_(leaf * 3)
    x.sum().backward()
    assert leaf.grad.tolist() == [3, 3]


def test_writes_to_what_was_set_make_saved_tensors_stale(device):
    source, leaf = lucid.ones(2, device=device), lucid.ones(2, device=device, requires_grad=True)
    y = source * leaf
    lucid.zeros(1, device=device).set_(source).zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_set_refuses(device):
    x, source = lucid.zeros(2, device=device), lucid.arange(6.0, device=device)
    for call in (lambda: x.set_(source.int()), lambda: x.set_(source, 5, (2,)), lambda: x.set_(source, 0, (2,), (-1,)),
                 lambda: x.set_(source.untyped_storage(), -1, (2,)), lambda: x.set_(source, 0, (2, 2), (1,)),
                 lambda: x.set_(lucid.zeros(2, device="meta")), lambda: lucid.zeros(2, device=device, requires_grad=True).set_(x)):
        with pytest.raises(RuntimeError):
            call()
    assert x.tolist() == [0, 0]


def test_storages(device):
    x = lucid.arange(6.0, dtype=lucid.float64, device=device).reshape(2, 3)
    for part in (x, x[1], x.t(), x[:, 1:]):
        found = part.untyped_storage()
        assert (found.data_ptr(), found.nbytes(), found.size(), len(found)) == (x.data_ptr(), 48, 48, 48)
        assert found.device == device and found.element_size() == 1 and "UntypedStorage" in repr(found)
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        typed = x[1].storage()
    assert (typed.size(), typed.nbytes(), typed.element_size(), typed.dtype) == (6, 48, 8, lucid.float64)
    assert lucid.zeros(0, device=device).untyped_storage().nbytes() == 0


def test_empty_strided(device):
    x = lucid.empty_strided((2, 3), (1, 4), device=device, dtype=lucid.int32)
    assert x.stride() == (1, 4) and x.dtype == lucid.int32 and x.device == device
    x.fill_(3)
    assert x.tolist() == [[3, 3, 3], [3, 3, 3]]
    assert lucid.empty_strided((0, 3), (3, 1), device=device).shape == (0, 3)
    assert lucid.empty_strided((), (), device=device).shape == ()
    assert x.new_empty_strided((2,), (0,)).stride() == (0,) and lucid.empty_strided((2,), (3,), device="meta").stride() == (3,)
    for size, stride in (((2, 3), (1,)), ((2,), (-1,)), ((-2,), (1,))):
        with pytest.raises(RuntimeError):
            lucid.empty_strided(size, stride, device=device)


def test_frombuffer_shares_memory():
    buffer = bytearray(range(16))
    x = lucid.frombuffer(buffer, dtype=lucid.int32, count=2, offset=4)
    assert x.tolist() == [0x07060504, 0x0B0A0908]
    x[0] = 0
    assert buffer[4:8] == b"\0\0\0\0"
    assert lucid.frombuffer(array.array("d", [1, 2]), dtype=lucid.float64, requires_grad=True).requires_grad
    assert lucid.frombuffer(bytearray(4), dtype=lucid.bfloat16).tolist() == [0, 0]
    with pytest.warns(UserWarning, match="not writable"):
        lucid.frombuffer(bytes(4), dtype=lucid.int8)
    for wrong in ({"count": 5}, {"offset": 16}, {"offset": -1}, {"count": 0}, {"offset": 3}):
        with pytest.raises(ValueError, match="buffer|offset"):
            lucid.frombuffer(buffer, dtype=lucid.int32, **wrong)
    for nothing in (bytearray(), 3):
        with pytest.raises(ValueError, match="buffer"):
            lucid.frombuffer(nothing, dtype=lucid.int32)


def test_range_includes_its_end(device):
    for arguments in ((1, 4), (1, 4, 0.5), (4, 1, -1), (0.5, 3.2), (1, 1)):
        agree(lambda lib, at=arguments: lib.range(*at), device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert lucid.range(0, 4, 2, device=device, dtype=lucid.int64).tolist() == [0, 2, 4]
        for arguments in ((4, 1), (0, 1, 0)):
            with pytest.raises(RuntimeError):
                lucid.range(*arguments)
        with pytest.raises(TypeError):
            lucid.range(4)
    with pytest.warns(UserWarning, match="deprecated"):
        lucid.range(0, 1)


def test_scalar_tensor(device):
    assert lucid.scalar_tensor(2, device=device).dtype == lucid.float32
    assert lucid.scalar_tensor(True, dtype=lucid.int64, device=device).item() == 1
    with pytest.raises(RuntimeError):
        lucid.scalar_tensor(1j)
    with pytest.raises(TypeError):
        lucid.scalar_tensor([3])
