"""weight_norm, spectral_norm and orthogonal, as parametrizations and in their older form with hooks."""
from __future__ import annotations

import copy
import warnings

from tests.parity.suite import Suite

suite = Suite()


def values(torch, *shape):
    """Numbers of a fixed formula, which make matrices of full rank."""
    count = 1
    for length in shape:
        count *= length
    steps = torch.arange(count, dtype=torch.float64)
    return (torch.sin(steps * 1.7 + 0.3) + 0.05 * steps.remainder(7)).reshape(shape).float()


def linear(torch, inputs=4, outputs=3):
    layer = torch.nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.copy_(values(torch, outputs, inputs))
        layer.bias.zero_()
    return layer


def convolution(torch):
    layer = torch.nn.Conv2d(2, 3, 2)
    with torch.no_grad():
        layer.weight.copy_(values(torch, 3, 2, 2, 2))
        layer.bias.zero_()
    return layer


def set_vectors(torch, owner, name=""):
    """Fixed singular vectors instead of the random ones at the start."""
    with torch.no_grad():
        for suffix in ("_u", "_v"):
            vector = getattr(owner, name + suffix)
            vector.copy_(values(torch, *vector.shape) / values(torch, *vector.shape).norm())


def orthogonality(torch, weight):
    """How far the shorter side of a matrix is from orthonormal."""
    tall = weight if weight.shape[-2] >= weight.shape[-1] else weight.mT
    one = torch.eye(tall.shape[-1], dtype=tall.dtype)
    return bool((tall.conj().mT @ tall - one).abs().max() < 1e-5)


# ---- weight_norm ---------------------------------------------------------------------------------------------------------
@suite.same
def weight_norm_keeps_the_weight(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch))
    return layer.weight, list(layer.state_dict()), [tuple(p.shape) for p in layer.parameters()], repr(layer)


@suite.same
def weight_norm_of_another_dimension(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(convolution(torch), dim=1)
    return layer.weight, layer.parametrizations.weight.original0


@suite.same
def weight_norm_over_everything(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch), dim=None)
    return layer.weight, layer.parametrizations.weight.original0, layer.parametrizations.weight[0].dim


@suite.same
def weight_norm_of_the_last_dimension_is_over_everything(torch):
    return torch.nn.utils.parametrizations.weight_norm(linear(torch), dim=-1).parametrizations.weight.original0


@suite.same
def weight_norm_of_a_bias(torch):
    layer = linear(torch)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([1.0, -2.0, 3.0]))
    torch.nn.utils.parametrizations.weight_norm(layer, "bias")
    return layer.bias, layer.parametrizations.bias.original0


@suite.same
def gradients_of_weight_norm(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch))
    (layer(values(torch, 2, 4)) ** 2).sum().backward()
    return [p.grad for p in layer.parameters()]


@suite.same
def magnitude_and_direction_are_separate(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch))
    with torch.no_grad():
        layer.parametrizations.weight.original1.mul_(5)
        layer.parametrizations.weight.original0.mul_(2)
    return layer.weight


@suite.same
def assigning_a_weight_with_weight_norm(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch))
    layer.weight = torch.ones(3, 4)
    return layer.weight, layer.parametrizations.weight.original0, layer.parametrizations.weight.original1


@suite.same
def removing_weight_norm(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch))
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return layer.weight, list(layer.state_dict()), type(layer)


@suite.same
def keys_of_the_older_weight_norm_can_be_loaded(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))
    state = {"bias": torch.zeros(3), "weight_g": torch.full((3, 1), 2.0), "weight_v": values(torch, 3, 4)}
    return layer.load_state_dict(state), layer.weight, list(state)


@suite.same
def keys_of_the_older_weight_norm_below_a_prefix(torch):
    model = torch.nn.Sequential(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3)))
    state = {"0.bias": torch.zeros(3), "0.weight_g": torch.full((3, 1), 2.0), "0.weight_v": values(torch, 3, 4)}
    return model.load_state_dict(state), model[0].weight


@suite.same
def half_of_the_keys_of_the_older_weight_norm(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3))
    result = layer.load_state_dict({"bias": torch.zeros(3), "weight_g": torch.ones(3, 1)}, strict=False)
    return list(result.missing_keys), list(result.unexpected_keys)


@suite.same
def weight_norm_of_a_name_that_does_not_exist(torch):
    torch.nn.utils.parametrizations.weight_norm(linear(torch), "nothing")


@suite.same
def weight_norm_in_float64_and_bfloat16(torch):
    return [torch.nn.utils.parametrizations.weight_norm(linear(torch).to(dtype)).weight.dtype
            for dtype in (torch.float64, torch.bfloat16)]


