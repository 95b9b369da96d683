"""Neighbours that a Sequential computes together, beside the same modules called one by one."""
from __future__ import annotations

import copy

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.autograd.node import Node

SHAPES = {1: (4, 3, 9), 2: (4, 3, 6, 7), 3: (2, 3, 5, 4, 6)}


def norm(dimensions, **options):
    return getattr(nn, f"BatchNorm{dimensions}d")(3, **options)


def one_by_one(model, x):
    for module in model:
        x = module(x)
    return x


def fused(result):
    """Whether ReLU was computed together with a neighbour: neither pooling nor ReLU follow an operation of its own."""
    node = result.grad_fn
    before = node.next_functions[0][0]
    pair = (node.name(), before.name() if isinstance(before, Node) else None)
    return pair[0] in ("batch_norm_relu", "conv2d_relu", "conv3d_relu", "linear_relu", "linear_gelu", "max_pool2d", "relu") and pair not in (("max_pool2d", "relu"), ("relu", "batch_norm"))


def names_of(result):
    names, node = [], result.grad_fn
    while isinstance(node, Node):
        names.append(node.name())
        node = node.next_functions[0][0]
    return names


def compare(model, x, expected):
    """Results, gradients of both orders and buffers of `model` and of its modules called one by one."""
    other = copy.deepcopy(model)
    x_other = x.detach().clone().requires_grad_()
    x = x.detach().clone().requires_grad_()
    result, reference = model(x), one_by_one(other, x_other)
    assert fused(result) == expected
    assert result.shape == reference.shape and result.dtype == reference.dtype
    assert lucid.equal(result.nan_to_num(9), reference.nan_to_num(9))
    g = lucid.randn(result.shape, device=x.device).to(x.dtype)
    found, wanted = [], []
    for leaves, y, gradients in (((x, *model.parameters()), result, found), ((x_other, *other.parameters()), reference, wanted)):
        first = lucid.autograd.grad(y, leaves, g, create_graph=True)
        square = sum((d * d).sum() for d in first)
        gradients += [*first, *(lucid.autograd.grad(square, leaves, allow_unused=True) if square.requires_grad else ())]
    tolerance = 1e-4 if x.dtype == lucid.float32 else 1e-12
    for number, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            if number >= len(leaves):  # of second order, where ReLU's gradient of zeros times a NaN of the input is NaN
                ours = lucid.where(theirs.isnan(), theirs, ours)
            assert lucid.allclose(ours, theirs, rtol=tolerance, atol=tolerance * float(theirs.abs().nan_to_num().max()),
                                  equal_nan=True)
    for ours, theirs in zip(model.buffers(), other.buffers(), strict=True):
        assert lucid.equal(ours, theirs)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"affine": False}, {"track_running_stats": False}, {"momentum": None}], ids=str)
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
def test_batch_norm_and_relu(training, options, dimensions, dtype, device):
    model = nn.Sequential(norm(dimensions, **options), nn.ReLU()).to(device, dtype).train(training)
    compare(model, lucid.randn(SHAPES[dimensions], dtype=dtype, device=device), expected=True)


def test_in_place_after_batch_norm(device):
    compare(nn.Sequential(norm(2), nn.ReLU(inplace=True)).to(device), lucid.randn(SHAPES[2], device=device), expected=True)


POOLS = {
    "MaxPool1d": (1, lambda: nn.MaxPool1d(2)), "MaxPool2d": (2, lambda: nn.MaxPool2d(2)), "MaxPool3d": (3, lambda: nn.MaxPool3d(2)),
    "overlapping": (2, lambda: nn.MaxPool2d(3, 2, 1)), "ceil": (2, lambda: nn.MaxPool2d((3, 2), 2, (1, 0), ceil_mode=True)),
    "AdaptiveMaxPool1d": (1, lambda: nn.AdaptiveMaxPool1d(4)), "AdaptiveMaxPool2d": (2, lambda: nn.AdaptiveMaxPool2d((3, 2))),
    "AdaptiveMaxPool3d": (3, lambda: nn.AdaptiveMaxPool3d(2)),
}


@pytest.mark.parametrize("name", POOLS)
def test_relu_and_max_pooling(name, device):
    dimensions, pool = POOLS[name]
    x = lucid.randn(SHAPES[dimensions], device=device)
    x[0, 0] = -x[0, 0].abs()  # windows without a positive element, with zeros, infinities and NaN
    x[0, 1] = 0
    x[1, 0] = np.inf
    x[1, 1] = -np.inf
    model = nn.Sequential(nn.ReLU(), pool()).to(device)
    compare(model, x, expected=True)
    x[1, 2] = np.nan
    assert lucid.equal(model(x).isnan(), one_by_one(model, x).isnan())


