"""Checks, settings and arithmetic of numbers that PyTorch has in its own namespace."""
from __future__ import annotations

import warnings

import pytest

import lucid


def test_checks_raise_their_errors(device: str) -> None:
    for name, error in {"_check": RuntimeError, "_check_index": IndexError, "_check_value": ValueError, "_check_type": TypeError,
                        "_check_not_implemented": NotImplementedError}.items():
        check = getattr(lucid, name)
        check(True)
        with pytest.raises(error, match="wrong 3"):
            check(False, lambda: "wrong 3")
        with pytest.raises(error, match="Expected cond to be True"):
            check(False)
        with pytest.raises(TypeError, match="must be a callable"):
            check(False, "text")
        with pytest.raises(TypeError, match="a bool, but got a Tensor"):
            check(lucid.tensor(True, device=device))
    with pytest.raises(KeyError, match="key"):
        lucid._check_with(KeyError, False, lambda: "key")
    with pytest.raises(AssertionError, match="subclass"):
        lucid._check_with(UserWarning, False, None)
    lucid._check_tensor_all(lucid.ones(2, device=device) > 0)
    with pytest.raises(RuntimeError):
        lucid._check_tensor_all(lucid.tensor([True, False], device=device))
    with pytest.raises(ValueError):
        lucid._check_tensor_all_with(ValueError, lucid.tensor([True, False], device=device))
    with pytest.raises(TypeError, match="dtype"):
        lucid._check_tensor_all(lucid.ones(2, device=device))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError):
        lucid._check_is_size(-1)
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError):
        lucid._check_is_size(5, max=4)


def test_assertions(device: str) -> None:
    lucid._assert(lucid.tensor(1, device=device), "")
    with pytest.raises(AssertionError, match="no"):
        lucid._assert(lucid.tensor(0, device=device), "no")
    lucid._assert_async(lucid.tensor(1.0, device=device))
    with pytest.raises(RuntimeError, match="but got zero"):
        lucid._assert_async(lucid.tensor(0.0, device=device))
    with pytest.raises(RuntimeError, match="ambiguous"):
        lucid._assert_async(lucid.ones(2, device=device))
    with pytest.raises(TypeError):
        lucid._assert_async(True)
    flags = lucid.tensor([True, False], device=device)
    assert not lucid._is_all_true(flags) and lucid._is_any_true(flags)
    assert lucid._is_all_true(flags).device.type == device
    with pytest.raises(RuntimeError, match="bool"):
        lucid._is_all_true(lucid.ones(1))
    assert lucid._shape_as_tensor(lucid.ones(2, 3, device=device)).tolist() == [2, 3]


def test_numbers() -> None:
    assert lucid.sym_max(1, 2.0) == 2.0 and isinstance(lucid.sym_max(3, 2.0), float) and isinstance(lucid.sym_min(1, 2), int)
    assert lucid.sym_sum([1, 2, 3]) == lucid.sym_sum(1, 2, 3) == 6
    assert lucid.sym_int(-2.7) == -2 and lucid.sym_float(2) == 2.0 and lucid.sym_not(0) is True and lucid.sym_sqrt(9) == 3
    assert lucid.sym_ite(False, 1, 2) == 2
    for wrong in (lambda: lucid.sym_ite(1, 1, 2), lambda: lucid.sym_ite(True, 1, 2.0), lambda: lucid.sym_max("a", 1)):
        with pytest.raises(AssertionError):
            wrong()
    with pytest.raises(RuntimeError, match="Invalid value range for 3"):
        lucid.sym_constrain_range(3, min=4)
    with pytest.raises(RuntimeError):
        lucid.sym_constrain_range_for_size(-1)


def test_the_mode_of_deterministic_algorithms() -> None:
    for number, name in enumerate(("default", "warn", "error")):
        for mode in (number, name):
            lucid.set_deterministic_debug_mode(mode)
            assert lucid.get_deterministic_debug_mode() == number
            assert lucid.are_deterministic_algorithms_enabled() == (number > 0)
    lucid.set_deterministic_debug_mode(0)
    for mode, error in ((3, RuntimeError), ("abc", RuntimeError), (2.0, TypeError)):
        with pytest.raises(error):
            lucid.set_deterministic_debug_mode(mode)


def test_the_default_type() -> None:
    try:
        lucid.set_default_tensor_type(lucid.DoubleTensor)
        assert lucid.ones(1).dtype == lucid.float64
        lucid.set_default_tensor_type("torch.cuda.HalfTensor")
        assert (lucid.ones(1).dtype, lucid.ones(1).device.type) == (lucid.float16, "gpu")
    finally:
        lucid.set_default_tensor_type("lucid.FloatTensor")
    assert (lucid.ones(1).dtype, lucid.ones(1).device.type) == (lucid.float32, "cpu")
    for wrong in (lucid.IntTensor, "torch.IntTensor", 3, "abc"):
        with pytest.raises(TypeError, match="floating-point"):
            lucid.set_default_tensor_type(wrong)


def test_switches_without_effect() -> None:
    assert lucid.get_num_interop_threads() == 1
    lucid.set_num_interop_threads(4)
    with pytest.raises(RuntimeError, match="positive"):
        lucid.set_num_interop_threads(0)
    assert lucid.set_flush_denormal(True) is False and lucid.set_flush_denormal(False) is True
    with pytest.raises(RuntimeError, match="bool"):
        lucid.set_flush_denormal(3)
    assert not lucid.is_distributed(lucid.ones(1)) and not lucid.is_vulkan_available()


def test_warnings_that_are_always_shown() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        before = list(warnings.filters)
        lucid.set_warn_always(True)
        assert lucid.is_warn_always_enabled() and warnings.filters[0][0] == "always"
        lucid.set_warn_always(False)
        assert not lucid.is_warn_always_enabled() and warnings.filters == before


def test_modules_of_devices() -> None:
    assert lucid.get_device_module("cuda:0") is lucid.get_device_module() is lucid.gpu
    with pytest.raises(RuntimeError, match="corresponding module"):
        lucid.get_device_module("meta")
    with pytest.raises(RuntimeError, match="Invalid value"):
        lucid.get_device_module(3)


def test_anomaly_detection_by_its_older_names() -> None:
    lucid.set_anomaly_enabled(True, check_nan=False)
    try:
        assert lucid.is_anomaly_enabled() and not lucid.is_anomaly_check_nan_enabled()
    finally:
        lucid.set_anomaly_enabled(False)
    assert not lucid.is_anomaly_enabled() and lucid.is_anomaly_check_nan_enabled()


def test_variables(device: str) -> None:
    y = lucid.ones(2, device=device, requires_grad=True) * 2
    x = lucid.autograd.Variable(y, requires_grad=True)
    assert x.is_leaf and x.requires_grad and x.data_ptr() == y.data_ptr() and isinstance(y, lucid.autograd.Variable)
    assert lucid.autograd.Variable().shape == (0,)
    assert not lucid.autograd.Variable(data=y, volatile=True).requires_grad
    with pytest.raises(TypeError, match="has to be a tensor, but got int"):
        lucid.autograd.Variable(3)
    with pytest.raises(RuntimeError, match="deprecated"):
        lucid.autograd.variable([1])
