"""Tensor: construction, properties, conversion, printing, copying, interchange."""
from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import lucid
from lucid import Tensor


def test_construction_and_default_dtypes():
    assert lucid.tensor([1.0, 2.0]).dtype == lucid.float32
    assert lucid.tensor([1, 2]).dtype == lucid.int64
    assert lucid.tensor([True]).dtype == lucid.bool
    assert lucid.tensor([1j]).dtype == lucid.complex64
    assert lucid.tensor(np.ones(2)).dtype == lucid.float64
    assert lucid.tensor(3.5).shape == () and lucid.tensor(3.5).item() == 3.5
    assert lucid.tensor([[1, 2], [3, 4]], dtype=lucid.float64).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert lucid.tensor([Tensor(1.0), Tensor(2.0)]).tolist() == [1.0, 2.0]
    assert lucid.tensor([]).shape == (0,) and lucid.tensor([]).dtype == lucid.float32
    assert lucid.tensor((1, 2.5)).tolist() == [1.0, 2.5]


def test_tensor_copies_and_from_numpy_shares():
    array = np.zeros(3, np.float32)
    copied, shared = lucid.tensor(array), lucid.from_numpy(array)
    array[0] = 5
    assert copied.tolist() == [0, 0, 0] and shared.tolist() == [5, 0, 0]
    shared.add_(1)
    assert array.tolist() == [6, 1, 1]
    assert shared.numpy() is not None and np.shares_memory(shared.numpy(), array)
    assert lucid.as_tensor(array)._array is array
    assert not np.shares_memory(lucid.asarray(array, copy=True).numpy(), array)
    with pytest.raises(TypeError, match="expected np.ndarray"):
        lucid.from_numpy([1, 2])


def test_ragged_and_foreign_data():
    with pytest.raises(ValueError, match="equal length"):
        lucid.tensor([[1, 2], [3]])
    with pytest.raises((TypeError, ValueError)):
        lucid.tensor(["a"])
    with pytest.raises(TypeError):
        lucid.tensor(None)
    with pytest.raises(TypeError, match="datetime64"):
        lucid.tensor(np.zeros(2, "M8[s]"))


def test_default_dtype_is_local_to_the_context():
    lucid.set_default_dtype(lucid.float64)
    try:
        assert lucid.tensor([1.0]).dtype == lucid.float64 and lucid.zeros(1).dtype == lucid.float64
    finally:
        lucid.set_default_dtype(lucid.float32)
    with pytest.raises(TypeError, match="floating-point"):
        lucid.set_default_dtype(lucid.int32)


def test_properties(device):
    x = lucid.zeros(2, 3, 4, dtype=lucid.float64, device=device)
    assert x.shape == (2, 3, 4) == x.size() and x.size(-1) == 4 and x.ndim == x.dim() == 3
    assert x.numel() == 24 and x.itemsize == x.element_size() == 8 and x.nbytes == 192
    assert x.stride() == (12, 4, 1) and x.is_contiguous() and not x.transpose(0, 1).is_contiguous()
    assert x.device == device and x.is_gpu == x.is_cuda == (device == "gpu")
    assert x.is_floating_point() and not x.is_complex() and len(x) == 2
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(3)
    assert repr(x.shape) == "lucid.Size([2, 3, 4])" and x.shape.numel() == 24


