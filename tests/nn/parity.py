"""Modules of lucid against the same modules of PyTorch with the same parameters."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid


def numbers(value: Any) -> list[Any]:
    """The arrays of a tensor, or of a tuple of tensors and None."""
    if isinstance(value, tuple):
        return [array for part in value for array in numbers(part)]
    return [None if value is None else value.detach().cpu().numpy()]


def same_as_torch(script: Callable[..., Any], *arrays: np.ndarray, device: str = "cpu", rtol: float = 1e-9) -> None:
    """`script(library, *inputs)` returns a module and a call; results and gradients of both libraries agree.

    The module of lucid gets the parameters of PyTorch's. Every result counts into the gradients, weighted with 1, 2, 3, ….
    """
    torch = pytest.importorskip("torch")
    their_inputs = [torch.tensor(a, requires_grad=True) for a in arrays]
    theirs, their_call = script(torch, *their_inputs)
    our_inputs = [lucid.tensor(a, requires_grad=True, device=device) for a in arrays]
    ours, our_call = script(lucid, *our_inputs)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # no bias is zero
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({name: lucid.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    ours.to(device)
    found = []
    for library, module, inputs, call in ((lucid, ours, our_inputs, our_call), (torch, theirs, their_inputs, their_call)):
        results = call()
        loss = 0
        for result in results if isinstance(results, tuple) else (results,):
            if result is not None:
                ramp = library.arange(1, result.numel() + 1, device=result.device).reshape(tuple(result.shape))
                loss = loss + (result * ramp.to(result.dtype)).sum()
        loss.backward()
        grads = tuple(t.grad for t in [*inputs, *module.parameters()])
        found.append([*numbers(results), *numbers(grads)])
    for mine, exact in zip(*found, strict=True):
        assert (mine is None) == (exact is None)
        if mine is not None:
            scale = np.abs(exact).max(initial=1.0) if np.isfinite(exact).all() else 1.0
            np.testing.assert_allclose(mine, exact, rtol=rtol, atol=rtol * scale)