# ---- spectral_norm -------------------------------------------------------------------------------------------------------
@suite.same
def state_of_spectral_norm(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch))
    return (list(layer.state_dict()), [tuple(v.shape) for v in layer.state_dict().values()], repr(layer).split("\n")[0],
            [name for name, _ in layer.named_buffers()])


@suite.same
def spectral_norm_has_converged_at_registration(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch)).eval()
    return bool((torch.linalg.matrix_norm(layer.weight, 2) - 1).abs() < 1e-3)


@suite.same
def one_step_of_the_power_method(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch))
    norm = layer.parametrizations.weight[0]
    set_vectors(torch, norm)
    return layer.weight, norm._u, norm._v


@suite.same
def several_steps_of_the_power_method(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch), n_power_iterations=3)
    set_vectors(torch, layer.parametrizations.weight[0])
    return layer.weight, layer.weight


@suite.same
def evaluation_mode_does_not_step(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch)).eval()
    norm = layer.parametrizations.weight[0]
    set_vectors(torch, norm)
    return layer.weight, layer.weight, norm._u


@suite.same
def spectral_norm_of_a_convolution(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(convolution(torch))
    set_vectors(torch, layer.parametrizations.weight[0])
    return layer.weight, layer(values(torch, 1, 2, 3, 3))


@suite.same
def spectral_norm_of_another_dimension(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(convolution(torch), dim=-2)
    norm = layer.parametrizations.weight[0]
    set_vectors(torch, norm)
    return layer.weight, norm.dim, tuple(norm._u.shape), tuple(norm._v.shape)


@suite.same
def spectral_norm_of_a_vector(torch):
    layer = linear(torch)
    with torch.no_grad():
        layer.bias.copy_(torch.tensor([3.0, 0.0, 4.0]))
    torch.nn.utils.parametrizations.spectral_norm(layer, "bias")
    return layer.bias, list(layer.state_dict())


@suite.same
def gradients_of_spectral_norm(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch))
    set_vectors(torch, layer.parametrizations.weight[0])
    (layer(values(torch, 2, 4)) ** 2).sum().backward()
    return layer.parametrizations.weight.original.grad


@suite.same
def a_second_forward_pass_before_the_backward_pass(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch))
    set_vectors(torch, layer.parametrizations.weight[0])
    x = values(torch, 2, 4)
    (layer(x) - 2 * layer(x)).pow(2).sum().backward()
    return layer.parametrizations.weight.original.grad


@suite.same
def gradient_penalty_with_spectral_norm(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch)).eval()
    set_vectors(torch, layer.parametrizations.weight[0])
    x = values(torch, 2, 4).requires_grad_()
    gradient, = torch.autograd.grad(layer(x).pow(2).sum(), x, create_graph=True)
    gradient.pow(2).sum().backward()
    return layer.parametrizations.weight.original.grad


@suite.same
def spectral_norm_without_iterations(torch):
    torch.nn.utils.parametrizations.spectral_norm(linear(torch), n_power_iterations=0)


@suite.same
def spectral_norm_of_a_dimension_that_does_not_exist(torch):
    torch.nn.utils.parametrizations.spectral_norm(linear(torch), dim=2)


@suite.same
def spectral_norm_of_a_name_that_does_not_exist(torch):
    torch.nn.utils.parametrizations.spectral_norm(linear(torch), "nothing")


@suite.same
def assigning_with_spectral_norm(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch)).eval()
    layer.weight = torch.ones(3, 4)
    return layer.parametrizations.weight.original


@suite.same
def removing_spectral_norm(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch)).eval()
    set_vectors(torch, layer.parametrizations.weight[0])
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return layer.weight, list(layer.state_dict()), list(layer.buffers())


@suite.same
def a_state_dict_sees_later_steps(torch):
    layer = torch.nn.utils.parametrizations.spectral_norm(linear(torch))
    norm = layer.parametrizations.weight[0]
    set_vectors(torch, norm)
    state = layer.state_dict()
    _ = layer.weight
    return state["parametrizations.weight.0._u"]


@suite.same
def loading_spectral_norm(torch):
    source, target = (torch.nn.utils.parametrizations.spectral_norm(linear(torch)) for _ in range(2))
    set_vectors(torch, source.parametrizations.weight[0])
    target.load_state_dict(source.state_dict())
    return target.eval().weight


