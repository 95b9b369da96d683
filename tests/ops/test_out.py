"""The keyword `out`, for every function that has it: what is written where, what is resized, what is refused."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.out_cases import CASES, CREATION, RANDOM

DTYPES = "float32 float64 float16 bfloat16 int64 int32 uint8 bool complex64".split()
NAMES = [f"{name}-{number}" for number, (name, _) in enumerate(CASES)]
WITHOUT_VALUES = {name for name, _ in RANDOM}  # what they write is random, or whatever was there
SILENT = {name for name, _ in CREATION} | WITHOUT_VALUES  # resize without a warning, but for arange
MAKERS = SILENT - {"bernoulli", "multinomial"}
# What lucid writes and PyTorch's kernels do not take, or, for uint8, truncate before they ask whether it is zero.
WIDER = {(name, dtype) for names, dtype in (("var std nansum nanmean", "complex64"), ("cumsum cumprod", "bool"), ("all any", "uint8"))
         for name in names.split()}


def _outputs(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _call(lib: Any, name: str, arguments: Any, outs: list[Any], many: bool) -> tuple[Any, list[str]]:
    """The result or the exception, and the texts of the warnings."""
    given, keywords = arguments(lib)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = getattr(lib, name)(*given, **keywords, out=tuple(outs) if many else outs[0])
        except Exception as error:
            result = error
    return result, [str(w.message) for w in caught if "resized" in str(w.message)]


def _has_out(name: str, arguments: Any) -> bool:
    plain = getattr(lucid, name)(*arguments(lucid)[0], **arguments(lucid)[1])
    outs = [lucid.empty_like(t) for t in _outputs(plain)]
    return not isinstance(_call(lucid, name, arguments, outs, isinstance(plain, tuple))[0], TypeError)


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=NAMES)
def test_result_is_written_into_out(name, arguments, device):
    with lucid.device(device):
        given, keywords = arguments(lucid)
        plain = getattr(lucid, name)(*given, **keywords)
        many, parts = isinstance(plain, tuple), _outputs(plain)
        if not _has_out(name, arguments):
            pytest.skip("PyTorch's function has no out either; test_outcomes_are_those_of_pytorch compares them")
        for outs in ([lucid.zeros_like(t) for t in parts], [t.new_zeros(0) for t in parts],
                     [lucid.zeros((*t.shape, 2), dtype=t.dtype).select(-1, 0) for t in parts]):
            result, texts = _call(lucid, name, arguments, outs, many)
            assert not texts and not isinstance(result, Exception), result
            for got, out, expected in zip(_outputs(result), outs, parts, strict=True):
                assert got is out and out.shape == expected.shape and out.dtype == expected.dtype
                if name not in WITHOUT_VALUES:
                    assert np.array_equal(out.cpu().numpy(), expected.cpu().numpy(), equal_nan=out.dtype.kind in "fc")


@pytest.mark.parametrize(("name", "arguments"), CASES, ids=NAMES)
def test_out_that_does_not_fit(name, arguments, device):
    """Another shape is resized (with a warning, but for the functions that make tensors), another device refused."""
    with lucid.device(device):
        if not _has_out(name, arguments):
            pytest.skip("PyTorch's function has no out either; test_outcomes_are_those_of_pytorch compares them")
        plain = getattr(lucid, name)(*arguments(lucid)[0], **arguments(lucid)[1])
        many, parts = isinstance(plain, tuple), _outputs(plain)
        outs = [t.new_zeros(7, 2) for t in parts]
        result, texts = _call(lucid, name, arguments, outs, many)
        assert [t.shape for t in _outputs(result)] == [t.shape for t in parts]
        assert bool(texts) == (name not in SILENT or name == "arange")
        if name not in MAKERS:
            elsewhere = [lucid.empty(tuple(t.shape), dtype=t.dtype, device="meta") for t in parts]
            assert isinstance(_call(lucid, name, arguments, elsewhere, many)[0], RuntimeError)
        if parts[0].dtype == lucid.float32:
            leaves = [t.new_zeros(t.shape) for t in parts]
            leaves[0].requires_grad = True
            if name != "histc":  # through which no gradient flows
                assert isinstance(_call(lucid, name, arguments, leaves, many)[0], RuntimeError)
                assert not bool(leaves[0].detach().any())
            with lucid.no_grad():
                assert _outputs(_call(lucid, name, arguments, leaves, many)[0])[0] is leaves[0]


def _agree(name: str, ours: Any, theirs: Any, dtype: str) -> None:
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{dtype}: PyTorch raises {theirs!r}, lucid {ours!r}"
        return
    assert not isinstance(ours, Exception), f"{dtype}: {ours!r}"
    if name in WITHOUT_VALUES:
        return
    for mine, other in zip(_outputs(ours), _outputs(theirs), strict=True):
        assert tuple(mine.shape) == tuple(other.shape)
        mine, other = mine.detach(), other.detach()
        expected = other.float() if dtype == "bfloat16" else other
        tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 2e-6)
        np.testing.assert_allclose(mine.to(lucid.float32).numpy() if dtype == "bfloat16" else mine.numpy(), expected.numpy(),
                                   rtol=tolerance, atol=tolerance, err_msg=dtype)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "arguments"), CASES, ids=NAMES)
def test_outcomes_are_those_of_pytorch(name, arguments):
    """For an `out` of every dtype, of a wrong shape and one that requires grad: the same result, or the same error."""
    torch = pytest.importorskip("torch")
    if name not in dir(torch):
        pytest.skip(f"PyTorch has no {name}")
    found = {}
    for lib in (lucid, torch):
        plain = getattr(lib, name)(*arguments(lib)[0], **arguments(lib)[1])
        many, parts = isinstance(plain, tuple), _outputs(plain)
        outs = {dtype: [lib.zeros(tuple(t.shape), dtype=getattr(lib, dtype) if i == 0 else t.dtype) for i, t in enumerate(parts)]
                for dtype in DTYPES}
        outs["another shape"] = [lib.zeros((7, 2), dtype=t.dtype) for t in parts]
        outs["requires grad"] = [lib.zeros(tuple(t.shape), dtype=t.dtype) for t in parts]
        if parts[0].dtype == lib.float32:
            outs["requires grad"][0].requires_grad = True
        found[lib] = {key: _call(lib, name, arguments, value, many) for key, value in outs.items()}
    if all(isinstance(result, TypeError) for result, _ in found[torch].values()):
        assert all(isinstance(result, TypeError) for result, _ in found[lucid].values())
        return
    for key, (theirs, texts) in found[torch].items():
        ours, own_texts = found[lucid][key]
        if (name, key) in WIDER:
            assert not isinstance(ours, Exception)
            continue
        _agree(name, ours, theirs, key)
        if name != "normal":
            assert bool(texts) == bool(own_texts), key


def test_functions_that_make_tensors_refuse_contradictions(device):
    out = lucid.zeros(2, device=device)
    with pytest.raises(RuntimeError, match="does not match dtype of out"):
        lucid.zeros(2, dtype=lucid.float64, out=out)
    with pytest.raises(RuntimeError, match="does not match device type of out"):
        lucid.ones(2, device="meta", out=out)
    with pytest.raises(RuntimeError, match="memory_format"):
        lucid.empty(2, memory_format=lucid.contiguous_format, out=out)
    with pytest.raises(TypeError):
        lucid.zeros(2, out=3)
    assert out.tolist() == [0, 0]
    assert lucid.ones(2, out=out, requires_grad=True) is out and out.requires_grad


def test_tuples_of_outputs(device):
    x = lucid.tensor([3.0, 1.0, 2.0], device=device)
    values, indices = x.new_zeros(3), lucid.zeros(3, dtype=lucid.int64, device=device)
    result = lucid.sort(x, out=[values, indices])
    assert result.values is values and result.indices is indices and values.tolist() == [1, 2, 3]
    with pytest.raises(TypeError):
        lucid.sort(x, out=values)
    with pytest.raises(RuntimeError):
        lucid.topk(x, 2, out=(values, values))
    assert values.tolist() == [1, 2, 3]  # nothing is written if one of them does not fit


def test_out_may_be_an_argument(device):
    x = lucid.tensor([3.0, 1.0, 2.0], device=device)
    assert lucid.cumsum(x, 0, out=x) is x and x.tolist() == [3, 4, 6]
    view = x[1:]
    lucid.cat([x[:1], x[:1]], out=view)
    assert x.tolist() == [3, 3, 3]


def test_out_refuses_arguments_that_require_grad():
    x = lucid.ones(2, requires_grad=True)
    for function in (lambda out: lucid.cat([x], out=out), lambda out: lucid.sum(x, 0, out=out), lambda out: lucid.take(
            x, lucid.tensor([0]), out=out), lambda out: lucid.max(x, 0, out=(out, out.long()))):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            function(lucid.zeros(2))
