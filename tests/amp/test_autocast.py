"""Autocast: dtypes, nesting, threads, the cache of casts, gradients, functions of the user."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid.nn.functional import mse_loss


@pytest.fixture
def low(device: str) -> Any:
    return lucid.bfloat16 if device == "cpu" else lucid.float16


@pytest.fixture
def gpu() -> None:
    from lucid.backends.gpu_probe import gpu_problem

    problem = gpu_problem()
    if problem is not None:
        pytest.skip(problem)


def test_dtypes_of_functions_methods_and_operators(device: str, low: Any) -> None:
    x = lucid.randn(4, 4, device=device)
    half = x.to(low)
    held = lucid.mm
    with lucid.autocast(device):
        assert (x @ x).dtype == held(x, x).dtype == x.matmul(x).dtype == F.linear(x, x, x[0]).dtype == low
        assert mse_loss(half, x).dtype == F.cross_entropy(half, lucid.zeros(4, dtype=lucid.int64, device=device)).dtype == "float32"
        assert lucid.nn.Linear(4, 2, device=device)(x).dtype == low
        assert (x + half).dtype == "float32" and (half + half).dtype == low and lucid.stack([x, half]).dtype == "float32"
        assert (x.double() @ x.double()).dtype == "float64"
        assert half.sum(0, dtype=low).dtype == F.softmax(half, 0, 3, low).dtype == lucid.softmax(half, 0, low).dtype == low
        assert (half**2).dtype == half.exp().dtype == half.sum().dtype == (low if device == "cpu" else "float32")
    assert (x @ x).dtype == "float32" and mse_loss(half, half).dtype == low


def test_nothing_remains_afterwards(device: str) -> None:
    code = lucid.Tensor.matmul.__code__
    with lucid.autocast(device):
        assert lucid.Tensor.matmul.__code__ is not code
        with lucid.autocast(device, enabled=False):
            pass
        assert lucid.Tensor.matmul.__code__ is not code
    assert lucid.Tensor.matmul.__code__ is code
    with pytest.raises(ZeroDivisionError), lucid.autocast(device):
        raise ZeroDivisionError
    assert lucid.Tensor.matmul.__code__ is code and not lucid.is_autocast_enabled(device)


def test_nested_disabled_and_decorated() -> None:
    x = lucid.randn(3, 3)
    with lucid.autocast("cpu", dtype=lucid.bfloat16):
        with lucid.autocast("cpu", enabled=False):
            assert (x @ x).dtype == "float32" and not lucid.is_autocast_enabled("cpu")
            with lucid.autocast("cpu", dtype=lucid.float16):
                assert (x @ x).dtype == "float16" and lucid.get_autocast_dtype("cpu") == "float16"
        assert (x @ x).dtype == "bfloat16"

    @lucid.autocast("cpu")
    def product(depth: int) -> Any:
        return x @ x if depth == 0 else product(depth - 1)

    assert product(3).dtype == "bfloat16" and (x @ x).dtype == "float32" and product.__name__ == "product"


def test_each_thread_has_its_own() -> None:
    x, found = lucid.randn(3, 3), []
    with lucid.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(((x @ x).dtype.name, lucid.is_autocast_enabled("cpu"))))
        thread.start()
        thread.join()
        assert (x @ x).dtype == "bfloat16"
    assert found == [("float32", False)]


def test_the_settings_as_functions() -> None:
    x = lucid.randn(3, 3)
    assert lucid.amp.is_autocast_available("cpu") and lucid.amp.is_autocast_available("cuda")
    assert not lucid.amp.is_autocast_available("mps") and not lucid.is_autocast_enabled("mps")
    lucid.set_autocast_enabled("cpu", True)
    try:
        lucid.set_autocast_dtype("cpu", lucid.float16)
        assert (x @ x).dtype == "float16" and lucid.is_autocast_enabled("cpu") and not lucid.is_autocast_enabled()
    finally:
        lucid.set_autocast_enabled("cpu", False)
        lucid.set_autocast_dtype("cpu", lucid.bfloat16)
        lucid.clear_autocast_cache()
    assert (x @ x).dtype == "float32" and lucid.get_autocast_gpu_dtype() == "float16"
    with pytest.warns(UserWarning, match="not supported"):
        context = lucid.autocast("cpu", dtype=lucid.float64)
    with context:
        assert (x @ x).dtype == "float32"
    with pytest.raises(RuntimeError, match="unsupported autocast device_type"):
        lucid.autocast("mps")
    with pytest.raises(ValueError, match="device_type"):
        lucid.autocast(3)  # type: ignore[arg-type]


def test_what_writes_into_a_tensor_keeps_its_dtype() -> None:
    x, target = lucid.randn(3, 3), lucid.empty(3, 3)
    with lucid.autocast("cpu"):
        assert lucid.mm(x, x, out=target) is target and target.dtype == "float32"
        assert x.clone().addmm_(x, x).dtype == "float32"
    np.testing.assert_allclose(target.numpy(), (x @ x).numpy(), rtol=1e-6)


def test_a_parameter_is_cast_once_until_the_end() -> None:
    weight, x = lucid.randn(3, 3, requires_grad=True), lucid.randn(2, 3)
    from lucid.amp._state import casts

    with lucid.autocast("cpu"):
        loss = (F.linear(x, weight) + F.linear(2 * x, weight)).sum()
        assert len(casts.made) == 1
        with lucid.autocast("cpu"), lucid.no_grad():
            F.linear(x, weight)
        assert len(casts.made) == 2  # one without a gradient is no use for the other
        before = F.linear(x, weight)
        with lucid.no_grad():
            weight.mul_(2)
        np.testing.assert_array_equal(F.linear(x, weight).detach().float().numpy(), 2 * before.detach().float().numpy())
    assert not casts.made
    loss.backward()
    assert weight.grad is not None and weight.grad.dtype == "float32"
    np.testing.assert_allclose(weight.grad.numpy(), np.tile(3 * x.numpy().sum(0), (3, 1)), rtol=2e-2, atol=2e-2)
    with lucid.autocast("cpu", cache_enabled=False):
        F.linear(x, weight)
        assert not casts.made and not lucid.is_autocast_cache_enabled()


def test_gradients_have_the_dtypes_of_the_forward_pass(device: str) -> None:
    lucid.manual_seed(0)
    model = lucid.nn.Sequential(lucid.nn.Linear(6, 8), lucid.nn.LayerNorm(8), lucid.nn.GELU(), lucid.nn.Linear(8, 3)).to(device)
    x, target = lucid.randn(5, 6, device=device), lucid.randn(5, 3, device=device)
    F.mse_loss(model(x), target).backward()
    exact = [p.grad.cpu().numpy() for p in model.parameters()]
    for inside in (False, True):  # `backward` within autocast computes the same
        model.zero_grad()
        with lucid.autocast(device):
            loss = F.mse_loss(model(x), target)
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        for parameter, expected in zip(model.parameters(), exact, strict=True):
            assert parameter.grad.dtype == "float32"
            scale = abs(expected).max()
            np.testing.assert_allclose(parameter.grad.cpu().numpy(), expected, atol=0.05 * scale + 1e-3)


def test_binary_cross_entropy_is_refused_on_a_gpu(gpu: None) -> None:
    chance = lucid.rand(3, device="gpu")
    with lucid.autocast("cuda"):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(chance, chance)
        assert F.binary_cross_entropy_with_logits(chance.half(), chance).dtype == "float32"
    assert F.binary_cross_entropy(chance, chance).dtype == "float32"


def test_a_tensor_on_another_device_is_left_alone(gpu: None) -> None:
    x = lucid.randn(3, 3)
    with lucid.autocast("gpu"):
        assert (x @ x).dtype == "float32" and (x.to("gpu") @ x.to("gpu")).dtype == "float16"
        with lucid.autocast("cpu"):
            assert (x @ x).dtype == "bfloat16" and (x.to("gpu") @ x.to("gpu")).dtype == "float16"


def test_functions_of_the_user() -> None:
    seen: list[Any] = []

    class Plain(lucid.autograd.Function):
        @staticmethod
        @lucid.amp.custom_fwd(device_type="cpu")
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @lucid.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.append((lucid.is_autocast_enabled("cpu"), (a @ b).dtype.name))
            return (g @ b.t()).float(), (a.t() @ g).float()

    class Wide(lucid.autograd.Function):
        @staticmethod
        @lucid.amp.custom_fwd(device_type="cpu", cast_inputs=lucid.float32)
        def forward(ctx: Any, a: Any) -> Any:
            seen.append((lucid.is_autocast_enabled("cpu"), a.dtype.name))
            return a @ a

        @staticmethod
        @lucid.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            return g

    a = lucid.randn(3, 3, requires_grad=True)
    with lucid.autocast("cpu"):
        result = Plain.apply(a, a)
        assert result.dtype == "bfloat16"
        assert Wide.apply(a.bfloat16()).dtype == "float32"
    result.float().sum().backward()
    assert seen == [(False, "float32"), (True, "bfloat16")]
    seen.clear()
    Wide.apply(a.detach().bfloat16())
    assert seen == [(False, "bfloat16")]


def test_the_older_names(gpu: None) -> None:
    x = lucid.randn(3, 3, device="gpu")
    with pytest.warns(FutureWarning, match="deprecated"), lucid.cuda.amp.autocast():
        assert (x @ x).dtype == "float16"
    with pytest.warns(FutureWarning, match="deprecated"):
        assert lucid.cuda.amp.GradScaler().get_scale() == 65536.0


def test_without_a_gpu_it_is_off() -> None:
    script = """
import warnings, lucid
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    context, scaler = lucid.autocast("cuda"), lucid.GradScaler()
with context:
    print(lucid.is_autocast_enabled("cuda"), scaler.is_enabled(), len(caught))
"""
    without = {name: value for name, value in os.environ.items() if name != "LUCID_GPU"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                         env={**without, "CUDA_VISIBLE_DEVICES": ""})
    assert run.stdout.split() == ["False", "False", "2"]


def test_lucid_is_imported_without_it() -> None:
    run = subprocess.run([sys.executable, "-c", "import lucid, sys; print('lucid.amp' in sys.modules)"], capture_output=True,
                         text=True, check=True)
    assert run.stdout.strip() == "False"


def test_formulas_keep_their_dtypes() -> None:
    double = lucid.fuse(lambda a, b: lucid.exp(a) * b)
    x = lucid.rand(5)
    with lucid.autocast("cpu"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert double(x, x).dtype == "float32"