def test_three_neighbours(device):
    model = nn.Sequential(norm(2), nn.ReLU(), nn.MaxPool2d(3), nn.ReLU()).to(device)
    x = lucid.randn(SHAPES[2], device=device)
    assert lucid.equal(copy.deepcopy(model)(x), one_by_one(model, x))
    assert names_of(model(x.requires_grad_())) == ["relu", "max_pool2d", "batch_norm_relu"]


@pytest.mark.parametrize("model", [
    nn.Sequential(norm(2), nn.ReLU(), nn.MaxPool2d(2)),
    nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2)),
    nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)),
    nn.Sequential(nn.ReLU(), nn.MaxPool2d(3, 1)),
    nn.Sequential(nn.ReLU(), nn.AdaptiveMaxPool2d(2)),
    nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(2)),
], ids=str)
@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float16], ids=lambda d: d.name)
def test_results_may_be_written_to(model, dtype, device):
    """As those of the modules one by one: max pooling does not need its result for the gradient."""
    model = copy.deepcopy(model).to(device, dtype)
    x = lucid.randn(2, 3, 8, 8, device=device).to(dtype).requires_grad_()
    gradients = []
    for run in (model, lambda x: one_by_one(model, x)):
        y = run(x)
        y.mul_(3).add_(1)
        gradients.append(lucid.autograd.grad(y.sum(), (x, *model.parameters())))
    for ours, theirs in zip(*gradients, strict=True):
        assert lucid.allclose(ours, theirs, rtol=1e-2 if dtype == lucid.float16 else 1e-4, atol=1e-3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y = nn.Sequential(norm(2), nn.ReLU()).to(device)(x.float())
        y.mul_(3)
        y.sum().backward()


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1, "bias": False}, {"padding": "same", "padding_mode": "reflect"},
                                     {"groups": 3, "dilation": 2, "padding": 2}], ids=str)
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("inplace", [False, True])
def test_convolution_and_relu(inplace, dimensions, options, device):
    convolution = getattr(nn, f"Conv{dimensions}d")(3, 6, 3, dtype=lucid.float64, **options)
    x = lucid.randn(SHAPES[dimensions], dtype=lucid.float64)
    x[0, 0, 0] = np.inf
    compare(nn.Sequential(convolution, nn.ReLU(inplace)).to(device), x.nan_to_num(1, 1).to(device), expected=True)
    with lucid.no_grad():
        model = nn.Sequential(convolution, nn.ReLU(inplace)).to(device)
        assert lucid.allclose(model(x.to(device)), one_by_one(model, x.to(device)), equal_nan=True)


ACTIVATIONS = {"relu": nn.ReLU(), "relu in place": nn.ReLU(inplace=True), "gelu": nn.GELU("tanh")}


