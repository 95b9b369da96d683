"""Arguments of rare kinds, where PyTorch's answer is not the obvious one."""
from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import lucid as _lucid

lucid: Any = _lucid  # its names are re-exports


@pytest.mark.parametrize(("dtype", "alpha"), [("int64", 0.5), ("bool", 0.5), ("int64", True), ("float32", True), ("float32", 1j)])
def test_the_factor_of_a_sum_keeps_the_kind_of_dtype(dtype: str, alpha: Any, device: str) -> None:
    x = lucid.ones(2, dtype=getattr(lucid, dtype), device=device)
    if alpha is not True:  # which is 1, and not looked at
        with pytest.raises(RuntimeError, match="alpha"):
            lucid.add(x, x, alpha=alpha)
    if dtype != "float32":
        assert lucid.add(x, lucid.ones(2, device=device), alpha=0.5).tolist() == [1.5, 1.5]
        assert lucid.add(x, x, alpha=2).dtype == x.dtype


def test_the_factor_of_integers_is_applied_in_the_dtype_of_the_sum(device: str) -> None:
    total = lucid.sub(lucid.ones(1, dtype=lucid.float16, device=device), lucid.tensor([3], device=device), alpha=0.5)
    assert total.dtype == lucid.float16 and total.tolist() == [-0.5]


def test_a_number_times_a_factor_does_not_count_for_the_dtype(device: str) -> None:
    for dtype in (lucid.bfloat16, lucid.float16, lucid.int32, lucid.uint8, lucid.float64):
        for shape in ((), (2,)):
            x = lucid.full(shape, 3, dtype=dtype, device=device)
            found = lucid.add(x, 4, alpha=2)
            assert found.dtype == dtype and found.flatten()[0].item() == 11
    assert lucid.sub(lucid.tensor(3, dtype=lucid.bfloat16, device=device), 0.5, alpha=2).dtype == lucid.bfloat16
    assert lucid.add(lucid.tensor(3, device=device), 0.5, alpha=2).dtype == lucid.float32
    assert lucid.add(lucid.tensor(False, device=device), True, alpha=True).item() is True


def test_differences_with_bools_are_refused_whatever_the_factor(device: str) -> None:
    x = lucid.ones(2, device=device)
    for alpha in (1, 2):
        with pytest.raises(RuntimeError, match="bool"):
            lucid.sub(x, x > 0, alpha=alpha)


def test_flip_takes_its_dimensions_by_name(device: str) -> None:
    x = lucid.arange(4, device=device).reshape(2, 2)
    for flipped in (lucid.flip(x, dims=(0, 1)), x.flip(dims=[0, 1]), x.flip(0, -1), lucid.flip(x, [0, 1])):
        assert flipped.tolist() == [[3, 2], [1, 0]]
    assert x.flip(()).tolist() == x.flip(dims=()).tolist() == x.tolist()


def test_values_of_another_shape_than_the_mask_are_a_runtime_error(device: str) -> None:
    x = lucid.ones(3, 4, device=device)
    with pytest.raises(RuntimeError):
        x[x > 0] = lucid.ones(3, 4, device=device)
    assert x._version == 0


def test_integers_that_are_written_do_not_require_grad(device: str) -> None:
    x, y = lucid.ones(3, dtype=lucid.int64, device=device), lucid.ones(2, device=device, requires_grad=True)
    x[:2] = y * 2
    assert x.tolist() == [2, 2, 1] and not x.requires_grad


