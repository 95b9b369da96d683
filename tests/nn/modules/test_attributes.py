"""Attributes of layers that libraries read: PyTorch's names and values."""
from __future__ import annotations

import inspect
from typing import Any

import pytest

import lucid
from lucid import nn
from lucid.nn import functional as F


def test_constants() -> None:
    assert nn.Linear.__constants__ == ["in_features", "out_features"] == nn.LazyLinear.__constants__
    assert nn.Conv2d.__constants__ == nn.ConvTranspose1d.__constants__ == nn.modules.conv._ConvNd.__constants__
    assert nn.SyncBatchNorm.__constants__[0] == "track_running_stats"

    class Mine(nn.Linear):
        __constants__ = (*nn.Linear.__constants__, "more")

    assert Mine.__constants__[-1] == "more" and len(nn.Linear.__constants__) == 2


@pytest.mark.torch
def test_constants_are_pytorchs() -> None:
    theirs = pytest.importorskip("torch").nn
    for name, cls in vars(theirs).items():
        if inspect.isclass(cls) and hasattr(cls, "__constants__") and hasattr(nn, name):
            assert getattr(nn, name).__constants__ == list(cls.__constants__), name


@pytest.mark.torch
def test_attributes_of_instances_are_pytorchs() -> None:
    torch = pytest.importorskip("torch")

    def attributes(lib: Any) -> list[Any]:
        layers = lib.nn
        f, encoder = layers.functional, layers.TransformerEncoderLayer
        rnn = layers.LSTM(2, 3, 2, bidirectional=True, proj_size=1)
        return [layers.Conv2d(1, 1, (3, 4), padding=(1, 2))._reversed_padding_repeated_twice,
                layers.Conv2d(1, 1, (4, 3), padding="same")._reversed_padding_repeated_twice,
                layers.ConvTranspose2d(1, 1, 3, padding=1)._reversed_padding_repeated_twice,
                rnn._flat_weights_names, rnn._all_weights, [tuple(w.shape) for w in rnn._flat_weights],
                encoder(4, 2).activation_relu_or_gelu, encoder(4, 2, activation="gelu").activation_relu_or_gelu,
                encoder(4, 2, activation=f.silu).activation_relu_or_gelu,
                encoder(4, 2, activation=layers.ReLU()).activation_relu_or_gelu, layers.Module.dump_patches]

    assert attributes(lucid) == attributes(torch)


def test_base_classes_and_helpers() -> None:
    modules = nn.modules
    for base, cls in ((modules.batchnorm._BatchNorm, nn.BatchNorm2d), (modules.batchnorm._NormBase, nn.InstanceNorm1d),
                      (modules.conv._ConvNd, nn.Conv1d), (modules.conv._ConvTransposeNd, nn.ConvTranspose3d),
                      (modules.padding._ReflectionPadNd, nn.ReflectionPad2d), (modules.padding._CircularPadNd, nn.CircularPad1d),
                      (modules.padding._ReplicationPadNd, nn.ReplicationPad3d), (modules.padding._ConstantPadNd, nn.ZeroPad2d),
                      (modules.pooling._MaxPoolNd, nn.MaxPool2d), (modules.dropout._DropoutNd, nn.Dropout),
                      (nn.Linear, modules.linear.NonDynamicallyQuantizableLinear)):
        assert issubclass(cls, base)
    assert modules.activation.MultiheadAttention is nn.MultiheadAttention
    assert isinstance(nn.Linear(1, 1).load_state_dict(nn.Linear(1, 1).state_dict()), modules.module._IncompatibleKeys)
    x = nn.init._no_grad_trunc_normal_(lucid.empty(50), 0.0, 1.0, -0.5, 0.5)
    assert x.abs().max() <= 0.5
    x = lucid.randn(1, 2, 5)
    for layer, mode in ((nn.ReflectionPad1d(2), "reflect"), (nn.ReplicationPad1d(2), "replicate"), (nn.CircularPad1d(2), "circular")):
        assert lucid.equal(layer(x), F.pad(x, (2, 2), mode)) and repr(layer).endswith("((2, 2))")


def test_old_names_warn() -> None:
    with pytest.warns(FutureWarning, match="NLLLoss2d"):
        assert isinstance(nn.NLLLoss2d(), nn.NLLLoss)
    with pytest.warns(FutureWarning, match=r"nn\.Container"):
        assert list(nn.Container(a=nn.ReLU())._modules) == ["a"]


def test_factory_kwargs() -> None:
    assert nn.factory_kwargs(None) == {}
    assert nn.factory_kwargs({"dtype": lucid.float64, "factory_kwargs": {"device": "cpu"}}) == {"dtype": lucid.float64, "device": "cpu"}
    with pytest.raises(TypeError, match="unexpected kwargs"):
        nn.factory_kwargs({"size": 1})
    with pytest.raises(TypeError, match="dtype specified twice"):
        nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 1}})