def kinds(model, x):
    """The operations of a pass, the last one first."""
    found, node = [], model(x).grad_fn
    while node is not None and hasattr(node, "next_functions"):
        found.append(node.name())
        node = node.next_functions[0][0]
    return found


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_linear_and_activation(layers, name, device):
    """On a GPU alone, where the product does it, and the gradient of the next layer that of the activation."""
    x = lucid.randn(4, 3, 5, device=device)
    row = [nn.Linear(5, 8), ACTIVATIONS[name], nn.Linear(8, 8), ACTIVATIONS[name], nn.Linear(8, 4)]
    model = nn.Sequential(*row[:2 * layers - (layers > 1)]).to(device)
    other, kind = copy.deepcopy(model), name.partition(" ")[0]
    if device == "gpu":
        assert kinds(model, x) == {1: [f"linear_{kind}"], 2: [f"perceptron_{kind}"], 3: [f"perceptron_{kind}", f"linear_{kind}"]}[layers]
    for order in (1, 2):
        found, wanted = [], []
        for run, network, gradients in ((model, model, found), (lambda x: one_by_one(other, x), other, wanted)):
            leaf = x.clone().requires_grad_()
            leaves = (leaf, *network.parameters())
            for _ in range(2):  # the second time after a trial of what the product does
                y = run(leaf)
                gradients.append(y)
                first = lucid.autograd.grad((y * y).sum(), leaves, create_graph=order == 2)
            gradients += first if order == 1 else lucid.autograd.grad(sum((d * d).sum() for d in first), leaves)
        for ours, theirs in zip(found, wanted, strict=True):
            assert lucid.allclose(ours, theirs, rtol=1e-4, atol=1e-3)
    some = [parameter for place, parameter in enumerate(model.parameters()) if place % 2]
    y, expected = model(x), one_by_one(other, x)
    for ours, theirs in zip(lucid.autograd.grad(y.sum(), some), lucid.autograd.grad(
            expected.sum(), [parameter for place, parameter in enumerate(other.parameters()) if place % 2]), strict=True):
        assert lucid.allclose(ours, theirs, rtol=1e-4, atol=1e-4)
    with lucid.no_grad():
        assert lucid.allclose(model(x), one_by_one(other, x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["relu", "gelu"])
def test_linear_and_activation_transformed(name, device):
    model = nn.Sequential(nn.Linear(5, 8), ACTIVATIONS[name], nn.Linear(8, 4)).to(device)
    x = lucid.randn(4, 3, 5, device=device)

    def plain(x):
        return one_by_one(model, x)

    jacobian, expected = (lucid.func.vmap(lucid.func.jacrev(run))(x[:, 0]) for run in (model, plain))
    assert lucid.allclose(jacobian, expected, atol=1e-5)
    tangents, expected = (lucid.func.jvp(run, (x,), (lucid.ones_like(x),))[1] for run in (model, plain))
    assert lucid.allclose(tangents, expected, rtol=1e-4, atol=1e-5)
    stacked = {key: lucid.stack([value, 2 * value]) for key, value in model.named_parameters()}
    several = lucid.func.vmap(lambda state: lucid.func.functional_call(model, state, (x,)))(stacked)
    assert lucid.allclose(several[0], plain(x), rtol=1e-4, atol=1e-5)


def test_linear_and_activations_that_are_computed_one_by_one(device):
    """Layers without a bias, GELU by erf, and a dtype that the product does not have."""
    x = lucid.randn(4, 5, device=device)
    for model in (nn.Sequential(nn.Linear(5, 8, bias=False), nn.ReLU()), nn.Sequential(nn.Linear(5, 8), nn.GELU())):
        assert kinds(model.to(device), x)[0] in ("relu", "gelu")
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)).to(device, lucid.float64)
    gradients = [lucid.autograd.grad(run(x.double()).square().sum(), tuple(model.parameters()))
                 for run in (model, lambda x: one_by_one(model, x))]
    for ours, theirs in zip(*gradients, strict=True):
        assert lucid.allclose(ours, theirs)
    halves = model.to(dtype=lucid.bfloat16)
    found, expected = (lucid.autograd.grad(run(x.bfloat16()).float().sum(), tuple(halves.parameters()))
                       for run in (halves, lambda x: one_by_one(halves, x)))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == lucid.bfloat16 and lucid.allclose(ours.float(), theirs.float(), rtol=0.05, atol=0.05)


def test_convolution_and_relu_over_one_dimension(device):
    model = nn.Sequential(nn.Conv1d(3, 6, 3), nn.ReLU()).to(device)
    x = lucid.randn(SHAPES[1], device=device)
    assert "conv2d_relu" in names_of(model(x))
    assert lucid.equal(model(x), one_by_one(model, x))
    y = model(x)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64], ids=lambda d: d.name)
@pytest.mark.parametrize("inplace", [False, True])
def test_convolution_relu_and_max_pooling(inplace, dtype, device):
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace), nn.MaxPool2d(2)).to(device, dtype)
    x = lucid.randn(2, 1, 7, 6, dtype=dtype, device=device)
    assert names_of(model(x)) == ["max_pool2d", "conv2d"]
    compare(model, x, expected=True)


