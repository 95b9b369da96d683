"""The samples that PyTorch tests its own functions with, on PyTorch and on lucid: results, dtypes and gradients agree.

A sample at which one of the two raises counts as a difference, too; at which both do, as equal.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lucid

pytestmark = pytest.mark.torch

PARTS = 8  # of the list of functions, so that the workers of a test run share it

# What may differ from one float64 result, for each dtype of a result: its rounding over sums of some hundred numbers.
TOLERANCE = {"float64": 1e-8, "complex128": 1e-8, "float32": 3e-4, "complex64": 1e-3, "float16": 2e-2, "bfloat16": 6e-2}

_FACTOR = "singular vectors and eigenvectors are unique up to a factor of absolute value 1"
_TIES = "the places of equal elements come in another order"
_UNSET = "memory that nobody has written to"
_RANDOM = "random numbers"

# Where functions, or variants of them, may differ: a part of what is said of the difference, and why. "differ" is said of elements.
DIFFERENT = {
    "as_strided partial_views": ("", "the samples are parts of larger memory, which a copy has not"),
    "as_strided_scatter": ("gradient", "PyTorch's gradient is that of the elements that are overwritten"),
    "conj": ("shares memory", "conjugates have memory of their own, to which writes are repeated"),
    "cholesky_inverse": ("gradient", "PyTorch's gradient is not zero for the triangle that is not read"),
    "cholesky_solve": ("gradient", "PyTorch's gradient is not zero for the triangle that is not read"),
    "gather": ("Expected dtype int32/int64 for index", "an empty index of another dtype is refused"),
    "linalg.lstsq": ("require a gradient", "an empty vector of residuals requires no gradient"),
    "linalg.matrix_power": ("require a gradient", "the power 0 is a constant"),
    "nn.functional.avg_pool3d": ("int64", "averages of integers are rounded in planes, and again across them"),
    "nn.functional.batch_norm": ("at least 2 dimensions", "an empty vector has no channels"),
    "nn.functional.local_response_norm": ("Got: Long", "integers have no mean"),
    "nn.functional.rms_norm": ("ComplexFloat", "complex numbers are refused"),
    "signal.windows.blackman": ("differ", "its ends are zero but for rounding"),
    "ravel": ("shares memory", "the copy of a sample with gaps has none"),
    "sum_to_size": ("bool[] for int64[]", "a sum of nothing keeps its dtype"),
    **dict.fromkeys(("svd", "linalg.svd", "linalg.eig", "linalg.eigh"), ("differ", _FACTOR)),
    **dict.fromkeys(("sort", "argsort", "topk", "kthvalue", "mode"), ("int64", _TIES)),
    "logcumsumexp": ("differ", "imaginary parts are unique up to multiples of 2 pi"),
    **dict.fromkeys(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_",
                     "resize_as_"), ("differ", _UNSET)),
    **dict.fromkeys(("bernoulli", "multinomial", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like",
                     "svd_lowrank", "pca_lowrank", *(f"nn.functional.{name}" for name in (
                         "alpha_dropout", "dropout", "dropout2d", "dropout3d", "feature_alpha_dropout", "fractional_max_pool2d",
                         "fractional_max_pool3d", "rrelu", "multi_head_attention_forward"))),
                    ("differ", _RANDOM)),
}


def counterpart(name: str) -> Callable[..., Any] | None:
    """lucid's function or method of that name, if it has one."""
    for owner in (lucid, lucid.nn, lucid.Tensor):
        found: Any = owner
        for part in name.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    return None


class Untranslatable(Exception):
    """An argument that lucid has no counterpart of, such as a sparse tensor."""


def translated(value: Any, torch: Any) -> Any:
    """An argument for lucid; tensors are copies, with the same order of the dimensions in memory."""
    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        if value.layout != torch.strided or not isinstance(getattr(lucid, name, None), np.dtype):
            raise Untranslatable(f"{value.layout} {value.dtype}")
        plain = value.detach().clone()
        tensor = lucid.from_numpy((plain.float() if name == "bfloat16" else plain).numpy(force=True))
        return tensor.to(getattr(lucid, name)).requires_grad_(value.requires_grad)
    if isinstance(value, torch.dtype):
        found = getattr(lucid, str(value).removeprefix("torch."), None)
        if found is None:
            raise Untranslatable(str(value))
        return found
    if isinstance(value, torch.memory_format):
        return getattr(lucid, str(value).removeprefix("torch."))
    if isinstance(value, (torch.layout, torch.Generator)) or callable(value):
        raise Untranslatable(str(value))
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (tuple, list)):
        return type(value)(translated(v, torch) for v in value)
    if isinstance(value, dict):
        return {key: translated(v, torch) for key, v in value.items()}
    return value