def test_repr():
    assert repr(Tensor([1.0, 2.0, 3.0])) == "Tensor([1.0, 2.0, 3.0], requires_grad=False)"
    assert repr(Tensor([1.0], requires_grad=True)) == "Tensor([1.0], requires_grad=True)"
    assert repr(lucid.tensor([1, 2])) == "Tensor([1, 2], requires_grad=False)"
    assert repr(Tensor(2.5)) == "Tensor(2.5, requires_grad=False)"
    assert repr(lucid.tensor([True])) == "Tensor([True], requires_grad=False)"
    assert repr(Tensor([1.0], dtype=lucid.float64)) == "Tensor([1.0], dtype=float64, requires_grad=False)"
    assert repr(Tensor([[1.0, 2.0], [3.0, 4.0]])) == "Tensor([[1.0, 2.0],\n        [3.0, 4.0]], requires_grad=False)"
    assert repr(Tensor([1 / 3, 1e10, float("nan"), float("-inf")])) == (
        "Tensor([3.3333e-01, 1.0000e+10,        nan,       -inf], requires_grad=False)")
    assert "..." in repr(lucid.zeros(2000)) and len(repr(lucid.zeros(2000))) < 200
    computed = Tensor([1.0], requires_grad=True) * 2
    assert repr(computed) == "Tensor([2.0], requires_grad=True)" and computed.grad_fn.name() == "mul"
    assert repr(lucid.zeros(0, 3)) == "Tensor([], shape=(0, 3), requires_grad=False)"
    assert "bfloat16" in repr(lucid.zeros(1, dtype=lucid.bfloat16))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert repr(lucid.tensor([60000.0], dtype=lucid.float16)) == "Tensor([60000.0], dtype=float16, requires_grad=False)"


@pytest.mark.parametrize(("data", "dtype", "text"), [
    ([[1.0, -2.5], [300.0, 0.001]], "float32", "[[  1.000,  -2.500],\n        [300.000,   0.001]]"),
    ([65504.0, 0.5], "float16", "[65504.0,     0.5]"), (65504.0, "float16", "65504.0"), ([0.1, 2.0], "bfloat16", "[0.1001, 2.0000]"),
    ([1e-5, -1.0], "float64", "[ 1.0e-05, -1.0e+00]"), ([float("nan"), 1.5, float("-inf")], "float32", "[ nan,  1.5, -inf]"),
    ([True, False], "bool", "[ True, False]"), ([1, -20, 300], "int64", "[  1, -20, 300]"), ([7, -128], "int8", "[   7, -128]"),
    ([1 + 2j, -3.25 - 40j], "complex64", "[  1.00+2.0j, -3.25-40.0j]"),
    ([complex(0, -0.0)], "complex128", "[0.0-0.0j]"), ([-0.0], "float32", "[-0.0]"), ([9999999.0, 0.25], "float32", "[9999999.00,       0.25]")])
def test_columns_are_aligned(data, dtype, text):
    x = lucid.tensor(data, dtype=getattr(lucid, dtype))
    plain = dtype in ("float32", "int64", "bool", "complex64")
    assert repr(x) == f"Tensor({text}, {'' if plain else f'dtype={dtype}, '}requires_grad=False)"


def test_columns_of_a_summary_are_as_wide_as_what_is_shown():
    x = lucid.ones(3000)
    x[1500] = 1e20
    x[-1] = -12.25
    assert repr(x) == "Tensor([  1.00,   1.00,   1.00, ...,   1.00,   1.00, -12.25], requires_grad=False)"


def test_the_document_of_buffers_prints_its_output(capsys):
    buffer = lucid.nn.Buffer(Tensor([0.0, 0.0, 0.0]))
    print(Tensor([1.0, 2.0, 3.0], requires_grad=True) + buffer)
    assert capsys.readouterr().out == "Tensor([1.0, 2.0, 3.0], requires_grad=True)\n"


def test_repr_shows_a_device_that_is_not_the_cpu(device):
    text = repr(lucid.ones(2, device=device))
    assert ("device='gpu:0'" in text) == (device == "gpu")


def test_item_tolist_numpy(device):
    x = lucid.tensor([[1.5, 2.5]], device=device)
    assert x.tolist() == [[1.5, 2.5]] and x[0, 1].item() == 2.5 and float(x[0, 0]) == 1.5 and int(x[0, 0]) == 1
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        x.item()
    if device == "gpu":
        with pytest.raises(TypeError, match="can't convert gpu:0 device type tensor to numpy"):
            x.numpy()
        assert x.numpy(force=True).tolist() == [[1.5, 2.5]]
    else:
        assert np.asarray(x).tolist() == [[1.5, 2.5]]
    with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\)"):
        lucid.ones(1, requires_grad=True).numpy()
    with lucid.no_grad():
        assert lucid.ones(1, requires_grad=True).numpy().tolist() == np.asarray(lucid.ones(1, requires_grad=True)).tolist() == [1]
    assert lucid.tensor(1, dtype=lucid.bfloat16).item() == 1.0