@suite.same
def spectral_norm_of_zeros(torch):
    layer = linear(torch)
    torch.nn.init.zeros_(layer.weight)
    return torch.nn.utils.parametrizations.spectral_norm(layer).weight


@suite.same
def spectral_norm_on_top_of_weight_norm(torch):
    layer = torch.nn.utils.parametrizations.weight_norm(linear(torch))
    torch.nn.utils.parametrizations.spectral_norm(layer)
    set_vectors(torch, layer.parametrizations.weight[1])
    return layer.weight, list(layer.state_dict())


# ---- orthogonal ----------------------------------------------------------------------------------------------------------
def orthogonal_outcome(torch, shape, **options):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, *shape), **options)
    before = orthogonality(torch, layer.weight)
    layer(values(torch, 2, shape[0])).pow(2).sum().backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.sub_(0.1 * parameter.grad)
    entries = layer.parametrizations.weight
    return before, orthogonality(torch, layer.weight), list(layer.state_dict()), entries[0].orthogonal_map is not None


@suite.same
def square_matrices_use_the_exponential(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3))
    layer(values(torch, 2, 3)).pow(2).sum().backward()
    return layer.weight, layer.parametrizations.weight.original, layer.parametrizations.weight[0].base, layer.bias.grad


@suite.same
def the_exponential_without_trivialization(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3), use_trivialization=False)
    layer(values(torch, 2, 3)).exp().sum().backward()
    return layer.weight, layer.parametrizations.weight.original.grad


@suite.same
def the_cayley_map_without_trivialization(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch), orthogonal_map="cayley", use_trivialization=False)
    layer(values(torch, 2, 4)).exp().sum().backward()
    return layer.weight, layer.parametrizations.weight.original.grad


@suite.same
def the_exponential_of_a_wide_matrix(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 5, 2), orthogonal_map="matrix_exp",
                                                       use_trivialization=False)
    layer(values(torch, 2, 5)).exp().sum().backward()
    return layer.weight, layer.parametrizations.weight.original.grad


@suite.same
def the_cayley_map_of_a_square_matrix(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3), orthogonal_map="cayley")
    return layer.weight, layer.parametrizations.weight[0].base


@suite.same
def reflectors_without_trivialization(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 2, 4), use_trivialization=False)
    layer(values(torch, 2, 2)).exp().sum().backward()
    return layer.weight, layer.parametrizations.weight.original, layer.parametrizations.weight.original.grad


@suite.same
def reflectors_of_a_square_matrix(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3), orthogonal_map="householder")
    return layer.weight, layer.parametrizations.weight.original


@suite.same
def training_keeps_a_tall_matrix_orthogonal(torch):
    return orthogonal_outcome(torch, (2, 4))


@suite.same
def training_keeps_a_wide_matrix_orthogonal(torch):
    return orthogonal_outcome(torch, (4, 2), orthogonal_map="matrix_exp")


@suite.same
def training_keeps_the_cayley_map_orthogonal(torch):
    return orthogonal_outcome(torch, (4, 2), orthogonal_map="cayley")


@suite.same
def tall_matrices_keep_their_value(torch):
    """The columns that complete the square are random; the weight is not."""
    layer = linear(torch, 2, 4)
    with torch.no_grad():
        layer.weight.copy_(torch.linalg.qr(values(torch, 4, 2)).Q)
    return torch.nn.utils.parametrizations.orthogonal(layer).weight


@suite.same
def a_tall_matrix_is_orthogonalized(torch):
    return torch.nn.utils.parametrizations.orthogonal(linear(torch, 2, 4)).weight


@suite.same
def a_batch_of_orthogonal_matrices(torch):
    module = torch.nn.Module()
    module.register_parameter("rotations", torch.nn.Parameter(values(torch, 2, 3, 3)))
    torch.nn.utils.parametrizations.orthogonal(module, "rotations")
    return module.rotations, list(module.state_dict())


@suite.same
def an_orthogonal_buffer(torch):
    module = torch.nn.Module()
    module.register_buffer("rotation", values(torch, 3, 3))
    torch.nn.utils.parametrizations.orthogonal(module, "rotation")
    return module.rotation, module.rotation.requires_grad


@suite.same
def a_unitary_matrix(torch):
    module = torch.nn.Module()
    matrix = values(torch, 3, 3).to(torch.complex64) + 1j * values(torch, 6, 3)[3:]
    module.register_parameter("rotation", torch.nn.Parameter(matrix))
    torch.nn.utils.parametrizations.orthogonal(module, "rotation")
    module.rotation.abs().sum().backward()
    return module.rotation.resolve_conj() if hasattr(module.rotation, "resolve_conj") else module.rotation, \
        orthogonality_of_complex(torch, module.rotation)


