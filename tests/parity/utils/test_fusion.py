"""torch.nn.utils.fusion: batch normalisation folded into the layer before it."""
from __future__ import annotations

from typing import Any

from tests.parity.suite import Suite

suite = Suite()


def numbers(torch: Any, *shape: int, scale: float = 0.1) -> Any:
    """The same numbers of both signs in both libraries."""
    count = 1
    for length in shape:
        count *= length
    return ((torch.arange(float(count)) * 0.37 + 0.2) % 1.7 - 0.8).reshape(shape) * (scale * 10)


def fill(torch: Any, module: Any) -> Any:
    """Give parameters and running statistics numbers that are not their defaults; evaluation mode."""
    with torch.no_grad():
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            if tensor.is_floating_point():
                values = numbers(torch, *tensor.shape).to(tensor.dtype)
                tensor.copy_(values.abs() + 0.3 if name == "running_var" else values)
    return module.eval()


def conv_and_norm(torch: Any, bias: bool = True, **norm: Any) -> Any:
    return fill(torch, torch.nn.Conv2d(2, 3, 2, bias=bias)), fill(torch, torch.nn.BatchNorm2d(3, **norm))


def linear_and_norm(torch: Any, bias: bool = True, features: int = 3, **norm: Any) -> Any:
    return fill(torch, torch.nn.Linear(4, 3, bias=bias)), fill(torch, torch.nn.BatchNorm1d(features, **norm))


def both_ways(torch: Any, layer: Any, norm: Any, fused: Any, x: Any) -> Any:
    """Weights of the fused layer, and whether it computes what the two layers compute."""
    return (fused.weight, fused.bias, torch.allclose(fused(x), norm(layer(x)), atol=1e-5), fused is layer, fused.training,
            fused.weight.requires_grad, fused.bias.requires_grad, list(fused.state_dict()))


@suite.same
def convolution(torch):
    conv, norm = conv_and_norm(torch)
    return both_ways(torch, conv, norm, torch.nn.utils.fuse_conv_bn_eval(conv, norm), numbers(torch, 2, 2, 4, 4))


@suite.same
def convolution_without_bias(torch):
    conv, norm = conv_and_norm(torch, bias=False)
    return both_ways(torch, conv, norm, torch.nn.utils.fuse_conv_bn_eval(conv, norm), numbers(torch, 2, 2, 4, 4))


@suite.same
def norm_without_weight_and_bias(torch):
    conv, norm = conv_and_norm(torch, affine=False)
    return both_ways(torch, conv, norm, torch.nn.utils.fuse_conv_bn_eval(conv, norm), numbers(torch, 2, 2, 4, 4))


@suite.same
def another_eps(torch):
    conv, norm = conv_and_norm(torch, eps=0.5)
    return both_ways(torch, conv, norm, torch.nn.utils.fuse_conv_bn_eval(conv, norm), numbers(torch, 1, 2, 3, 3))


@suite.same
def grouped_strided_padded_convolution(torch):
    conv = fill(torch, torch.nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2))
    norm = fill(torch, torch.nn.BatchNorm2d(6))
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, norm)
    return both_ways(torch, conv, norm, fused, numbers(torch, 2, 4, 5, 5)), fused.stride, fused.groups


@suite.same
def frozen_layers_stay_frozen(torch):
    conv, norm = conv_and_norm(torch)
    conv.requires_grad_(False)
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, norm)
    linear, norm = linear_and_norm(torch)
    linear.bias.requires_grad_(False)
    other = torch.nn.utils.fuse_linear_bn_eval(linear, norm)
    return [p.requires_grad for p in (*fused.parameters(), *other.parameters())]


@suite.same
def the_layers_are_left_alone(torch):
    conv, norm = conv_and_norm(torch)
    before = [t.detach().clone() for t in (*conv.parameters(), *norm.parameters(), *norm.buffers())]
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, norm)
    with torch.no_grad():
        fused.weight.zero_()
    return [torch.equal(a, b) for a, b in zip(before, (*conv.parameters(), *norm.parameters(), *norm.buffers()))]


