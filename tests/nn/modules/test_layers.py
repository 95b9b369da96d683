"""The layers against PyTorch: outputs, gradients, buffers, state_dict keys and repr, given the same parameters."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn

Make = Callable[[Any], Any]
IMAGE, MATRIX, SEQUENCE, VOLUME, SEQUENCE_OF_WINDOWS = (2, 4, 7, 6), (5, 6), (3, 6, 4), (2, 2, 3, 4, 5), (2, 4, 6)

# name, constructor (of either library), shape of the input
LAYERS: list[tuple[str, Make, tuple[int, ...]]] = [
    ("Linear", lambda n: n.Linear(6, 3), MATRIX),
    ("Linear-3d", lambda n: n.Linear(4, 2, bias=False), SEQUENCE),
    ("Identity", lambda n: n.Identity(3, x=1), MATRIX),
    ("Conv2d", lambda n: n.Conv2d(4, 6, 3), IMAGE),
    ("Conv2d-options", lambda n: n.Conv2d(4, 6, (3, 2), stride=2, padding=(1, 2), dilation=(2, 1), groups=2, bias=False), IMAGE),
    ("Conv2d-same", lambda n: n.Conv2d(4, 4, (4, 3), padding="same"), IMAGE),
    ("Conv2d-valid", lambda n: n.Conv2d(4, 4, 3, padding="valid"), IMAGE),
    ("Conv2d-reflect", lambda n: n.Conv2d(4, 2, 3, padding=(2, 1), padding_mode="reflect"), IMAGE),
    ("Conv2d-circular", lambda n: n.Conv2d(4, 2, 3, padding="same", padding_mode="circular"), IMAGE),
    ("Conv2d-replicate", lambda n: n.Conv2d(4, 2, 3, padding=1, padding_mode="replicate"), IMAGE),
    ("Conv1d", lambda n: n.Conv1d(6, 4, 3), SEQUENCE),
    ("Conv1d-options", lambda n: n.Conv1d(6, 4, 2, stride=2, padding=2, dilation=2, groups=2, bias=False), SEQUENCE),
    ("Conv1d-same", lambda n: n.Conv1d(6, 4, (2,), padding="same"), SEQUENCE),
    ("Conv1d-circular", lambda n: n.Conv1d(6, 4, 3, padding=2, padding_mode="circular"), SEQUENCE),
    ("Conv3d", lambda n: n.Conv3d(2, 4, 2), VOLUME),
    ("Conv3d-options", lambda n: n.Conv3d(2, 4, (2, 3, 1), stride=(1, 2, 2), padding=(0, 2, 1), groups=2, dilation=1), VOLUME),
    ("Conv3d-reflect", lambda n: n.Conv3d(2, 4, 3, padding=(1, 2, 1), padding_mode="reflect"), VOLUME),
    ("Conv3d-replicate", lambda n: n.Conv3d(2, 4, 2, padding="same", padding_mode="replicate"), VOLUME),
    ("ConvTranspose1d", lambda n: n.ConvTranspose1d(6, 4, 3, stride=2, output_padding=1), SEQUENCE),
    ("ConvTranspose2d", lambda n: n.ConvTranspose2d(4, 6, 3), IMAGE),
    ("ConvTranspose2d-options", lambda n: n.ConvTranspose2d(4, 6, (3, 2), (2, 3), (1, 0), (1, 2), 2, False, 2), IMAGE),
    ("ConvTranspose3d", lambda n: n.ConvTranspose3d(2, 4, 2, stride=2, groups=2), VOLUME),
    ("Unfold", lambda n: n.Unfold((2, 3), dilation=2, padding=1), IMAGE),
    ("Fold", lambda n: n.Fold((3, 3), (1, 2), stride=(1, 1)), SEQUENCE_OF_WINDOWS),
    ("BatchNorm1d", lambda n: n.BatchNorm1d(6), MATRIX),
    ("BatchNorm1d-3d", lambda n: n.BatchNorm1d(6, momentum=None), SEQUENCE),
    ("BatchNorm2d", lambda n: n.BatchNorm2d(4, eps=1e-3, momentum=0.3), IMAGE),
    ("BatchNorm2d-plain", lambda n: n.BatchNorm2d(4, affine=False, track_running_stats=False), IMAGE),
    ("BatchNorm2d-no-bias", lambda n: n.BatchNorm2d(4, bias=False), IMAGE),
    ("BatchNorm3d", lambda n: n.BatchNorm3d(2), VOLUME),
    ("InstanceNorm1d", lambda n: n.InstanceNorm1d(6), SEQUENCE),
    ("InstanceNorm1d-one-sample", lambda n: n.InstanceNorm1d(5, affine=True), MATRIX),
    ("InstanceNorm2d", lambda n: n.InstanceNorm2d(4, affine=True, track_running_stats=True, momentum=0.3), IMAGE),
    ("InstanceNorm3d", lambda n: n.InstanceNorm3d(2, affine=True, bias=False), VOLUME),
    ("GroupNorm", lambda n: n.GroupNorm(2, 4), IMAGE),
    ("GroupNorm-options", lambda n: n.GroupNorm(3, 6, eps=1e-3, bias=False), SEQUENCE),
    ("GroupNorm-plain", lambda n: n.GroupNorm(2, 6, affine=False), MATRIX),
    ("RMSNorm", lambda n: n.RMSNorm(6), MATRIX),
    ("RMSNorm-2d", lambda n: n.RMSNorm([6, 4], eps=1e-3), SEQUENCE),
    ("RMSNorm-plain", lambda n: n.RMSNorm(4, elementwise_affine=False), SEQUENCE),
    ("LayerNorm", lambda n: n.LayerNorm(6), MATRIX),
    ("LayerNorm-2d", lambda n: n.LayerNorm([6, 4], eps=1e-3, bias=False), SEQUENCE),
    ("LayerNorm-plain", lambda n: n.LayerNorm(4, elementwise_affine=False), SEQUENCE),
    ("ReLU", lambda n: n.ReLU(), MATRIX),
    ("GELU", lambda n: n.GELU(), MATRIX),
    ("GELU-tanh", lambda n: n.GELU(approximate="tanh"), MATRIX),
    ("Sigmoid", lambda n: n.Sigmoid(), MATRIX),
    ("Tanh", lambda n: n.Tanh(), MATRIX),
    ("SiLU", lambda n: n.SiLU(), MATRIX),
    ("Softmax", lambda n: n.Softmax(dim=1), MATRIX),
    ("LogSoftmax", lambda n: n.LogSoftmax(dim=-1), SEQUENCE),
    ("LeakyReLU", lambda n: n.LeakyReLU(0.2), MATRIX),
    ("ELU", lambda n: n.ELU(1.5), MATRIX),
    ("Softplus", lambda n: n.Softplus(beta=2.0), MATRIX),
    ("ReLU6", lambda n: n.ReLU6(), MATRIX),
    ("Hardtanh", lambda n: n.Hardtanh(-0.5, 0.7), MATRIX),
    ("MaxPool2d", lambda n: n.MaxPool2d(2), IMAGE),
    ("MaxPool2d-options", lambda n: n.MaxPool2d((3, 2), stride=(2, 1), padding=1, ceil_mode=True), IMAGE),
    ("AvgPool2d", lambda n: n.AvgPool2d(3, stride=2, padding=1, count_include_pad=False), IMAGE),
    ("AdaptiveAvgPool2d", lambda n: n.AdaptiveAvgPool2d((3, None)), IMAGE),
    ("Dropout-p0", lambda n: n.Dropout(0.0), MATRIX),
    ("Dropout2d-p0", lambda n: n.Dropout2d(p=0.0), IMAGE),
    ("MaxPool1d", lambda n: n.MaxPool1d(2, padding=1), SEQUENCE),
    ("MaxPool3d", lambda n: n.MaxPool3d((1, 2, 2), ceil_mode=True), VOLUME),
    ("AvgPool1d", lambda n: n.AvgPool1d(2, stride=1, count_include_pad=False), SEQUENCE),
    ("AvgPool3d", lambda n: n.AvgPool3d(2, stride=1, padding=1, divisor_override=3), VOLUME),
    ("LPPool1d", lambda n: n.LPPool1d(2, 2), SEQUENCE),
    ("LPPool2d", lambda n: n.LPPool2d(2, (2, 1), stride=(2, 2)), IMAGE),
    ("LPPool3d", lambda n: n.LPPool3d(2, 2, ceil_mode=True), VOLUME),
    ("AdaptiveAvgPool1d", lambda n: n.AdaptiveAvgPool1d(3), SEQUENCE),
    ("AdaptiveAvgPool3d", lambda n: n.AdaptiveAvgPool3d((2, None, 3)), VOLUME),
    ("AdaptiveMaxPool1d", lambda n: n.AdaptiveMaxPool1d(3), SEQUENCE),
    ("AdaptiveMaxPool2d", lambda n: n.AdaptiveMaxPool2d((3, None)), IMAGE),
    ("AdaptiveMaxPool3d", lambda n: n.AdaptiveMaxPool3d(2), VOLUME),
    ("Upsample", lambda n: n.Upsample(scale_factor=2), IMAGE),
    ("Upsample-bilinear", lambda n: n.Upsample((5, 9), mode="bilinear"), IMAGE),
    ("UpsamplingNearest2d", lambda n: n.UpsamplingNearest2d(scale_factor=3), IMAGE),
    ("UpsamplingBilinear2d", lambda n: n.UpsamplingBilinear2d(size=(9, 4)), IMAGE),
    ("PixelShuffle", lambda n: n.PixelShuffle(2), IMAGE),
    ("PixelUnshuffle", lambda n: n.PixelUnshuffle(2), (2, 1, 4, 6)),
    ("ChannelShuffle", lambda n: n.ChannelShuffle(2), IMAGE),
    ("ZeroPad1d", lambda n: n.ZeroPad1d(2), SEQUENCE),
    ("ZeroPad2d", lambda n: n.ZeroPad2d((1, 0, 2, -1)), IMAGE),
    ("ZeroPad3d", lambda n: n.ZeroPad3d(1), VOLUME),
    ("ConstantPad1d", lambda n: n.ConstantPad1d((1, 2), 3.5), SEQUENCE),
    ("ConstantPad2d", lambda n: n.ConstantPad2d(1, 3), IMAGE),
    ("ConstantPad3d", lambda n: n.ConstantPad3d((1, 0, 1, 0, 2, 2), -1.0), VOLUME),
    ("ReflectionPad1d", lambda n: n.ReflectionPad1d((1, 2)), SEQUENCE),
    ("ReflectionPad2d", lambda n: n.ReflectionPad2d(2), IMAGE),
    ("ReflectionPad3d", lambda n: n.ReflectionPad3d((1, 2, 3, 0, 1, 1)), VOLUME),
    ("ReplicationPad1d", lambda n: n.ReplicationPad1d(3), SEQUENCE),
    ("ReplicationPad2d", lambda n: n.ReplicationPad2d((1, 2, 3, 4)), IMAGE),
    ("ReplicationPad3d", lambda n: n.ReplicationPad3d(1), VOLUME),
    ("CircularPad1d", lambda n: n.CircularPad1d((1, 2)), SEQUENCE),
    ("CircularPad2d", lambda n: n.CircularPad2d(2), IMAGE),
    ("CircularPad3d", lambda n: n.CircularPad3d(1), VOLUME),
    ("Dropout1d-p0", lambda n: n.Dropout1d(0.0), SEQUENCE),
    ("Dropout3d-p0", lambda n: n.Dropout3d(0.0), VOLUME),
    ("AlphaDropout-p0", lambda n: n.AlphaDropout(0.0), MATRIX),
    ("FeatureAlphaDropout-p0", lambda n: n.FeatureAlphaDropout(0.0), IMAGE),
    ("Hardswish", lambda n: n.Hardswish(), MATRIX),
    ("Hardsigmoid", lambda n: n.Hardsigmoid(), MATRIX),
    ("Mish", lambda n: n.Mish(), MATRIX),
    ("CELU", lambda n: n.CELU(0.7), MATRIX),
    ("SELU", lambda n: n.SELU(), MATRIX),
    ("Softsign", lambda n: n.Softsign(), MATRIX),
    ("Tanhshrink", lambda n: n.Tanhshrink(), MATRIX),
    ("Softshrink", lambda n: n.Softshrink(), MATRIX),
    ("Hardshrink", lambda n: n.Hardshrink(0.2), MATRIX),
    ("LogSigmoid", lambda n: n.LogSigmoid(), MATRIX),
    ("Threshold", lambda n: n.Threshold(0.1, 20), MATRIX),
    ("GLU", lambda n: n.GLU(), MATRIX),
    ("PReLU", lambda n: n.PReLU(), MATRIX),
    ("PReLU-channels", lambda n: n.PReLU(4, init=0.5), IMAGE),
    ("Softmax2d", lambda n: n.Softmax2d(), IMAGE),
    ("Softmin", lambda n: n.Softmin(dim=1), MATRIX),
    ("Flatten", lambda n: n.Flatten(), IMAGE),
    ("Unflatten", lambda n: n.Unflatten(1, (2, 3)), MATRIX),
    ("Sequential", lambda n: n.Sequential(n.Conv2d(4, 3, 3, padding=1), n.BatchNorm2d(3), n.ReLU(), n.MaxPool2d(2), n.Flatten(),
                                          n.Linear(27, 2)), IMAGE),
]
LOSSES: list[tuple[str, Make, str]] = [
    ("CrossEntropyLoss", lambda n: n.CrossEntropyLoss(), "classes"),
    ("CrossEntropyLoss-smooth", lambda n: n.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2, reduction="sum"), "classes"),
    ("NLLLoss", lambda n: n.NLLLoss(reduction="none"), "log-classes"),
    ("MSELoss", lambda n: n.MSELoss(), "numbers"),
    ("L1Loss", lambda n: n.L1Loss(reduction="sum"), "numbers"),
    ("SmoothL1Loss", lambda n: n.SmoothL1Loss(beta=0.5), "numbers"),
    ("KLDivLoss", lambda n: n.KLDivLoss(reduction="batchmean"), "log-probabilities"),
    ("BCELoss", lambda n: n.BCELoss(), "probabilities"),
    ("BCEWithLogitsLoss", lambda n: n.BCEWithLogitsLoss(), "probability-targets"),
]


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.detach().cpu().numpy(), theirs.detach().numpy(), rtol=2e-4, atol=2e-5)


def copy_state(ours: Any, theirs: Any, torch: Any) -> None:
    """Give both modules the same random parameters."""
    rng = np.random.default_rng(0)
    state = {name: np.array(rng.normal(0.5, 0.5, tuple(value.shape)), "float32")
             for name, value in theirs.named_parameters()}
    theirs.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()}, strict=False)
    ours.load_state_dict({name: lucid.from_numpy(value) for name, value in state.items()}, strict=False)


@pytest.mark.torch
@pytest.mark.parametrize(("make", "shape"), [(make, shape) for _, make, shape in LAYERS], ids=[name for name, *_ in LAYERS])
def test_layer_is_that_of_torch(make: Make, shape: tuple[int, ...], device: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = make(nn), make(torch.nn)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()}
    copy_state(ours, theirs, torch)
    ours.to(device)
    rng = np.random.default_rng(1)
    for training in (True, True, False):
        ours.train(training)
        theirs.train(training)
        data = rng.normal(size=shape).astype("float32")
        x = lucid.tensor(data, device=device, requires_grad=True)
        t = torch.tensor(data, requires_grad=True)
        y, u = ours(x), theirs(t)
        close(y, u)
        upstream = rng.normal(size=tuple(u.shape)).astype("float32")
        y.backward(lucid.tensor(upstream, device=device))
        u.backward(torch.from_numpy(upstream))
        close(x.grad, t.grad)
    for (name, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert p.grad is not None, name
        close(p.grad, q.grad)
    for value, other in zip(ours.state_dict().values(), theirs.state_dict().values(), strict=True):
        close(value, other)
        assert str(other.dtype) == f"torch.{value.dtype.name}"


@pytest.mark.torch
@pytest.mark.parametrize(("make", "kind"), [(make, kind) for _, make, kind in LOSSES], ids=[name for name, *_ in LOSSES])
def test_loss_is_that_of_torch(make: Make, kind: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = make(nn), make(torch.nn)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    rng = np.random.default_rng(2)
    data = rng.normal(size=(6, 4)).astype("float32")
    target: Any = rng.normal(size=(6, 4)).astype("float32")
    if "classes" in kind:
        target = rng.integers(0, 4, 6)
    if "probab" in kind:
        target = rng.uniform(0.1, 0.9, (6, 4)).astype("float32")
    if kind == "probabilities":
        data = rng.uniform(0.1, 0.9, (6, 4)).astype("float32")
    x = lucid.tensor(data, device=device, requires_grad=True)
    t = torch.tensor(data, requires_grad=True)
    a, b = (x.log_softmax(1), t.log_softmax(1)) if kind.startswith("log") else (x, t)
    loss, expected = ours(a, lucid.tensor(target, device=device)), theirs(b, torch.from_numpy(target))
    close(loss, expected)
    loss.sum().backward()
    expected.sum().backward()
    close(x.grad, t.grad)


SIGN = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0], "float32")


@pytest.mark.torch
@pytest.mark.parametrize("make", [
    lambda n: n.HuberLoss(delta=0.5), lambda n: n.PoissonNLLLoss(full=True), lambda n: n.HingeEmbeddingLoss(0.4),
    lambda n: n.SoftMarginLoss(reduction="sum"), lambda n: n.MultiLabelSoftMarginLoss(), lambda n: n.CosineSimilarity(),
    lambda n: n.PairwiseDistance(p=1, keepdim=True), lambda n: n.GaussianNLLLoss(), lambda n: n.MarginRankingLoss(0.1),
    lambda n: n.CosineEmbeddingLoss(0.1), lambda n: n.TripletMarginLoss(swap=True), lambda n: n.MultiMarginLoss(p=2),
    lambda n: n.TripletMarginWithDistanceLoss(margin=2.0), lambda n: n.MultiLabelMarginLoss(), lambda n: n.Bilinear(4, 4, 3)])
def test_layers_of_several_inputs(make: Make, device: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = make(nn), make(torch.nn)
    if "Distance" not in type(ours).__name__ or "Loss" not in type(ours).__name__:
        assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    copy_state(ours, theirs, torch)
    ours.to(device)
    rng = np.random.default_rng(0)
    a, b, c = (rng.uniform(0.2, 2.0, (6, 4)).astype("float32") for _ in range(3))
    others: dict[str, list[Any]] = {
        "GaussianNLLLoss": [b, c], "MarginRankingLoss": [b, np.sign(c - 1)], "CosineEmbeddingLoss": [b, SIGN],
        "TripletMarginLoss": [b, c], "TripletMarginWithDistanceLoss": [b, c], "MultiMarginLoss": [np.array([0, 3, 1, 2, 2, 1])],
        "MultiLabelMarginLoss": [np.array([[1, -1, 0, 0], [0, 2, 3, -1]] * 3)], "HingeEmbeddingLoss": [np.sign(c - 1)],
        "SoftMarginLoss": [np.sign(c - 1)], "MultiLabelSoftMarginLoss": [(c > 1).astype("float32")]}
    rest = others.get(type(ours).__name__, [b])
    x, t = lucid.tensor(a, device=device, requires_grad=True), torch.tensor(a, requires_grad=True)
    y, u = ours(x, *[lucid.tensor(r, device=device) for r in rest]), theirs(t, *[torch.tensor(r) for r in rest])
    close(y, u)
    y.sum().backward()
    u.sum().backward()
    close(x.grad, t.grad)


def test_alpha_dropout_keeps_mean_and_variance(device: str) -> None:
    x = lucid.randn(200, 100, device=device)
    y = nn.AlphaDropout(0.3)(x)
    assert abs(y.mean().item()) < 0.05 and abs(y.std().item() - 1) < 0.05
    _, counts = np.unique(y.cpu().numpy(), return_counts=True)
    assert counts.max() / y.numel() == pytest.approx(0.3, abs=0.03)
    channels = nn.FeatureAlphaDropout(0.5)(lucid.ones(8, 16, 3, 3, device=device)).cpu().numpy()
    assert len(np.unique(channels)) == 2 and (channels.std(axis=(2, 3)) < 1e-6).all()
    assert (nn.AlphaDropout(1.0)(x) == 0).all() and nn.AlphaDropout(0.3).eval()(x) is x
    leaf = lucid.ones(1000, requires_grad=True)
    z = lucid.nn.functional.alpha_dropout(leaf, 0.5, training=True)
    z.sum().backward()
    assert len(set(leaf.grad.tolist())) == 2


def test_rrelu_layer() -> None:
    torch = pytest.importorskip("torch")
    assert repr(nn.RReLU(inplace=True)) == repr(torch.nn.RReLU(inplace=True))
    x = -lucid.ones(100)
    assert nn.RReLU().eval()(x).unbind()[0].item() == pytest.approx(-(1 / 8 + 1 / 3) / 2)
    assert -1 / 3 <= nn.RReLU()(x).min().item() < nn.RReLU()(x).max().item() <= -1 / 8


def test_pairs_with_indices(device: str) -> None:
    x = lucid.arange(8.0, device=device).reshape(1, 1, 8)
    for layer in (nn.MaxPool1d(2, return_indices=True), nn.AdaptiveMaxPool1d(4, return_indices=True)):
        values, indices = layer(x)
        assert values.tolist() == [[[1.0, 3.0, 5.0, 7.0]]] and indices.tolist() == [[[1, 3, 5, 7]]]


def test_class_weights_are_a_buffer(device: str) -> None:
    torch = pytest.importorskip("torch")
    weights = [1.0, 2.0, 0.5]
    ours = nn.CrossEntropyLoss(lucid.tensor(weights)).to(device)
    theirs = torch.nn.CrossEntropyLoss(torch.tensor(weights))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["weight"]
    data, target = np.arange(12, dtype="float32").reshape(4, 3) % 5, np.array([0, 1, 2, 1])
    close(ours(lucid.tensor(data, device=device), lucid.tensor(target, device=device)),
          theirs(torch.from_numpy(data), torch.from_numpy(target)))
    positive = nn.BCEWithLogitsLoss(pos_weight=lucid.ones(3))
    assert list(positive.state_dict()) == list(torch.nn.BCEWithLogitsLoss(pos_weight=torch.ones(3)).state_dict())


def test_old_loss_arguments() -> None:
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(UserWarning, match="reduction='none'"):
        assert nn.MSELoss(reduce=False).reduction == "none"


def test_embedding(device: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = nn.Embedding(5, 3, padding_idx=-1).to(device), torch.nn.Embedding(5, 3, padding_idx=-1)
    assert repr(ours) == repr(theirs) == "Embedding(5, 3, padding_idx=4)"
    assert ours.weight[4].tolist() == [0.0, 0.0, 0.0]
    copy_state(ours, theirs, torch)
    index = np.array([[0, 4, 1], [1, 1, 2]])
    y, u = ours(lucid.tensor(index, device=device)), theirs(torch.from_numpy(index))
    close(y, u)
    (y * y).sum().backward()
    (u * u).sum().backward()
    close(ours.weight.grad, theirs.weight.grad)
    table = lucid.ones(2, 3)
    frozen = nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad
    table.fill_(2.0)
    assert frozen.weight.tolist() == [[2.0] * 3] * 2
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
    for call in (lambda: nn.Embedding(3, 2, padding_idx=3), lambda: nn.Embedding.from_pretrained(lucid.ones(3)),
                 lambda: nn.Embedding(3, 2, _weight=lucid.ones(2, 2))):
        with pytest.raises(AssertionError):
            call()


def test_dropout_in_training_and_evaluation(device: str) -> None:
    x = lucid.ones(100, 100, device=device)
    layer = nn.Dropout(0.25)
    kept = layer(x).cpu().numpy()
    np.testing.assert_allclose(np.unique(kept), [0.0, 4 / 3], rtol=1e-6)
    assert (kept == 0).mean() == pytest.approx(0.25, abs=0.03)
    assert (layer.eval()(x) == x).all()
    channels = nn.Dropout2d(0.5)(lucid.ones(8, 16, 3, 3, device=device)).cpu().numpy()
    assert set(np.unique(channels.sum(axis=(2, 3)))) == {0.0, 18.0}
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            nn.Dropout(p)


def test_in_place_activations() -> None:
    x = lucid.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x
    assert x.tolist() == [0.0, 2.0]
    assert repr(nn.ReLU(inplace=True)) == "ReLU(inplace=True)"
    assert repr(nn.LeakyReLU(inplace=True)) == "LeakyReLU(negative_slope=0.01, inplace=True)"


def test_wrong_arguments() -> None:
    for call in (lambda: nn.Conv2d(3, 4, 3, groups=2), lambda: nn.Conv2d(4, 3, 3, groups=2),
                 lambda: nn.Conv2d(4, 4, 3, groups=0), lambda: nn.Conv2d(1, 1, 3, padding="full"),
                 lambda: nn.Conv2d(1, 1, 3, padding="same", stride=2), lambda: nn.Conv2d(1, 1, 3, padding_mode="wrap"),
                 lambda: nn.BatchNorm1d(3)(lucid.ones(3)), lambda: nn.BatchNorm2d(3)(lucid.ones(2, 3))):
        with pytest.raises(ValueError, match="must be|divisible|padding|expected"):
            call()
    for wrong in (3, (1.5, 2)):
        with pytest.raises(TypeError):
            nn.Unflatten(1, wrong)  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        nn.Hardtanh(1.0, 0.0)


@pytest.mark.parametrize("make", [lambda **o: nn.Linear(2, 2, **o), lambda **o: nn.Conv2d(1, 1, 2, **o),
                                  lambda **o: nn.BatchNorm2d(2, **o), lambda **o: nn.LayerNorm(2, **o),
                                  lambda **o: nn.GroupNorm(1, 2, **o), lambda **o: nn.RMSNorm(2, **o),
                                  lambda **o: nn.InstanceNorm2d(2, affine=True, track_running_stats=True, **o),
                                  lambda **o: nn.Embedding(2, 2, **o)])
def test_device_and_dtype_arguments(make: Make, device: str) -> None:
    module = make(device=device, dtype=lucid.float64)
    for value in module.state_dict().values():
        assert value.device == device
        assert value.dtype in (lucid.float64, lucid.int64)


def test_instance_norm_of_wrong_inputs(device: str) -> None:
    norm = nn.InstanceNorm2d(3, device=device)
    with pytest.raises(ValueError, match=r"expected 3D or 4D input \(got 2D input\)"):
        norm(lucid.ones(3, 3, device=device))
    with pytest.warns(UserWarning, match="size at dim=1 does not match num_features"):
        assert norm(lucid.ones(2, 4, 3, 3, device=device)).shape == (2, 4, 3, 3)
    with pytest.raises(ValueError, match=r"size at dim=0 to match num_features \(3\), but got: 4"):
        nn.InstanceNorm2d(3, affine=True, device=device)(lucid.ones(4, 3, 3, device=device))
    with pytest.raises(ValueError, match="must be divisible by num_groups"):
        nn.GroupNorm(3, 4)


def test_instance_norm_and_running_statistics_of_old_state_dicts() -> None:
    norm = nn.InstanceNorm1d(2, affine=True)
    state = dict(nn.InstanceNorm1d(2, affine=True, track_running_stats=True).state_dict())
    with pytest.raises(RuntimeError, match='"running_mean" and "running_var" for InstanceNorm1d with track_running_stats=False'):
        norm.load_state_dict(state)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_relu_module_is_batch_norm_and_relu(training: bool, device: str) -> None:
    fused, norm = nn.BatchNormReLU2d(3, momentum=None), nn.BatchNorm2d(3, momentum=None)
    assert fused.state_dict().keys() == norm.state_dict().keys()
    fused.to(device).train(training)
    norm.to(device).train(training)
    x, residual = (lucid.randn(4, 3, 5, 5, device=device) for _ in range(2))
    for _ in range(2):
        close(fused(x, residual), (norm(x) + residual).relu().cpu())
        close(fused(x), norm(x).relu().cpu())
    for name, value in fused.state_dict().items():
        close(value, norm.state_dict()[name].cpu())
    with pytest.raises(ValueError, match="expected 4D input"):
        fused(x[0])


def test_initial_ranges_are_those_of_torch() -> None:
    for module, bound in ((nn.Linear(100, 50), 0.1), (nn.Conv2d(4, 50, 5), 0.1)):
        for parameter in module.parameters():
            largest = parameter.abs().max().item()
            assert 0.9 * bound < largest <= bound


def test_the_output_size_of_a_transposed_convolution(device: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = nn.ConvTranspose2d(4, 6, 3, stride=(2, 3)), torch.nn.ConvTranspose2d(4, 6, 3, stride=(2, 3))
    copy_state(ours, theirs, torch)
    ours.to(device)
    data = np.random.default_rng(0).normal(size=(2, 4, 3, 3)).astype("float32")
    for size in ((7, 9), (8, 11), (2, 6, 8, 10)):
        close(ours(lucid.tensor(data, device=device), output_size=size), theirs(torch.tensor(data), output_size=size))
    for wrong in ((9, 9), (7,), (7, 8), (7, 9, 1)):
        with pytest.raises(ValueError, match="output size|output_size"):
            ours(lucid.tensor(data, device=device), wrong)
        with pytest.raises(ValueError, match="output"):
            theirs(torch.tensor(data), wrong)
    assert ours(lucid.tensor(data[0], device=device), [8, 11]).shape == (6, 8, 11)
    for mode in ("reflect", "circular"):
        with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for ConvTranspose1d'):
            nn.ConvTranspose1d(1, 1, 3, padding_mode=mode)


@pytest.mark.parametrize("name", ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"])
def test_lazy_convolutions_become_those_of_torch(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = (getattr(n, f"Lazy{name}")(4, 2, stride=2, padding=1, groups=2) for n in (nn, torch.nn))
    assert repr(ours) == repr(theirs)
    data = np.random.default_rng(0).normal(size=(2, 6, *(5,) * int(name[-2]))).astype("float32")
    ours.to(device)
    ours(lucid.tensor(data, device=device))
    theirs(torch.tensor(data))
    assert type(ours) is getattr(nn, name) and repr(ours) == repr(theirs)
    copy_state(ours, theirs, torch)
    ours.to(device)
    close(ours(lucid.tensor(data, device=device)), theirs(torch.tensor(data)))
    fan_in = ours.weight[0].numel()
    fresh = getattr(nn, name)(6, 40, 2)
    assert fresh.weight.abs().max().item() <= 1 / fresh.weight[0].numel() ** 0.5
    assert fan_in == theirs.weight[0].numel()


def test_batch_norm_loads_states_of_version_1() -> None:
    source, target = nn.BatchNorm2d(2), nn.Sequential(nn.BatchNorm2d(2))
    old = {f"0.{name}": value for name, value in source.state_dict().items() if name != "num_batches_tracked"}
    target[0].num_batches_tracked.fill_(7)
    target.load_state_dict(old)
    assert target[0].num_batches_tracked.item() == 7
    assert "0.num_batches_tracked" not in old
    state = target.state_dict()
    del state["0.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="num_batches_tracked"):
        target.load_state_dict(state)


def test_clipping_and_vectors(device: str) -> None:
    torch = pytest.importorskip("torch")
    for norm in (2.0, 1.0, 3.0, float("inf")):
        ours, theirs = nn.Linear(3, 2), torch.nn.Linear(3, 2)
        copy_state(ours, theirs, torch)
        ours.to(device)
        (ours(lucid.ones(4, 3, device=device)) * 5).sum().backward()
        (theirs(torch.ones(4, 3)) * 5).sum().backward()
        close(nn.utils.clip_grad_norm_(ours.parameters(), 1.5, norm),
              torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.5, norm))
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            close(p.grad, q.grad)
    nn.utils.clip_grad_value_(ours.parameters(), 0.1)
    assert max(p.grad.abs().max().item() for p in ours.parameters()) == pytest.approx(0.1)
    ours.weight.grad.fill_(float("nan"))
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(ours.parameters(), 1.0, error_if_nonfinite=True)
    vector = nn.utils.parameters_to_vector(ours.parameters())
    assert vector.shape == (8,)
    weight = ours.weight
    nn.utils.vector_to_parameters(vector * 2, ours.parameters())
    assert ours.weight is weight
    close(ours.weight, theirs.weight * 2)
    with pytest.raises(TypeError):
        nn.utils.vector_to_parameters([1.0], ours.parameters())  # type: ignore[arg-type]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_batches_are_counted(device, fused, momentum):
    """In the memory of the buffer, by whatever kind of tensor it is; of refused batches and in evaluation none."""
    layer = (nn.BatchNormReLU2d if fused else nn.BatchNorm2d)(3, momentum=momentum).to(device)
    x, view = lucid.rand(4, 3, 2, 2, device=device), layer.num_batches_tracked.detach()
    for _ in range(2):
        layer(x)
    layer.eval()(x)
    with pytest.raises(RuntimeError):
        layer.train()(x[:, :2])
    assert view.item() == layer.state_dict()["num_batches_tracked"].item() == 2
    twin = copy.deepcopy(layer)
    twin(x), twin(x[:0])
    assert (view.item(), twin.num_batches_tracked.item()) == (2, 4)
    for counter in (lucid.tensor(7.0, device=device), lucid.tensor([7], device=device), lucid.tensor([3, 7], device=device)[1],
                    lucid.tensor(7)):
        layer.num_batches_tracked = counter
        layer(x)
        assert counter.item() == 8