def orthogonality_of_complex(torch, weight):
    return bool((weight.conj().mT @ weight - torch.eye(weight.shape[-1])).abs().max() < 1e-5)


@suite.same
def a_unitary_matrix_by_the_cayley_map(torch):
    module = torch.nn.Module()
    matrix = values(torch, 4, 2).to(torch.complex64) + 1j * values(torch, 8, 2)[4:]
    module.register_parameter("rotation", torch.nn.Parameter(matrix))
    torch.nn.utils.parametrizations.orthogonal(module, "rotation", "cayley", use_trivialization=False)
    return module.rotation * 1, orthogonality_of_complex(torch, module.rotation)


@suite.same
def reflectors_of_complex_matrices(torch):
    module = torch.nn.Module()
    module.register_parameter("rotation", torch.nn.Parameter(values(torch, 3, 3).to(torch.complex64)))
    torch.nn.utils.parametrizations.orthogonal(module, "rotation", "householder")


@suite.same
def assigning_an_orthogonal_matrix(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3))
    rotation = torch.tensor([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    layer.weight = rotation
    return layer.weight, layer.parametrizations.weight[0].base


@suite.same
def assigning_a_matrix_that_is_not_orthogonal(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3))
    layer.weight = values(torch, 3, 3) + 2 * torch.eye(3)
    return layer.weight


@suite.same
def assigning_reflectors_without_trivialization(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 2, 4), use_trivialization=False)
    layer.weight = torch.linalg.qr(values(torch, 4, 3)[:, 1:]).Q
    return layer.weight, layer.parametrizations.weight.original


@suite.same
def assigning_the_identity_to_reflectors(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3), orthogonal_map="householder",
                                                       use_trivialization=False)
    layer.weight = torch.eye(3)
    return layer.weight, layer.parametrizations.weight.original


@suite.same
def the_exponential_cannot_be_assigned_to_without_trivialization(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3), use_trivialization=False)
    layer.weight = torch.eye(3)


@suite.same
def assigning_another_shape_to_an_orthogonal_weight(torch):
    torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3)).weight = torch.eye(2)


@suite.same
def orthogonal_of_a_vector(torch):
    torch.nn.utils.parametrizations.orthogonal(linear(torch), "bias")


@suite.same
def orthogonal_of_a_name_that_does_not_exist(torch):
    torch.nn.utils.parametrizations.orthogonal(linear(torch), "nothing")


@suite.same
def an_unknown_orthogonal_map(torch):
    torch.nn.utils.parametrizations.orthogonal(linear(torch), orthogonal_map="rotation")


@suite.same
def loading_an_orthogonal_weight(torch):
    source, target = (torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3)) for _ in range(2))
    with torch.no_grad():
        source.parametrizations.weight.original.add_(values(torch, 3, 3))
    target.load_state_dict(source.state_dict())
    return target.weight, target.parametrizations.weight[0].base


@suite.same
def removing_an_orthogonal_parametrization(torch):
    layer = torch.nn.utils.parametrizations.orthogonal(linear(torch, 3, 3))
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return layer.weight, list(layer.state_dict())