def test_truth_index_iteration(device):
    assert bool(lucid.tensor(1, device=device)) and not lucid.tensor([0.0], device=device)
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(lucid.ones(2, device=device))
    assert [10, 20, 30][lucid.tensor(1, device=device)] == 20
    with pytest.raises(TypeError, match="only integer tensors"):
        [10][lucid.tensor(0.0)]
    assert [row.tolist() for row in lucid.tensor([[1, 2], [3, 4]], device=device)] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="0-d tensor"):
        iter(lucid.tensor(1))
    with pytest.raises(TypeError, match="0-d tensor"):
        len(lucid.tensor(1))
    assert 2 in lucid.tensor([1, 2]) and 5 not in lucid.tensor([1, 2])
    assert {lucid.ones(1): 1} and f"{lucid.tensor(2.0):.2f}" == "2.00"


def test_comparison_with_none_and_strings():
    x = lucid.ones(2)
    assert (x == None) is False and (x != "a") is True  # noqa: E711


def test_conversions(device):
    x = lucid.tensor([1.7, -2.3], device=device)
    assert x.int().dtype == lucid.int32 and x.long().tolist() == [1, -2]
    assert x.half().dtype == lucid.float16 and x.bfloat16().dtype == lucid.bfloat16 and x.double().dtype == lucid.float64
    assert x.to(lucid.float32) is x and x.to("cpu").device == "cpu"
    assert x.to(lucid.float64, copy=True).dtype == lucid.float64 and x.to(x.device, copy=True) is not x
    assert x.to(lucid.zeros(1, dtype=lucid.int8)).dtype == lucid.int8
    assert x.type() == ("lucid.gpu.FloatTensor" if device == "gpu" else "lucid.FloatTensor")
    assert x.type_as(lucid.zeros(1, dtype=lucid.float64)).dtype == lucid.float64
    with pytest.raises(TypeError, match="dtype"):
        x.to(3.5)
    with pytest.raises(RuntimeError, match="device"):
        x.to("tpu")


def test_conversion_is_differentiable(device):
    x = lucid.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(device).double() * 3
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and x.grad.device == "cpu" and x.grad.dtype == lucid.float32


def test_deepcopy_and_pickle(device):
    x = lucid.tensor([1.0, 2.0], device=device, requires_grad=True)
    (x * 2).sum().backward()
    x.note = "kept"
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y is not x and y.tolist() == [1.0, 2.0] and y.requires_grad and y.grad.tolist() == [2.0, 2.0]
        assert y.device == device and y.note == "kept"
        y.data.fill_(0)
        assert x.tolist() == [1.0, 2.0]
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1]
    with pytest.raises(RuntimeError, match="deepcopy"):
        copy.deepcopy(x * 2)
    computed = pickle.loads(pickle.dumps(x * 2))
    assert computed.is_leaf and computed.requires_grad and computed.tolist() == [2.0, 4.0]


def test_detach_and_clone(device):
    x = lucid.tensor([1.0], device=device, requires_grad=True)
    y, z = x.detach(), x.clone()
    assert not y.requires_grad and y.data_ptr() == x.data_ptr()
    assert z.requires_grad and z.data_ptr() != x.data_ptr()
    z.sum().backward()
    assert x.grad.tolist() == [1.0]


def test_numpy_on_the_left_gives_tensors():
    x = lucid.ones(2)
    for result in (np.float32(2) * x, np.ones(2, np.float32) + x, 1 - x, np.ones(2, np.float32) / x):
        assert isinstance(result, Tensor)
    assert (np.ones(2) + x).dtype == lucid.float64