@suite.same
def half_precision_weights_and_float_statistics(torch):
    conv, norm = conv_and_norm(torch)
    conv.half()
    fused = torch.nn.utils.fuse_conv_bn_eval(conv, norm)
    linear, norm = linear_and_norm(torch, bias=False)
    other = torch.nn.utils.fuse_linear_bn_eval(linear.bfloat16(), norm)
    return fused.weight, fused.bias, other.weight, other.bias


@suite.same
def double_statistics(torch):
    linear, norm = linear_and_norm(torch)
    fused = torch.nn.utils.fuse_linear_bn_eval(linear, norm.double())
    return fused.weight, fused.bias


@suite.same
def transposed_weights(torch):
    weight, statistics = numbers(torch, 2, 3, 2, 2), numbers(torch, 3)
    return torch.nn.utils.fuse_conv_bn_weights(weight, numbers(torch, 3), statistics, statistics.abs() + 0.5, 1e-3, None,
                                               numbers(torch, 3), transpose=True)


@suite.same
def weights_of_one_and_three_dimensions(torch):
    norm = numbers(torch, 3), numbers(torch, 3).abs() + 0.5, 1e-5, numbers(torch, 3), numbers(torch, 3)
    return [torch.nn.utils.fuse_conv_bn_weights(numbers(torch, *shape), None, *norm) for shape in ((3, 2, 4), (3, 2, 2, 2, 2))]


@suite.same
def the_results_are_leaf_parameters(torch):
    conv, norm = conv_and_norm(torch)
    pair = torch.nn.utils.fuse_conv_bn_weights(conv.weight, conv.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight,
                                               norm.bias)
    return type(pair).__name__, [(isinstance(p, torch.nn.Parameter), p.is_leaf, p.requires_grad, p.grad) for p in pair]


@suite.same
def linear_layer(torch):
    linear, norm = linear_and_norm(torch)
    return both_ways(torch, linear, norm, torch.nn.utils.fuse_linear_bn_eval(linear, norm), numbers(torch, 5, 4))


@suite.same
def linear_layer_without_bias(torch):
    linear, norm = linear_and_norm(torch, bias=False)
    return both_ways(torch, linear, norm, torch.nn.utils.fuse_linear_bn_eval(linear, norm), numbers(torch, 5, 4))


@suite.same
def one_feature_for_all_outputs(torch):
    linear, norm = linear_and_norm(torch, features=1)
    fused = torch.nn.utils.fuse_linear_bn_eval(linear, norm)
    return fused.weight, fused.bias


@suite.same
def training_mode_is_refused(torch):
    outcomes = []
    for fuse, (layer, norm) in ((torch.nn.utils.fuse_conv_bn_eval, conv_and_norm(torch)),
                                (torch.nn.utils.fuse_linear_bn_eval, linear_and_norm(torch))):
        for part in (layer, norm):
            part.train()
            try:
                fuse(layer, norm)
            except AssertionError as error:
                outcomes.append(error)
            part.eval()
    return outcomes


@suite.same
def a_norm_without_statistics(torch):
    return torch.nn.utils.fuse_conv_bn_eval(*conv_and_norm(torch, track_running_stats=False))


@suite.same
def a_norm_without_statistics_after_a_linear_layer(torch):
    return torch.nn.utils.fuse_linear_bn_eval(*linear_and_norm(torch, track_running_stats=False))


@suite.same
def features_that_do_not_fit(torch):
    return torch.nn.utils.fuse_linear_bn_eval(*linear_and_norm(torch, features=2))


@suite.same
def a_linear_layer_needs_a_norm_with_weights(torch):
    return torch.nn.utils.fuse_linear_bn_eval(*linear_and_norm(torch, affine=False))


@suite.same
def a_fused_layer_trains(torch):
    fused = torch.nn.utils.fuse_conv_bn_eval(*conv_and_norm(torch))
    fused(numbers(torch, 1, 2, 3, 3)).square().sum().backward()
    return fused.weight.grad, fused.bias.grad


@suite.same
def hooks_are_copied(torch):
    conv, norm = conv_and_norm(torch)
    conv.register_forward_hook(lambda module, args, result: result * 0)
    return torch.nn.utils.fuse_conv_bn_eval(conv, norm)(numbers(torch, 1, 2, 3, 3))


test_behaviour = suite.test()