# ---- the older weight_norm -----------------------------------------------------------------------------------------------
@suite.same
def the_older_weight_norm_warns(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.utils.weight_norm(linear(torch))
    return [w.category.__name__ for w in caught]


@suite.same
def the_older_weight_norm(torch):
    layer = torch.nn.utils.weight_norm(linear(torch))
    layer(values(torch, 2, 4)).pow(2).sum().backward()
    return (list(layer.state_dict()), layer.weight_g, layer.weight, layer.weight_g.grad, layer.weight_v.grad, type(layer),
            "weight" in layer._parameters)


@suite.same
def the_older_weight_norm_recomputes_before_each_pass(torch):
    layer = torch.nn.utils.weight_norm(linear(torch))
    with torch.no_grad():
        layer.weight_g.mul_(2)
    before = layer.weight.detach().clone()
    return before, layer(values(torch, 2, 4)), layer.weight


@suite.same
def the_older_weight_norm_over_everything(torch):
    layer = torch.nn.utils.weight_norm(linear(torch), dim=None)
    return layer.weight_g, layer.weight


@suite.same
def the_older_weight_norm_twice(torch):
    torch.nn.utils.weight_norm(torch.nn.utils.weight_norm(linear(torch)))


@suite.same
def removing_the_older_weight_norm(torch):
    layer = torch.nn.utils.weight_norm(linear(torch))
    result = torch.nn.utils.remove_weight_norm(layer)
    return result is layer, list(layer.state_dict()), layer.weight, type(layer.weight), len(layer._forward_pre_hooks)


@suite.same
def removing_an_older_weight_norm_that_is_not_there(torch):
    torch.nn.utils.remove_weight_norm(linear(torch))


@suite.same
def deepcopy_with_the_older_weight_norm_after_a_pass(torch):
    layer = torch.nn.utils.weight_norm(linear(torch))
    layer(values(torch, 2, 4))
    copy.deepcopy(layer)


# ---- the older spectral_norm -----------------------------------------------------------------------------------------------
@suite.same
def the_older_spectral_norm(torch):
    layer = torch.nn.utils.spectral_norm(linear(torch))
    set_vectors(torch, layer, "weight")
    layer(values(torch, 2, 4)).pow(2).sum().backward()
    return (list(layer.state_dict()), layer.weight, layer.weight_u, layer.weight_v, layer.weight_orig.grad, type(layer),
            [name for name, _ in layer.named_parameters()])


@suite.same
def the_older_spectral_norm_in_evaluation_mode(torch):
    layer = torch.nn.utils.spectral_norm(linear(torch), n_power_iterations=2).eval()
    set_vectors(torch, layer, "weight")
    return layer(values(torch, 2, 4)), layer.weight_u


@suite.same
def the_older_spectral_norm_before_the_first_pass(torch):
    return torch.nn.utils.spectral_norm(linear(torch)).weight


@suite.same
def the_older_spectral_norm_of_another_dimension(torch):
    layer = torch.nn.utils.spectral_norm(convolution(torch), dim=1)
    return tuple(layer.weight_u.shape), tuple(layer.weight_v.shape)


@suite.same
def the_older_spectral_norm_twice(torch):
    torch.nn.utils.spectral_norm(torch.nn.utils.spectral_norm(linear(torch)))


@suite.same
def the_older_spectral_norm_without_iterations(torch):
    torch.nn.utils.spectral_norm(linear(torch), n_power_iterations=0)


@suite.same
def the_older_spectral_norm_of_nothing(torch):
    torch.nn.utils.spectral_norm(torch.nn.Linear(2, 2, bias=False), "bias")


@suite.same
def the_older_spectral_norm_of_a_missing_name(torch):
    torch.nn.utils.spectral_norm(linear(torch), "nothing")


@suite.same
def removing_the_older_spectral_norm(torch):
    layer = torch.nn.utils.spectral_norm(linear(torch))
    set_vectors(torch, layer, "weight")
    torch.nn.utils.remove_spectral_norm(layer)
    return layer.weight, list(layer.state_dict()), len(layer._forward_pre_hooks), len(layer._state_dict_hooks)


@suite.differs("`remove_spectral_norm`", torch=1, lucid=0)
def hooks_after_removing_the_older_spectral_norm(torch):
    return len(torch.nn.utils.remove_spectral_norm(torch.nn.utils.spectral_norm(linear(torch)))._load_state_dict_pre_hooks)


@suite.same
def removing_an_older_spectral_norm_that_is_not_there(torch):
    torch.nn.utils.remove_spectral_norm(linear(torch))


@suite.same
def version_of_the_older_spectral_norm_in_the_metadata(torch):
    return dict(torch.nn.utils.spectral_norm(linear(torch)).state_dict()._metadata[""])


@suite.same
def loading_the_older_spectral_norm(torch):
    source, target = (torch.nn.utils.spectral_norm(linear(torch)) for _ in range(2))
    set_vectors(torch, source, "weight")
    target.load_state_dict(source.state_dict())
    return target.weight_u, target.eval()(values(torch, 2, 4))


@suite.same
def loading_a_state_dict_from_before_weight_v(torch):
    layer = torch.nn.utils.spectral_norm(linear(torch, 2, 4))
    original, u = values(torch, 4, 2), values(torch, 4) / values(torch, 4).norm()
    state = {"bias": torch.zeros(4), "weight_orig": original, "weight": original / 2.5, "weight_u": u}
    return layer.load_state_dict(state), layer.weight_v, layer.eval()(values(torch, 2, 2))


@suite.same
def loading_an_old_state_dict_that_lacks_the_weight(torch):
    layer = torch.nn.utils.spectral_norm(linear(torch))
    result = layer.load_state_dict({"bias": torch.zeros(3), "weight_orig": values(torch, 3, 4)}, strict=False)
    return sorted(set(result.missing_keys)), list(result.unexpected_keys)


test_behaviour = suite.test()