def test_dlpack():
    x = lucid.tensor([1.0, 2.0])
    array = np.from_dlpack(x)
    x.add_(1)
    assert array.tolist() == [2.0, 3.0]
    assert lucid.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(BufferError, match="require gradient"):
        lucid.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(AttributeError):
        x.__cuda_array_interface__  # noqa: B018


def test_cupy_takes_tensors_on_a_gpu(device):
    x = lucid.tensor([1.0, 2.0], device=device)
    if device == "cpu":
        pytest.skip("CuPy copies host memory")
    import cupy

    array = cupy.asarray(x)
    array *= 2
    assert x.tolist() == [2.0, 4.0]
    assert cupy.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(RuntimeError, match="requires grad"):
        cupy.asarray(lucid.ones(1, device=device, requires_grad=True))


def test_dlpack_with_pytorch_shares_memory():
    torch = pytest.importorskip("torch")
    t = torch.arange(4.0)
    x = lucid.from_dlpack(t)
    x.mul_(2)
    assert t.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert torch.from_dlpack(x).tolist() == t.tolist()


def test_creation(device):
    k = {"device": device}
    assert lucid.zeros(2, 3, **k).tolist() == [[0] * 3] * 2 and lucid.zeros((2,), **k).shape == (2,)
    assert lucid.ones(2, dtype=lucid.int64, **k).tolist() == [1, 1]
    assert lucid.full((2,), 7, **k).dtype == lucid.int64 and lucid.full((2,), 1.5, **k).tolist() == [1.5, 1.5]
    assert lucid.arange(5, **k).dtype == lucid.int64 and lucid.arange(1, 2, 0.25, **k).tolist() == [1, 1.25, 1.5, 1.75]
    assert lucid.arange(5, 1, -2, **k).tolist() == [5, 3]
    assert lucid.linspace(0, 1, 5, **k).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert lucid.eye(2, 3, **k).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = lucid.ones(2, 2, dtype=lucid.float64, **k)
    for like in (lucid.zeros_like(x), lucid.ones_like(x), lucid.full_like(x, 3), lucid.empty_like(x), x.new_zeros(2, 2)):
        assert like.dtype == lucid.float64 and like.device == device and like.shape == (2, 2)
    assert lucid.zeros(2, requires_grad=True, **k).requires_grad
    assert x.new_tensor([1, 2]).dtype == lucid.float64
    with pytest.raises(RuntimeError, match="negative dimension"):
        lucid.zeros(-1, **k)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        lucid.arange(0, 1, 0, **k)
    with pytest.raises(RuntimeError, match="inconsistent with step sign"):
        lucid.arange(0, 5, -1, **k)


def test_default_device(device):
    lucid.set_default_device(device)
    try:
        assert lucid.zeros(1).device == device and lucid.tensor([1.0]).device == device
        assert lucid.nn.Linear(2, 2).weight.device == device
    finally:
        lucid.set_default_device(None)
    assert lucid.zeros(1).device == "cpu"


def test_zero_dim_cpu_tensor_joins_a_gpu_tensor(device):
    x, scale = lucid.ones(2, device=device), lucid.tensor(3.0, requires_grad=True)
    y = x * scale
    y.sum().backward()
    assert y.device == device and scale.grad.item() == 2.0 and scale.grad.device == "cpu"


DTYPES = [lucid.bool, lucid.uint8, lucid.int8, lucid.int32, lucid.int64, lucid.float16, lucid.bfloat16, lucid.float32,
          lucid.float64, lucid.complex64, lucid.complex128]


def test_promotion_matches_pytorch():
    torch = pytest.importorskip("torch")
    for a in DTYPES:
        for b in DTYPES:
            expected = torch.promote_types(getattr(torch, a.name), getattr(torch, b.name))
            assert lucid.promote_types(a, b).name == str(expected).split(".")[1], (a, b)


