"""Exported models compute in onnxruntime what lucid computes, with another batch than they were exported with."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid._pytree import tree_flatten

from . import cases

onnx: Any = pytest.importorskip("onnx")
runtime: Any = pytest.importorskip("onnxruntime")


def run(proto: Any, inputs: list[Any]) -> list[np.ndarray]:
    """What onnxruntime computes."""
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {given.name: x.numpy() for given, x in zip(session.get_inputs(), inputs, strict=True)})


def compare(model: nn.Module, proto: Any, inputs: Any) -> None:
    model.eval()
    with lucid.no_grad():
        expected = [leaf for leaf in tree_flatten(model(*[x.clone() for x in inputs]))[0] if leaf is not None]
    found = run(proto, list(inputs))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        reference = theirs.numpy()
        assert ours.shape == reference.shape and ours.dtype == reference.dtype
        assert np.allclose(ours, reference, atol=1e-4, rtol=1e-4, equal_nan=True)


def other_batch(inputs: Any) -> list[Any]:
    """The inputs with a batch of 5."""
    places = lucid.tensor([2, 0, 1, 1, 2])
    return [x[places].contiguous() for x in inputs]


def exported(model: nn.Module, inputs: Any, **options: Any) -> Any:
    """A graph with a dynamic batch."""
    return lucid.onnx.export(model, tuple(inputs), dynamic_shapes=[{0: "batch"}] * len(inputs), **options)


def check(make: Callable[[], nn.Module], inputs: Callable[[], Any]) -> None:
    model, given = make(), inputs()
    names = [f"input_{number}" for number in range(len(given))]
    proto = exported(model, given, input_names=names)
    compare(model, proto, other_batch(given))
    compare(model, proto, given)


@pytest.mark.parametrize("part", range(4))
def test_modules(part: int) -> None:
    for make, inputs in cases.EXPRESSED[part::4]:
        try:
            check(make, inputs)
        except Exception as error:
            raise AssertionError(f"{make()}: {error}") from error


def test_functions() -> None:
    for number, (function, inputs) in enumerate(cases.FUNCTIONS):
        try:
            check(lambda function=function: cases.Call(function), inputs)  # type: ignore[misc]
        except Exception as error:
            raise AssertionError(f"function {number}: {error}") from error


def test_what_is_refused() -> None:
    for make, inputs, words in cases.REFUSED:
        with pytest.raises(lucid.onnx.ExportError, match=words):
            exported(make(), inputs())
            pytest.fail(f"{make()} was exported")