def test_ldexp_by_integers_has_the_dtype_of_the_number(device: str) -> None:
    for dtype in (lucid.float16, lucid.float32):
        scaled = lucid.tensor([0.001, 3], device=device).to(dtype).ldexp(lucid.tensor([20, -2], device=device))
        assert scaled.dtype == dtype
        np.testing.assert_allclose(scaled.float().cpu().numpy(), [1048.576, 0.75], rtol=1e-3)
    assert lucid.tensor([1], device=device).ldexp(lucid.tensor([-1], device=device)).tolist() == [0.5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ldexp_by_powers_beyond_the_range_of_the_dtype(dtype: str, device: str) -> None:
    numbers = np.array([0.0, -0.0, 1e-40, 1.5, -np.inf, np.nan, 1e30, 3.0, 3.0]).astype(dtype)
    powers = np.array([1000, 2**31 - 1, 200, -130, -(2**31), 3, -1200, 2000, -2000])
    if device == "gpu" and dtype == "float32":  # kernels there take subnormal numbers for 0
        numbers[2], powers[3] = 1e-37, -100
    scaled = lucid.from_numpy(numbers).to(device).ldexp(lucid.from_numpy(powers).to(device)).cpu().numpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(scaled, np.ldexp(numbers, powers))


def test_products_of_integers_wrap_around_and_are_exact(device: str) -> None:
    rng = np.random.default_rng(0)
    for dtype, top in (("i1", 127), ("u1", 255), ("i4", 2**31 - 1), ("i8", 100), ("i8", 2**40), ("i8", 2**62)):
        a, b = (rng.integers(0 if dtype == "u1" else -top, top, size).astype(dtype) for size in ((3, 20, 50), (50, 30)))
        product = lucid.from_numpy(a).to(device) @ lucid.from_numpy(b).to(device)
        np.testing.assert_array_equal(product.cpu().numpy(), np.matmul(a, b), f"{dtype} {top}")


def test_an_expanded_tensor_that_shares_nothing_is_written_to(device: str) -> None:
    x = lucid.zeros(2, 3, device=device)
    x.expand(2, 3).add_(1)
    x.t().expand(1, 3, 2)[0, :, 0] = 5
    assert x.tolist() == [[5.0] * 3, [1.0] * 3]
    assert x[:0].expand(4, 0, 3).add_(1).shape == x[:0, :1].expand(0, 3).mul_(2).expand(4, 0, 3).shape == (4, 0, 3)
    with pytest.raises(RuntimeError):
        x[:1].expand(2, 3).add_(1)


def test_no_repetitions_of_nothing(device: str) -> None:
    none = lucid.zeros(0, dtype=lucid.int64, device=device)
    assert lucid.zeros(0, 3, device=device).repeat_interleave(none, dim=0).shape == (0, 3)
    with pytest.raises(RuntimeError):
        lucid.zeros(2, 3, device=device).repeat_interleave(none, dim=0)


@pytest.mark.parametrize(("low", "high"), [(0.0, None), (None, 0.0), (-1.0, 0.0), (math.nan, None), (0.0, -1.0)])
def test_the_gradient_of_clamp_at_its_bounds_and_of_nan(low: float | None, high: float | None, device: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib, where in ((lucid, {"device": device}), (torch, {})):
        x = lib.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, math.nan, math.inf, -math.inf], requires_grad=True, **where)
        x.clamp(low, high).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def test_the_gradients_of_the_bounds_of_clamp() -> None:
    """Where elements and bounds are NaN, equal, or the bounds the wrong way round."""
    torch = pytest.importorskip("torch")
    values = np.array(list(itertools.product([np.nan, -1.0, 0, 1, 2], repeat=3))).T.copy()
    for arguments in ((0, 1, 2), (0, 1), (0, None, 2)):
        found = []
        for lib in (lucid, torch):
            tensors = [None if place is None else lib.tensor(values[place]).requires_grad_() for place in arguments]
            lib.clamp(*tensors).backward(lib.ones(values.shape[1], dtype=lib.float64))
            found.append([tensor.grad.numpy() for tensor in tensors if tensor is not None])
        np.testing.assert_array_equal(*found)


def test_the_gradient_of_a_complex_logsumexp() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).standard_normal((2, 3, 2)) @ np.array([1, 1j])
    gradients = []
    for lib in (lucid, torch):
        x = lib.tensor(values).requires_grad_()
        (lib.logsumexp(x, 1) * lib.tensor([1 + 2j, -1j])).abs().sum().backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-12)


def test_integer_dtypes_of_ranges_drop_the_fractions_of_their_bounds(device: str) -> None:
    assert lucid.arange(0.1, -8.1, -4.5, dtype=lucid.int64, device=device).tolist() == [0, -4]
    assert lucid.arange(0, 3, 0.5, dtype=lucid.int32, device=device).tolist() == [0] * 6  # as many as there would be
    assert lucid.linspace(1, 9.99, 6, dtype=lucid.int16, device=device).tolist() == [1, 2, 4, 5, 7, 9]
    assert lucid.logspace(0.9, 3.5, 2, dtype=lucid.int64, device=device).tolist() == [1, 1000]
    for bounds in ((0, float("inf")), (float("nan"), 1)):
        with pytest.raises(RuntimeError, match="unsupported range"):
            lucid.arange(*bounds, device=device)
    with pytest.raises(RuntimeError, match="nonzero"):
        lucid.arange(0, 3, 0.5, dtype=lucid.int64, device=device)


