"""Limits of dtypes, result types, tensor types, lucid.random and the names of lucid 2.x on Tensor."""
from __future__ import annotations

import numpy as np
import pytest

import lucid

FLOATS = ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


def test_limits_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for name in FLOATS:
        ours, theirs = lucid.finfo(getattr(lucid, name)), torch.finfo(getattr(torch, name))
        for what in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
            assert getattr(ours, what) == getattr(theirs, what), (name, what)
    for name in ("uint8", "int8", "int16", "int32", "int64"):
        ours, theirs = lucid.iinfo(getattr(lucid, name)), torch.iinfo(getattr(torch, name))
        assert (ours.bits, ours.max, ours.min, ours.dtype) == (theirs.bits, theirs.max, theirs.min, theirs.dtype)
    assert repr(lucid.iinfo(lucid.int8)) == repr(torch.iinfo(torch.int8))
    assert repr(lucid.finfo(lucid.float32)) == repr(torch.finfo(torch.float32))
    for wrong in (lambda: lucid.finfo(lucid.int32), lambda: lucid.iinfo(lucid.float32), lambda: lucid.iinfo(lucid.bool)):
        with pytest.raises(TypeError):
            wrong()


def test_casts_and_result_types_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    names = ["bool", "uint8", "int64", "float16", "float32", "complex64"]
    for a in names:
        for b in names:
            assert lucid.can_cast(getattr(lucid, a), getattr(lucid, b)) == torch.can_cast(getattr(torch, a), getattr(torch, b))
            ours = lucid.result_type(lucid.ones(2, dtype=getattr(lucid, a)), lucid.ones((), dtype=getattr(lucid, b)))
            theirs = torch.result_type(torch.ones(2, dtype=getattr(torch, a)), torch.ones((), dtype=getattr(torch, b)))
            assert (str(theirs) == f"torch.{ours}") or {a, b} == {"float16", "complex64"}
    assert lucid.result_type(1, 2.0) == lucid.float32


def test_tensor_types(device):
    x = lucid.FloatTensor([1, 2])
    assert type(x) is lucid.Tensor and x.tolist() == [1.0, 2.0]
    assert isinstance(x, lucid.FloatTensor) and not isinstance(x, lucid.LongTensor)
    assert lucid.LongTensor(2, 3).shape == (2, 3) and lucid.LongTensor([1.7]).tolist() == [1]
    assert lucid.BoolTensor().shape == (0,)
    assert lucid.FloatTensor(x).data_ptr() == x.data_ptr()
    moved = x.to(device)
    assert isinstance(moved, lucid.gpu.FloatTensor if device == "gpu" else lucid.FloatTensor)
    assert repr(lucid.gpu.HalfTensor) == "<class 'lucid.gpu.HalfTensor'>"
    for wrong in (lambda: lucid.FloatTensor(1.5), lambda: lucid.FloatTensor(x.double())):
        with pytest.raises(TypeError):
            wrong()


def test_is_gpu_is_an_answer_and_a_method(device):
    x = lucid.zeros(2, device=device)
    assert x.is_gpu == x.is_gpu() == x.is_cuda == (device == "gpu")
    assert (not x.is_gpu) == (device == "cpu")
    assert isinstance(x.is_gpu(), bool) and repr(x.is_gpu) == repr(device == "gpu")


def test_free(device):
    x = lucid.ones(3, device=device, requires_grad=True)
    y = x * 2
    y.sum().backward()
    x.free()
    assert x.numel() == 0 and x.grad is None and not x.requires_grad


def test_random_numbers_leave_no_trace_in_fork_rng():
    lucid.random.seed(7)
    assert lucid.random.get_seed() == lucid.random.initial_seed() == 7
    expected = lucid.rand(3)
    lucid.random.seed(7)
    with lucid.random.fork_rng():
        lucid.rand(100)
    assert lucid.equal(lucid.rand(3), expected)
    with lucid.random.fork_rng(enabled=False):
        lucid.rand(1)
    assert not lucid.equal(lucid.rand(3), expected)


def test_random_tensors_of_lucid_2(device):
    lucid.random.seed(0)
    x = lucid.random.uniform(-2, 3, (100,), device=device, requires_grad=True)
    assert x.requires_grad and x.is_leaf and -2 <= float(x.min()) and float(x.max()) < 3
    assert sorted(lucid.random.permutation(5, device=device).tolist()) == [0, 1, 2, 3, 4]
    assert set(lucid.random.randint(2, size=50, device=device).tolist()) == {0, 1}
    assert lucid.random.randint(3, 5, (2, 2), device=device).shape == (2, 2)
    assert lucid.random.rand(2, 3).shape == lucid.random.randn((2, 3)).shape == (2, 3)
    assert lucid.random.bernoulli(np.array([0.0, 1.0]), device=device).tolist() == [0.0, 1.0]