@pytest.mark.parametrize("other", [True, 2, 2.5, 1j, "0-d bool", "0-d int64", "0-d float64", "0-d complex64"], ids=str)
def test_result_dtypes_of_scalars_match_pytorch(other):
    torch = pytest.importorskip("torch")
    for dtype in DTYPES:
        if dtype == lucid.float16 and other in (1j, "0-d complex64"):
            continue  # PyTorch's complex32 has no NumPy dtype
        ours, theirs = lucid.ones(2, dtype=dtype), torch.ones(2, dtype=getattr(torch, dtype.name))
        a = b = other
        if isinstance(other, str):
            a = lucid.ones((), dtype=getattr(lucid, other[4:]))
            b = torch.ones((), dtype=getattr(torch, other[4:]))
        for name in ("add", "mul", "div"):
            expected = getattr(torch, name)(theirs, b)
            result = getattr(lucid, name)(ours, a)
            assert result.dtype.name == str(expected.dtype).split(".")[1], (name, dtype, other)
            if dtype != lucid.bfloat16:
                assert result.tolist() == expected.tolist(), (name, dtype, other)


def test_sequences_of_tensors_are_numbers(device):
    one = lucid.tensor([1.0], device=device)
    for data in ([one, one], (one, lucid.tensor([[1.0]], device=device)), [one, 1.0], [1.0, one]):
        assert lucid.tensor(data).tolist() == [1.0, 1.0]
        assert lucid.as_tensor(data).shape == lucid.asarray(data).shape == one.new_tensor(data).shape == (2,)
    assert lucid.tensor([[one, 2], [3, 4]]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert lucid.tensor([lucid.tensor([1 + 2j], device=device)]).tolist() == [1 + 2j]
    assert lucid.tensor([one.half(), one.bfloat16()]).dtype == lucid.float32
    assert lucid.tensor([one.bfloat16()]).dtype == lucid.bfloat16
    assert lucid.tensor([np.ones(2), lucid.ones(2, device=device)]).tolist() == [[1, 1], [1, 1]]
    for several in ([lucid.ones(2, device=device)], [lucid.ones(2), lucid.ones(2)], [lucid.ones(0)], [1.0, lucid.ones(2)]):
        with pytest.raises(ValueError, match="only one element tensors"):
            lucid.tensor(several)
    with pytest.raises(TypeError, match="only integer tensors of a single element"):
        lucid.tensor([lucid.tensor([1, 2], device=device)])


def test_array_without_a_copy():
    x = lucid.ones(2)
    assert np.shares_memory(np.array(x, copy=False), x.numpy())
    assert not np.shares_memory(np.array(x, copy=True), x.numpy())
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="avoid copy"):
        np.array(x, dtype=np.float64, copy=False)


def test_sizes_stay_sizes():
    shape = lucid.ones(2, 3).shape
    parts = {(2, 3, 4): shape + (4,), (4, 2, 3): (4,) + shape, (2, 3, 2, 3): shape + shape, (3,): shape[1:],  # noqa: RUF005
             (3, 2): shape[::-1], (): shape * 0, (2, 3, 2, 3, 2, 3): 3 * shape, (2, 3, 2, 3, 2): shape * lucid.tensor(2) + (2,)}
    for expected, part in parts.items():
        assert type(part) is lucid.Size and part == expected and hash(part) == hash(expected)
        assert lucid.zeros(part).shape == expected and part.numel() == lucid.zeros(expected).numel()
    grown = shape
    grown += (1,)
    grown *= 2
    assert type(grown) is lucid.Size and grown == (2, 3, 1, 2, 3, 1)
    for again in (pickle.loads(pickle.dumps(shape)), copy.copy(shape), copy.deepcopy(shape), sum([shape], lucid.Size())):
        assert type(again) is lucid.Size and again == shape
    for wrong in (lambda: shape + [1], lambda: shape + None, lambda: shape * 1.5, lambda: shape * lucid.ones(2), lambda: [1] + shape):  # noqa: RUF005
        with pytest.raises(TypeError):
            wrong()