def test_indices_along_a_dimension_count_modulo_its_length(device: str) -> None:
    x = lucid.arange(10, device=device).reshape(2, 5)
    assert lucid.take_along_dim(x, lucid.tensor([[-6], [7]], device=device), 1).tolist() == [[4], [7]]


def test_nothing_in_the_place_of_something(device: str) -> None:
    x = lucid.ones(1, 2, 1, device=device)
    assert x.squeeze(()).shape == (1, 2, 1)
    assert lucid.diff(x, 0, prepend=x).shape == (1, 2, 1)
    assert lucid.broadcast_shapes((5, 1), 3) == (5, 3) and isinstance(lucid.broadcast_shapes(), lucid.Size)
    assert (lucid.ones(5, 4, 0, device=device) @ lucid.ones(0, 3, device=device)).tolist() == [[[0] * 3] * 4] * 5
    counts, edges = lucid.histogram(lucid.ones(0, device=device), 2)
    assert counts.tolist() == [0, 0] and edges.tolist() == [0, 0.5, 1]
    assert lucid.histogram(lucid.ones(3, device=device), 2, range=(0.0, 0.0)).bin_edges.tolist() == [-0.5, 0, 0.5]
    assert lucid.nn.functional.multi_margin_loss(lucid.tensor(0.3), lucid.tensor(0)).tolist() == 0
    volumes = lucid.ones(0, 2, 4, 5, 4, device=device)
    for pooled in (lucid.nn.functional.avg_pool3d(volumes, 2), lucid.nn.functional.max_pool3d(volumes, 2),
                   lucid.nn.functional.adaptive_avg_pool3d(volumes, 2), lucid.nn.functional.adaptive_max_pool3d(volumes, 2)):
        assert pooled.shape[:3] == (0, 2, 2)


def test_a_number_becomes_one_of_the_dtype_before_it_is_scattered(device: str) -> None:
    x = lucid.tensor([-3, 1], device=device)
    assert x.scatter(0, lucid.tensor([0], device=device), 2.5, reduce="add").tolist() == [-1, 1]


def test_a_tensor_of_one_number_says_how_many_parts(device: str) -> None:
    parts = lucid.tensor_split(lucid.arange(5, device=device), lucid.tensor(2))
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4]]
    for wrong in (0, lucid.tensor(2.0)):
        with pytest.raises(RuntimeError, match="sections"):
            lucid.tensor_split(lucid.arange(5, device=device), wrong)


def test_unsigned_ranks_wrap_around_before_the_margin(device: str) -> None:
    first, second, one = (lucid.tensor(n, dtype=lucid.uint8, device=device) for n in ([3, 7], [4, 2], [1, 1]))
    loss = lucid.nn.functional.margin_ranking_loss(first, second, one, margin=0.5, reduction="none")
    assert loss.tolist() == [1.5, 251.5]


def test_ranks_of_integers_have_a_floating_point_loss(device: str) -> None:
    x, y = lucid.tensor([[3, 1]], device=device), lucid.tensor([[1]], device=device)
    loss = lucid.nn.functional.margin_ranking_loss(x, y, y, margin=1)
    assert loss.dtype == lucid.float32 and loss.item() == 0.5


def test_the_factor_of_a_product_of_integers_joins_a_sum_of_numbers_as_it_is(device: str) -> None:
    x, two = lucid.ones(1, device=device), lucid.tensor([2], device=device)
    assert lucid.addcmul(x, two, two, value=0.5).tolist() == [3.0]
    assert lucid.addcmul(two, two, two, value=0.5).tolist() == [2]
    assert lucid.addcmul(x, two, two, value=True).tolist() == [5.0]
    assert lucid.addcdiv(x, two, x.double(), value=True).tolist() == [3.0]


def test_the_loss_of_one_sample_has_the_shape_of_its_target(device: str) -> None:
    x = lucid.ones(5, device=device)
    for target in (lucid.tensor(1, device=device), lucid.tensor([1], device=device)):
        assert lucid.nn.functional.multi_margin_loss(x, target, reduction="none").shape == target.shape


