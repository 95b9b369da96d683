"""Checkpoints that keep the results of some operations."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.backends import TABLES
from lucid.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)


def function(x: Any, y: Any) -> Any:
    return lucid.sigmoid(lucid.matmul(x @ y, y).tanh()) * y


def outcome(wrap: Any, calls: list[str], device: str = "cpu") -> tuple[list[Any], int]:
    """The result and the gradients, and how many products are computed in backward."""
    lucid.manual_seed(0)
    x, y = (lucid.randn(3, 3, device=device, requires_grad=True) for _ in range(2))
    result = wrap(x, y)
    calls.clear()
    result.sum().backward()
    return [result.detach(), x.grad, y.grad], len(calls)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The products that were computed on the CPU."""
    found: list[str] = []

    kernel = TABLES[np.ndarray]["matmul"]

    def counted(*args: Any, **keywords: Any) -> Any:
        found.append("matmul")
        return kernel(*args, **keywords)

    monkeypatch.setitem(TABLES[np.ndarray], "matmul", counted)
    return found


def selective(policy: Any, **options: Any) -> Any:
    contexts = functools.partial(create_selective_checkpoint_contexts, policy, **options)
    return lambda *args: checkpoint(function, *args, use_reentrant=False, context_fn=contexts)


def always(ctx: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    assert not ctx.is_recompute and isinstance(ctx.op_output, lucid.Tensor)
    return CheckpointPolicy.PREFER_SAVE


def products(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
    return bool(op.__name__ == "matmul")


@pytest.mark.parametrize(("policy", "again"), [
    ([lucid.matmul], 0), (products, 0),
    ([], 2), (always, 0),
    ([lucid.Tensor.tanh, lucid.sigmoid], 2),
    (lambda ctx, op, *a, **k: CheckpointPolicy.MUST_RECOMPUTE, 2)])
def test_gradients_and_what_is_computed_again(policy: Any, again: int, calls: list[str], device: str) -> None:
    plain, before = outcome(function, calls, device)
    mine, after = outcome(selective(policy), calls, device)
    assert all(map(lucid.equal, mine, plain))
    if device == "cpu":
        assert after - before == again


def test_of_a_module_with_random_numbers() -> None:
    lucid.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Dropout(0.5), nn.LayerNorm(4), nn.Linear(4, 2))
    x = lucid.randn(5, 4, requires_grad=True)
    found = []
    for run in (model, lambda x: checkpoint(model, x, use_reentrant=False, context_fn=functools.partial(
            create_selective_checkpoint_contexts, [nn.functional.linear, nn.functional.dropout]))):
        lucid.manual_seed(1)
        x.grad = None
        model.zero_grad()
        run(x).square().sum().backward()
        found.append([x.grad.clone(), *[p.grad.clone() for p in model.parameters()]])
    assert all(map(lucid.equal, *found))


def test_errors() -> None:
    x, y = (lucid.randn(3, 3, requires_grad=True) for _ in range(2))
    result = selective([lucid.matmul])(x, y)
    result.sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="backward an extra time"):
        result.sum().backward()
    with pytest.raises(ValueError, match="Expected op"):
        create_selective_checkpoint_contexts([3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="must be either a function or a list"):
        create_selective_checkpoint_contexts(3)  # type: ignore[arg-type]
    with lucid.no_grad():
        assert not selective([lucid.matmul])(x, y).requires_grad


@pytest.mark.parametrize("allowed", [False, True])
def test_a_result_that_was_written_to(allowed: bool) -> None:
    kept = []

    def writing(x: Any) -> Any:
        y = lucid.exp(x)
        kept.append(y)
        return y.sin() * 2

    x = lucid.ones(2, requires_grad=True)
    contexts = functools.partial(create_selective_checkpoint_contexts, [lucid.exp], allow_cache_entry_mutation=allowed)
    result = checkpoint(writing, x, use_reentrant=False, context_fn=contexts)
    with lucid.no_grad():
        kept[0].detach().mul_(1)
    if allowed:
        result.sum().backward()
        assert x.grad is not None
    else:
        with pytest.raises(RuntimeError, match="has been mutated|modified by an inplace operation"):
            result.sum().backward()
