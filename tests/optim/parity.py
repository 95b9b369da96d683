"""The same training in lucid and in PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid

SHAPES = ((3, 4), (5,), (), (0, 2))


def numbers(step: int, shapes: Any = None) -> list[np.ndarray]:
    """Parameters (step 0) or gradients of a step."""
    rng = np.random.default_rng(step)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes or SHAPES]


def set_gradients(module: Any, params: list[Any], step: int, device: str = "cpu", shapes: Any = None) -> None:
    for param, gradient in zip(params, numbers(step, shapes), strict=True):
        param.grad = module.as_tensor(gradient).to(device).to(param.dtype)


def train(module: Any, make: Any, steps: int = 5, device: str = "cpu", dtype: str = "float32",
          shapes: Any = None) -> tuple[list[Any], Any]:
    """The parameters and the optimizer ``make(module.optim, params)`` after some steps. The last parameter of step 2 has
    no gradient."""
    params = [module.tensor(values).to(device).to(getattr(module, dtype)).requires_grad_() for values in numbers(0, shapes)]
    optimizer = make(module.optim, params)
    for step in range(1, steps + 1):
        set_gradients(module, params, step, device, shapes)
        if step == 2:
            params[0].grad = None
        optimizer.step()
        optimizer.zero_grad()
        assert all(param.grad is None for param in params)
    return params, optimizer


def host(tensor: Any) -> np.ndarray:
    """The elements as float64."""
    tensor = tensor.detach().cpu()
    return np.asarray(tensor.double().numpy() if not isinstance(tensor, lucid.Tensor) else tensor.numpy()).astype(np.float64)


def check(make: Any, device: str, dtype: str = "float32", tolerance: float = 1e-6, steps: int = 5, shapes: Any = None) -> None:
    """Parameters and the whole state_dict agree with PyTorch's."""
    torch = pytest.importorskip("torch")
    ours, optimizer = train(lucid, make, steps, device, dtype, shapes)
    theirs, reference = train(torch, make, steps, dtype=dtype, shapes=shapes)
    for param, expected in zip(ours, theirs, strict=True):
        assert param.device == device
        np.testing.assert_allclose(host(param), host(expected), atol=tolerance, rtol=tolerance)
    state, expected_state = optimizer.state_dict(), reference.state_dict()
    assert state["param_groups"] == expected_state["param_groups"]
    assert list(state["state"]) == list(expected_state["state"])
    for number, entries in expected_state["state"].items():
        assert list(state["state"][number]) == list(entries)
        for name, value in entries.items():
            mine = state["state"][number][name]
            assert str(value.dtype) == f"torch.{mine.dtype.name}" and tuple(value.shape) == mine.shape
            assert mine.device == ("cpu" if name == "step" and not isinstance(optimizer, lucid.optim.ASGD) else device)
            np.testing.assert_allclose(host(mine), host(value), atol=tolerance, rtol=tolerance)
    assert repr(optimizer) == repr(reference)