def test_powers_in_place_need_the_dtype_of_the_result(device: str) -> None:
    for dtype, exponent in ((lucid.float32, 2), (lucid.int64, 2), (lucid.complex64, 2), (lucid.float64, 1j)):
        x = lucid.full((2,), 3, dtype=dtype, device=device)
        with pytest.raises(RuntimeError, match="requires dtype"):
            x.float_power_(exponent)
        assert x.tolist() == [3, 3] and x._version == 0
    assert lucid.full((1,), 3.0, dtype=lucid.float64, device=device).float_power_(2).tolist() == [9]


def test_a_zero_in_the_diagonal_of_a_cholesky_factor_has_no_inverse(device: str) -> None:
    factors = lucid.tensor([[[1.0, 0], [5, 2]], [[1, 0], [2, 0]]], device=device)
    with pytest.raises(lucid.linalg.LinAlgError, match=r"Batch element 1.*diagonal element 2 is zero"):
        lucid.cholesky_inverse(factors)
    assert lucid.cholesky_inverse(factors[:0]).shape == (0, 2, 2)


def test_a_number_is_reduced_in_place_with_a_gradient(device: str) -> None:
    index, source = lucid.tensor([0, 0], device=device), lucid.tensor([2.0, 5.0], device=device)
    for name in ("prod", "amax", "mean"):
        x = lucid.tensor(3.0, device=device, requires_grad=True)
        y = x.clone().scatter_reduce_(0, index, source, name)
        expected = x.reshape(1).scatter_reduce(0, index, source, name)
        assert y.item() == expected.item()
        assert lucid.autograd.grad(y, x)[0].item() == lucid.autograd.grad(expected, x)[0].item()
    y = x.clone().index_reduce_(0, index[0], source[0], "prod")
    assert lucid.autograd.grad(y, x)[0].item() == 2


def test_numbers_of_numpy_and_tensors_in_a_sequence_bring_their_dtype() -> None:
    for data, dtype in (([np.float64(1)], "float64"), ([1.0, np.float64(2)], "float64"), ([np.float16(1), 2], "float16"),
                        ([np.float16(1), 2.0], "float32"), ([[np.float64(1)], [2j]], "complex128"), ([np.uint8(1)], "uint8"),
                        ([np.int8(1), 2], "int64"), ([np.array([1.0]), [2]], "float64"),
                        ([lucid.tensor(1.0, dtype=lucid.float64), 2], "float64"), ([True, 2.0], "float32")):
        assert lucid.tensor(data).dtype.name == lucid.as_tensor(data).dtype.name == dtype, data


def test_ints_beyond_64_bits_do_not_wrap_around() -> None:
    for data in (2**63, [2**63], -(2**63) - 1, [2**64]):
        with pytest.raises(ValueError, match="Overflow"):
            lucid.tensor(data)
    assert lucid.tensor([1.0, 2**70]).tolist() == [1.0, 2.0**70]
    assert lucid.tensor(2**70, dtype=lucid.float64).item() == 2.0**70
    assert lucid.tensor([2**63 - 1, -(2**63)]).tolist() == [2**63 - 1, -(2**63)]


def test_what_python_asks_of_a_tensor() -> None:
    assert [10, 20][lucid.tensor(True)] == 20
    for element in ("a", None, [1.0]):
        with pytest.raises(RuntimeError, match="__contains__ only supports"):
            element in lucid.ones(2)  # noqa: B015


def test_a_complex_number_has_no_gradient_of_its_own(device: str) -> None:
    z = lucid.tensor([1 + 1j], device=device, requires_grad=True)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        z.sum().backward()
    (z * 2).sum().backward(lucid.tensor(1j, device=device))
    assert z.grad.tolist() == [2j]


@pytest.mark.parametrize("name", ["hypot", "copysign", "atan2"])
def test_gradients_of_numbers(name: str, device: str) -> None:
    x, y = (lucid.tensor(number, device=device, requires_grad=True) for number in (3.0, 4.0))
    result = getattr(lucid, name)(x, y)
    result.backward()
    expected = {"hypot": (5.0, 0.6), "copysign": (3.0, 1.0), "atan2": (0.6435011, 0.16)}[name]
    assert (result.item(), x.grad.item()) == pytest.approx(expected)


def test_no_padding_at_all(device: str) -> None:
    assert lucid.nn.functional.pad(lucid.ones(2, 2, device=device), ()).tolist() == [[1, 1], [1, 1]]
