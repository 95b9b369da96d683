"""Exported models compute in onnxruntime what lucid computes, with another batch than they were exported with."""
from __future__ import annotations

import io
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid._pytree import tree_flatten
from tests.models import cases as models

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


Path = pathlib.Path


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


@pytest.mark.parametrize("name", ["lenet_5", "resnet", "mobilenet_v2", "vit", "unet", "gpt2", "bert_classifier"])
def test_models(name: str) -> None:
    model = models.fill(models.ours(name), lucid.from_numpy)
    kind = models.CASES[name][2]
    x = lucid.from_numpy(models.inputs(kind))
    axes = {0: "batch", 1: "length"} if kind == "tokens" else {0: "batch", 2: "height", 3: "width"} if name == "resnet" else {0: "batch"}
    proto = lucid.onnx.export(model, (x,), dynamic_shapes=[axes])
    compare(model, proto, [x[:1]])
    if kind == "tokens":
        compare(model, proto, [x[:, :4]])
    elif name == "resnet":
        compare(model, proto, [lucid.cat([x, x], 2)[:, :, :, :-3]])


def test_a_mask_and_keywords() -> None:
    model, x = models.ours("gpt2"), lucid.from_numpy(models.inputs("tokens"))
    mask = lucid.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    lengths = {0: "batch", 1: "length"}
    proto = lucid.onnx.export(model, (x,), kwargs={"attention_mask": mask},
                              dynamic_shapes={"input_ids": lengths, "attention_mask": lengths})
    assert [given.name for given in proto.graph.input] == ["input_ids", "attention_mask"]
    compare(model, proto, [x[:1, :5], mask[:1, :5]])


def lengths_of(value: Any) -> list[Any]:
    return [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]


def test_names_files_and_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(6, 64), nn.Dropout(), nn.Linear(64, 2)).train()
    model[2].eval()
    x = lucid.randn(2, 6)
    file = tmp_path / "model.onnx"
    proto = lucid.onnx.export(model, x, file, input_names=["0.weight"], output_names=["scores"],
                              dynamic_axes={"0.weight": {0: "batch"}, "scores": {0: "rows"}})
    assert model.training and model[1].training and not model[2].training
    assert file.read_bytes() == proto.SerializeToString()
    assert lengths_of(proto.graph.input[0]) == ["batch", 6] and lengths_of(proto.graph.output[0]) == ["rows", 2]
    assert {"0.weight_", "0.bias", "2.weight"} <= {tensor.name for tensor in proto.graph.initializer}
    compare(model, proto, [lucid.randn(7, 6)])
    stream = io.BytesIO()
    lucid.onnx.export(model, (x,), stream, dynamic_axes={"input": [0]})
    assert onnx.load_from_string(stream.getvalue()).graph.input[0].name == "input"
    fixed = lucid.onnx.export(model, (x,), opset_version=22)
    assert lengths_of(fixed.graph.output[0]) == [2, 2] and fixed.opset_import[0].version == 22
    compare(model, fixed, [x])
    from lucid.onnx import export as module  # the function
    monkeypatch.setitem(module.__globals__, "_LARGEST", 10)
    lucid.onnx.export(model, (x,), file)
    lucid.onnx.export(model, (x,), file)
    assert 1000 < (tmp_path / "model.onnx.data").stat().st_size < 10_000
    assert np.allclose(runtime.InferenceSession(file).run(None, {"input": x.numpy()})[0], model.eval()(x).detach().numpy(), atol=1e-5)


def test_wrong_arguments() -> None:
    model, x = nn.Bilinear(6, 6, 3), lucid.randn(3, 6)
    for options, message in (({"opset_version": 17}, "at least 18"), ({"input_names": ["a", "b", "c"]}, "3 names for 2"),
                             ({"input_names": ["a", "a"]}, "one name"), ({"output_names": ["a", "b"]}, "2 names for 1"),
                             ({"dynamic_axes": {"input1": {2: "n"}}}, "no axis 2"), ({"dynamic_axes": {"x": {0: "n"}}}, "'x'"),
                             ({"dynamic_axes": {}, "dynamic_shapes": {}}, "one of them")):
        with pytest.raises(ValueError, match=message):
            lucid.onnx.export(model, (x, x), **options)
    with pytest.raises(lucid.onnx.ExportError, match="one name"):
        lucid.onnx.export(model, (x, x), dynamic_axes={"input1": {0: "a"}, "input2": {0: "b"}})
    with pytest.raises(ValueError, match="the length 'n' is 3 of one input and 6 of another"):
        lucid.onnx.export(model, (x, x), dynamic_axes={"input1": {0: "n", 1: "n"}})
    with pytest.raises(TypeError, match="expected a Module, not function"):
        lucid.onnx.export(lambda x: x, (x,))  # type: ignore[arg-type]
    with pytest.raises(lucid.onnx.ExportError, match=r"test_export\.py:\d+: .*other lengths|test_export\.py:\d+"):
        exported(cases.Call(lambda x: x if x.shape[0] > 4 else x * 2), [x])


def test_options_that_no_writer_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    from lucid.onnx.graph import EMITTERS

    monkeypatch.setitem(EMITTERS, "softmax", lambda g, event: [g.node("Softmax", g.name(event.operands[0]), axis=1)])
    monkeypatch.setitem(EMITTERS, "linear", lambda g, event: [g.node("MatMul", g.name(event.operands[0]), g.name(event.operands[1]))])
    with pytest.raises(lucid.onnx.ExportError, match="'softmax' with dim"):
        exported(nn.Softmax(1), [lucid.randn(3, 6)])
    with pytest.raises(lucid.onnx.ExportError, match="'linear' with operand 2"):
        exported(nn.Linear(6, 6), [lucid.randn(3, 6)])


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        lucid.onnx.export(nn.Identity(), lucid.randn(2))


def test_recurrent_layers_of_any_length() -> None:
    for model in (nn.LSTM(8, 5, bidirectional=True, batch_first=True), nn.GRU(8, 5, 2, batch_first=True)):
        x = lucid.randn(3, 6, 8)
        proto = lucid.onnx.export(model, (x,), dynamic_shapes=[{0: "batch", 1: "length"}])
        compare(model, proto, [lucid.randn(1, 11, 8)])
    with pytest.raises(lucid.onnx.ExportError, match="other elements or lengths"):
        lucid.onnx.export(nn.LSTM(8, 5, proj_size=3, batch_first=True), (x,), dynamic_shapes=[{1: "length"}])


def test_images_of_any_size() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Upsample(scale_factor=2), nn.ConvTranspose2d(8, 4, 2, 2),
                          nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    proto = lucid.onnx.export(model, (lucid.randn(1, 3, 12, 10),), dynamic_shapes=[{0: "batch", 2: "height", 3: "width"}])
    compare(model, proto, [lucid.randn(2, 3, 17, 31)])
    flat = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Flatten(2), nn.Softmax(-1))
    proto = lucid.onnx.export(flat, (lucid.randn(1, 3, 12, 10),), dynamic_shapes=[{0: "batch", 2: "height", 3: "width"}])
    compare(flat, proto, [lucid.randn(2, 3, 17, 30)])
    halved = cases.Call(lambda x: x[:, :x.shape[1] // 2])
    with pytest.raises(lucid.onnx.ExportError, match="no sum or product of lengths"):
        lucid.onnx.export(halved, (lucid.randn(2, 8),), dynamic_shapes=[{1: "n"}])