def test_convolution_relu_and_max_pooling_as_pytorch():
    torch = pytest.importorskip("torch")
    model, x = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)), lucid.randn(4, 3, 11, 10)
    x[0, 0, 0] = np.nan
    x[1, 1, 4] = np.inf
    theirs = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2))
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in model.state_dict().items()})
    for images in (x[2:], x):
        result, wanted = model(images), theirs(torch.tensor(images.numpy()))
        np.testing.assert_allclose(result.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-5)
        gradients = lucid.autograd.grad(result.sum(), list(model.parameters()))
        for ours, other in zip(gradients, torch.autograd.grad(wanted.sum(), list(theirs.parameters())), strict=True):
            np.testing.assert_allclose(ours.numpy(), other.numpy(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("maker", [nn.Conv2d(3, 4, 3), nn.ConvTranspose2d(3, 4, 3), nn.Linear(7, 5)], ids=str)
def test_in_place_where_nobody_has_the_input(maker, device):
    model = nn.Sequential(copy.deepcopy(maker), nn.ReLU(inplace=True), nn.MaxPool2d(2)).to(device)
    x = lucid.randn(SHAPES[2], device=device)
    compare(model, x, expected=True)
    seen = []
    model[0].register_forward_hook(lambda module, args, output: seen.append(output))
    y = model(x)
    assert not fused(y) and not (seen[0] < 0).any()  # ReLU has written into it, as it says


@pytest.mark.parametrize("model", [
    nn.Sequential(nn.Identity(), nn.ReLU(inplace=True), nn.MaxPool2d(2)),
    nn.Sequential(nn.Conv2d(3, 3, 1), nn.Identity(), nn.ReLU(inplace=True), nn.MaxPool2d(2)),
    nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU(), nn.ReLU(inplace=True), nn.MaxPool2d(2)),
    nn.Sequential(nn.ReLU(), nn.MaxPool2d(2, dilation=2, padding=1)),
    nn.Sequential(nn.ReLU(inplace=True), nn.MaxPool2d(2)),
    nn.Sequential(nn.ReLU(), nn.AvgPool2d(2)),
    nn.Sequential(norm(2), nn.ReLU6()),
    nn.Sequential(norm(2), nn.ReLU(), nn.Identity())[:1],
], ids=str)
def test_what_is_computed_one_by_one(model):
    x = lucid.randn(2, 3, 4, 4, requires_grad=True) * 1
    assert not fused(model(x))


def test_a_dilated_window_in_the_padding():
    model = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2, dilation=2, padding=1))
    assert model(lucid.ones(1, 1, 1, 1)).item() == -np.inf  # as PyTorch: the padding, not ReLU of it


def test_indices():
    y, indices = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2, return_indices=True))(lucid.tensor([[[-2.0, -1.0], [-3.0, -1.0]]]))
    assert y.item() == 0 and indices.item() == 0  # of the first zero, not of the largest element


@pytest.mark.parametrize("first", [norm(2), nn.ReLU()], ids=["norm", "relu"])
@pytest.mark.parametrize("where", ["forward_hook", "forward_pre_hook", "full_backward_hook", "full_backward_pre_hook"])
@pytest.mark.parametrize("position", [0, 1])
def test_a_hook_sees_the_tensor_between(first, where, position):
    model = nn.Sequential(copy.deepcopy(first), nn.MaxPool2d(2) if isinstance(first, nn.ReLU) else nn.ReLU())
    x = lucid.randn(SHAPES[2], requires_grad=True)
    assert fused(model(x * 1))
    seen = []
    handle = getattr(model[position], f"register_{where}")(lambda module, *rest: seen.append(module) and None)
    model(x * 1).sum().backward()
    assert seen == [model[position]]
    handle.remove()
    assert fused(model(x * 1))


def test_a_hook_on_all_modules_sees_every_call():
    model, seen = nn.Sequential(norm(2), nn.ReLU(), nn.MaxPool2d(2)), []
    with nn.modules.module.register_module_forward_hook(lambda module, args, output: seen.append(module)):
        model(lucid.randn(SHAPES[2]))
    assert seen == [*model, model]


def test_another_forward_is_called(monkeypatch):
    class Doubled(nn.ReLU):
        def forward(self, input):
            return super().forward(input) * 2

    x = lucid.randn(SHAPES[2])
    pool = nn.MaxPool2d(2)
    assert lucid.equal(nn.Sequential(Doubled(), pool)(x), pool(x.relu() * 2))
    one = nn.ReLU()
    one.forward = lambda input: input + 1
    assert lucid.equal(nn.Sequential(one, pool)(x), pool(x + 1))
    monkeypatch.setattr(nn.ReLU, "forward", lambda self, input: input - 1)
    assert lucid.equal(nn.Sequential(nn.ReLU(), pool)(x), pool(x - 1))
    monkeypatch.undo()
    called = []
    call = nn.Module.__call__
    monkeypatch.setattr(nn.Module, "__call__", lambda self, *args: called.append(self) or call(self, *args), raising=False)
    model = nn.Sequential(nn.ReLU(), pool)
    model(x)
    assert called == [model, *model]


def test_numbers_that_are_not_floating_point():
    with pytest.raises(RuntimeError):
        nn.Sequential(norm(2), nn.ReLU())(lucid.ones(2, 3, 4, 4, dtype=lucid.int64))
    model = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2))
    x = lucid.arange(-8, 8).reshape(1, 1, 4, 4)
    assert lucid.equal(model(x), one_by_one(model, x))
