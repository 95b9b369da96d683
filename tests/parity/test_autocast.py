"""The dtypes of results under autocast: of all functions, at the samples that PyTorch tests its own with.

PyTorch's autocast of GPUs runs on tensors without memory, so it needs no GPU; what computes with complex float16 there, or what
has no float16 on lucid's devices, is not compared.
"""
from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from typing import Any

import pytest

import lucid

from .test_op_samples import Untranslatable, counterpart, leaves, operations, outcome, translated

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

PARTS = 4  # of the list of functions
SAMPLES = 1  # more take as long again, and have no other dtypes

# Where the dtypes differ, and why.
DIFFERENT = {
    "nn.functional.linear_cross_entropy chunked": "the loss is float32, with and without chunks",
    "nn.functional.linear_cross_entropy chunked_none": "the loss is float32, with and without chunks",
}


def mapped(value: Any, change: Callable[[Any], Any], kind: type) -> Any:
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, (tuple, list)):
        return type(value)(mapped(part, change, kind) for part in value)
    if isinstance(value, dict):
        return {key: mapped(part, change, kind) for key, part in value.items()}
    return value


def dtypes_of_pytorch(torch: Any, device: str, function: Any, given: Any) -> list[str] | None:
    """The dtypes of the results; None where PyTorch raises."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    def call(arguments: Any) -> Any:
        return function(arguments[0], *arguments[1], **arguments[2])

    if device == "cpu":
        with torch.autocast("cpu"):
            result, error = outcome(call, given)
    else:
        with FakeTensorMode(allow_non_fake_inputs=True):
            fake = mapped(given, lambda t: torch.empty(t.shape, dtype=t.dtype, device="cuda"), torch.Tensor)
            torch.set_autocast_enabled("cuda", True)
            try:
                result, error = outcome(call, fake)
            finally:
                torch.set_autocast_enabled("cuda", False)
                torch.clear_autocast_cache()
    if error is not None:
        return None
    return [str(t.dtype).removeprefix("torch.") for t in leaves(result) if isinstance(t, torch.Tensor)]


@pytest.mark.parametrize("part", range(PARTS))
def test_dtypes_at_samples_of_pytorch(device: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(logging.getLogger("torch._subclasses.fake_tensor"), "disabled", True)
    low = torch.bfloat16 if device == "cpu" else torch.float16
    differences, compared = [], 0
    for info in operations(torch, part, PARTS, monkeypatch):
        name = f"{info.name} {info.variant_test_name}".strip()
        function = counterpart(info.name)
        if (function is None or not info.supports_dtype(torch.float32, "cpu") or name in DIFFERENT
                or getattr(info.op, "__name__", "") == "<lambda>"):
            continue
        for sample, dtype in itertools.product(itertools.islice(info.sample_inputs("cpu", torch.float32), SAMPLES),
                                               (torch.float32, low)):
            given = mapped([sample.input, list(sample.args), sample.kwargs], lambda t, dtype=dtype: (
                t.detach().to(dtype) if t.dtype == torch.float32 else t.detach()), torch.Tensor)
            try:
                mine = mapped(translated(given, torch), lambda t: t.to(device), lucid.Tensor)
            except Untranslatable:
                continue
            expected = dtypes_of_pytorch(torch, device, info.op, given)
            if expected is None or "complex32" in expected:
                continue
            with lucid.autocast(device):
                result, error = outcome(function, mine[0], *mine[1], **mine[2])
            if error is not None:  # the tests of the function say where lucid raises and PyTorch does not
                continue
            compared += 1
            found = [t.dtype.name for t in leaves(result) if isinstance(t, lucid.Tensor)]
            if found != expected:
                differences.append(f"{name} of {dtype}: {found}, not {expected}")
    assert compared > 150
    assert not differences, "\n".join(dict.fromkeys(differences))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_recurrent_layers_on_a_cpu(kind: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")

    def dtypes(library: Any) -> list[str]:
        with library.autocast("cpu"):
            result = getattr(library.nn, kind)(4, 3)(library.zeros(5, 4, dtype=getattr(library, dtype)))
        return [str(t.dtype).removeprefix("torch.") for t in leaves(result)]

    assert dtypes(lucid) == dtypes(torch)


def test_an_attention_layer_on_a_cpu() -> None:
    torch = pytest.importorskip("torch")

    def dtypes(library: Any) -> list[str]:
        with library.autocast("cpu"):
            result = library.nn.MultiheadAttention(4, 2)(*[library.ones(3, 2, 4)] * 3)
        return [str(t.dtype).removeprefix("torch.") for t in leaves(result)]

    assert dtypes(lucid) == dtypes(torch)