def leaves(value: Any) -> Iterator[Any]:
    """What stands in nested sequences and dictionaries."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    else:
        yield value


def outcome(function: Callable[..., Any], *args: Any, **keywords: Any) -> tuple[Any, Exception | None]:
    try:
        return function(*args, **keywords), None
    except Exception as error:
        return None, error


def difference(ours: Any, theirs: Any, torch: Any, least: float = 1e-6) -> str | None:
    """How a result differs from PyTorch's. Errors are measured by its largest number, or by `least` if that is larger."""
    mine, other = list(leaves(ours)), list(leaves(theirs))
    if len(mine) != len(other):
        return f"{len(mine)} results, not {len(other)}"
    for x, y in zip(mine, other, strict=True):
        if not isinstance(y, torch.Tensor):
            if x != (translated(y, torch) if isinstance(y, torch.dtype) else y) and not (x != x and y != y):
                return f"{x!r} for {y!r}"
            continue
        dtype = str(y.dtype).removeprefix("torch.")
        if (tuple(x.shape), x.dtype.name) != (tuple(y.shape), dtype):
            return f"{x.dtype.name}{list(x.shape)} for {dtype}{list(y.shape)}"
        y = y.detach()
        a, b = x.detach(), (y.float() if dtype == "bfloat16" else y).numpy(force=True)
        a = (a.float() if dtype == "bfloat16" else a).numpy()
        if dtype not in TOLERANCE:
            near = a == b
        else:
            finite = np.abs(b[np.isfinite(b)])
            tolerance = TOLERANCE[dtype] * max(float(finite.max(initial=0)), least)
            near = np.isclose(a, b, rtol=TOLERANCE[dtype], atol=tolerance, equal_nan=True)
        if not near.all():
            place = tuple(map(int, np.argwhere(~near)[0])) if near.ndim else ()
            return f"{dtype} {a[place]} for {b[place]} at {list(place)}, {int((~near).sum())} of {near.size} differ"
    return None


def shares(results: Any, arguments: Any) -> list[bool]:
    """Which of the results, if it has elements, lies in memory of an argument: what is written to it is seen there."""
    memory = {t.untyped_storage().data_ptr() for t in leaves(arguments) if hasattr(t, "untyped_storage") and t.numel()}
    return [t.numel() > 0 and t.untyped_storage().data_ptr() in memory for t in leaves(results) if hasattr(t, "untyped_storage")]


def sample_difference(function: Callable[..., Any], theirs: Callable[..., Any], sample: Any, torch: Any) -> str | None:
    """How lucid's `function` differs from PyTorch's at a sample, or its gradient in a random direction does."""
    given = [sample.input, list(sample.args), sample.kwargs]
    mine = translated(given, torch)
    expected, refusal = outcome(theirs, given[0], *given[1], **given[2])
    result, error = outcome(function, mine[0], *mine[1], **mine[2])
    if refusal is not None or error is not None:
        return None if refusal is not None and error is not None else f"raised {error!r}, PyTorch {refusal!r}"
    found = difference(result, expected, torch)
    if found is None and shares(result, mine) != shares(expected, given):
        found = f"shares memory with an argument: {shares(result, mine)}, not {shares(expected, given)}"
    if found is not None:
        return found
    outputs = [t for t in leaves(expected) if isinstance(t, torch.Tensor) and t.requires_grad]
    own = [t for t in leaves(result) if isinstance(t, lucid.Tensor) and t.requires_grad]
    if len(outputs) != len(own):
        return f"{len(own)} results require a gradient, not {len(outputs)}"
    if not outputs:
        return None
    directions = [torch.randn_like(t) for t in outputs]
    inputs = [t for t in leaves(given) if isinstance(t, torch.Tensor) and t.requires_grad]
    variables = [t for t in leaves(mine) if isinstance(t, lucid.Tensor) and t.requires_grad]
    expected, refusal = outcome(torch.autograd.grad, outputs, inputs, directions, materialize_grads=True)
    result, error = outcome(lucid.autograd.grad, own, variables, translated(directions, torch), materialize_grads=True)
    if refusal is not None or error is not None:
        return None if refusal is not None and error is not None else f"gradient raised {error!r}, PyTorch's {refusal!r}"
    found = difference(result, expected, torch, least=1.0)
    return None if found is None else f"gradient {found}"


def operations(torch: Any, part: int, parts: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A part of PyTorch's database of operations, whose samples are made in a fifth of the time that they take there."""
    pytest.importorskip("expecttest", reason="torch.testing needs it")
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db

    monkeypatch.setattr(torch, "manual_seed", torch.default_generator.manual_seed)  # that of all kinds of devices
    monkeypatch.setattr(common_utils, "extract_test_fn", lambda: None)  # looks for a TestCase in the sources of the whole stack
    return op_db[part::parts]  # type: ignore[no-any-return]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_samples_of_pytorch(dtype: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    differences, compared = [], 0
    kind = getattr(torch, dtype)
    for info in operations(torch, part, PARTS, monkeypatch):
        name = f"{info.name} {info.variant_test_name}".strip()
        allowed = DIFFERENT.get(name) or DIFFERENT.get(info.name)
        function = counterpart(info.name)
        # A lambda around PyTorch's function takes its arguments in an order of its own.
        if function is None or not info.supports_dtype(kind, "cpu") or getattr(info.op, "__name__", "") == "<lambda>":
            continue
        differentiable = kind.is_floating_point and dtype == "float32" and info.supports_autograd
        for sample in info.sample_inputs("cpu", kind, requires_grad=differentiable):
            if sample.kwargs.get("dropout_p"):
                continue  # random
            try:
                found = sample_difference(function, info.op, sample, torch)
            except Untranslatable:
                continue
            compared += 1
            if found is not None and (allowed is None or allowed[0] not in found):
                differences.append(f"{name}: {found}; {sample.summary()[:300]}")
    assert compared > 100
    assert not differences, "\n".join(differences)
