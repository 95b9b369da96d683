"""clip_grad_norm_ and its parts, clip_grad_value_, parameters_to_vector and back."""
from __future__ import annotations

import warnings

from tests.parity.suite import Suite

suite = Suite()
INF = float("inf")
NAN = float("nan")


def parameters(torch, *gradients, dtype="float32"):
    """A parameter for each gradient; None for one without."""
    found = []
    for gradient in gradients:
        value = torch.tensor([0.0] if gradient is None else gradient, dtype=getattr(torch, dtype))
        parameter = torch.nn.Parameter(torch.zeros_like(value))
        if gradient is not None:
            parameter.grad = value
        found.append(parameter)
    return found


def clipped(torch, *gradients, dtype="float32", **options):
    given = parameters(torch, *gradients, dtype=dtype)
    total = torch.nn.utils.clip_grad_norm_(given, **options)
    return total, [p.grad for p in given]


# ---- clip_grad_norm_ -----------------------------------------------------------------------------------------------------
@suite.same
def clipping_scales_all_gradients(torch):
    return clipped(torch, [3.0, 0.0], [[4.0]], max_norm=1.0)


@suite.same
def small_gradients_stay(torch):
    return clipped(torch, [0.3], [0.4], max_norm=1.0)


@suite.same
def order_one(torch):
    return clipped(torch, [3.0, -1.0], [4.0], max_norm=2.0, norm_type=1)


@suite.same
def order_infinity(torch):
    return clipped(torch, [3.0, -5.0], [4.0], max_norm=2.0, norm_type=INF)


@suite.same
def order_infinity_as_a_string(torch):
    return clipped(torch, [3.0, -5.0], max_norm=2.0, norm_type="inf")


@suite.same
def order_minus_infinity(torch):
    return clipped(torch, [3.0, -5.0], [4.0], max_norm=2.0, norm_type=-INF)


@suite.same
def order_zero(torch):
    return clipped(torch, [3.0, 0.0, 1.0], [4.0], max_norm=1.0, norm_type=0)


@suite.same
def order_three(torch):
    return clipped(torch, [3.0, -1.0], [4.0], max_norm=1.0, norm_type=3)


@suite.same
def an_order_that_is_no_number(torch):
    return clipped(torch, [3.0], max_norm=1.0, norm_type="large")


@suite.same
def a_limit_of_zero(torch):
    return clipped(torch, [3.0], max_norm=0.0)


@suite.same
def a_negative_limit(torch):
    return clipped(torch, [3.0], max_norm=-1.0)


@suite.same
def gradients_of_zero(torch):
    return clipped(torch, [0.0, 0.0], max_norm=1.0)


@suite.same
def an_infinite_gradient(torch):
    return clipped(torch, [INF, 1.0], max_norm=1.0)


@suite.same
def a_gradient_that_is_nan(torch):
    return clipped(torch, [NAN, 1.0], [2.0], max_norm=1.0)


@suite.same
def error_if_nonfinite(torch):
    clipped(torch, [INF, 1.0], max_norm=1.0, error_if_nonfinite=True)


@suite.same
def error_if_nonfinite_with_nan(torch):
    clipped(torch, [NAN, 1.0], max_norm=1.0, error_if_nonfinite=True)


@suite.same
def gradients_after_error_if_nonfinite(torch):
    given = parameters(torch, [INF, 1.0])
    try:
        torch.nn.utils.clip_grad_norm_(given, 1.0, error_if_nonfinite=True)
    except RuntimeError:
        return given[0].grad


@suite.same
def parameters_without_a_gradient(torch):
    given = parameters(torch, None, [3.0], None)
    return torch.nn.utils.clip_grad_norm_(given, 1.0), [p.grad for p in given]


@suite.same
def no_gradients_at_all(torch):
    return torch.nn.utils.clip_grad_norm_(parameters(torch, None), 1.0)


@suite.same
def no_parameters(torch):
    return torch.nn.utils.clip_grad_norm_([], 1.0)


@suite.same
def a_single_tensor(torch):
    parameter, = parameters(torch, [3.0, 4.0])
    return torch.nn.utils.clip_grad_norm_(parameter, 1.0), parameter.grad


@suite.same
def a_generator_of_parameters(torch):
    given = parameters(torch, [3.0], [4.0])
    return torch.nn.utils.clip_grad_norm_((p for p in given), 1.0), [p.grad for p in given]


@suite.same
def an_empty_generator_warns(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        total = torch.nn.utils.clip_grad_norm_((p for p in []), 1.0)
    return total, [w.category.__name__ for w in caught]


@suite.same
def an_empty_list_does_not_warn(torch):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.nn.utils.clip_grad_norm_([], 1.0)
    return len(caught)


@suite.same
def clipping_keeps_the_gradient_object(torch):
    parameter, = parameters(torch, [3.0])
    gradient = parameter.grad
    torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    return parameter.grad is gradient, gradient


@suite.same
def the_total_is_not_part_of_a_graph(torch):
    x = torch.ones(2, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    total = torch.nn.utils.clip_grad_norm_(x, 1.0)
    return total, total.requires_grad, x.grad


@suite.same
def clipping_in_half_precision(torch):
    return clipped(torch, [3.0, 4.0], max_norm=1.0, dtype="float16")


@suite.same
def clipping_in_bfloat16(torch):
    return clipped(torch, [3.0, 4.0], max_norm=1.0, dtype="bfloat16")


@suite.same
def clipping_two_dtypes(torch):
    given = parameters(torch, [3.0]) + parameters(torch, [4.0], dtype="float64")
    return torch.nn.utils.clip_grad_norm_(given, 1.0), [p.grad for p in given]


@suite.same
def clipping_complex_gradients(torch):
    return clipped(torch, [3.0 + 4.0j], max_norm=1.0, dtype="complex64")


@suite.same
def foreach_is_accepted(torch):
    return [clipped(torch, [3.0], [4.0], max_norm=1.0, foreach=choice) for choice in (True, False, None)]


@suite.same
def an_empty_gradient_among_others(torch):
    return clipped(torch, [], [3.0], max_norm=1.0)


@suite.same
def a_limit_that_is_a_tensor(torch):
    return clipped(torch, [3.0, 4.0], max_norm=torch.tensor(1.0))


@suite.same
def the_old_name_warns(torch):
    given = parameters(torch, [3.0, 4.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        total = torch.nn.utils.clip_grad_norm(given, 1.0)
    return total, given[0].grad, [w.category.__name__ for w in caught]


# ---- get_total_norm and clip_grads_with_norm_ ----------------------------------------------------------------------------
@suite.same
def total_norm_of_tensors(torch):
    return torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])


@suite.same
def total_norm_of_one_tensor(torch):
    return torch.nn.utils.get_total_norm(torch.tensor([3.0, 4.0]), norm_type=1)


@suite.same
def total_norm_of_nothing(torch):
    return torch.nn.utils.get_total_norm([])


@suite.same
def total_norm_of_a_generator(torch):
    return torch.nn.utils.get_total_norm(torch.tensor([n]) for n in (3.0, 4.0))


@suite.same
def total_norm_refuses_nan(torch):
    torch.nn.utils.get_total_norm([torch.tensor([NAN])], error_if_nonfinite=True)


@suite.same
def total_norm_of_a_tensor_that_requires_grad(torch):
    return torch.nn.utils.get_total_norm([torch.ones(4, requires_grad=True)]).requires_grad


@suite.same
def total_norm_of_integers(torch):
    torch.nn.utils.get_total_norm([torch.tensor([3, 4])])


@suite.same
def clipping_in_two_steps(torch):
    given = parameters(torch, [3.0], [4.0], None)
    total = torch.nn.utils.get_total_norm([p.grad for p in given[:2]])
    return torch.nn.utils.clip_grads_with_norm_(given, 1.0, total), [p.grad for p in given]


@suite.same
def clipping_with_a_norm_of_another_group(torch):
    given = parameters(torch, [3.0])
    torch.nn.utils.clip_grads_with_norm_(given, 1.0, torch.tensor(30.0))
    return given[0].grad


@suite.same
def clipping_nothing_with_a_norm(torch):
    return torch.nn.utils.clip_grads_with_norm_([], 1.0, torch.tensor(3.0))


# ---- clip_grad_value_ ----------------------------------------------------------------------------------------------------
@suite.same
def clipping_values(torch):
    given = parameters(torch, [3.0, -3.0, 0.5], None)
    return torch.nn.utils.clip_grad_value_(given, 1.0), [p.grad for p in given]


@suite.same
def clipping_values_of_one_tensor(torch):
    parameter, = parameters(torch, [3.0, -INF, NAN])
    torch.nn.utils.clip_grad_value_(parameter, 2)
    return parameter.grad


@suite.same
def clipping_values_of_a_generator(torch):
    given = parameters(torch, [3.0], [-4.0])
    torch.nn.utils.clip_grad_value_(iter(given), 1.0, foreach=True)
    return [p.grad for p in given]


@suite.same
def clipping_values_of_no_parameters(torch):
    return torch.nn.utils.clip_grad_value_([], 1.0)


@suite.same
def clipping_values_with_a_limit_that_is_no_number(torch):
    torch.nn.utils.clip_grad_value_(parameters(torch, [3.0]), "large")


@suite.same
def clipping_complex_values(torch):
    torch.nn.utils.clip_grad_value_(parameters(torch, [3.0 + 1.0j], dtype="complex64"), 1.0)


# ---- vectors of parameters -----------------------------------------------------------------------------------------------
@suite.same
def parameters_as_a_vector(torch):
    model = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(model.weight, 2.0)
    torch.nn.init.ones_(model.bias)
    vector = torch.nn.utils.parameters_to_vector(model.parameters())
    return vector, vector.requires_grad


@suite.same
def a_vector_of_parameters_is_differentiable(torch):
    given = [torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(3))]
    (torch.nn.utils.parameters_to_vector(given) * torch.arange(7.0)).sum().backward()
    return [p.grad for p in given]


@suite.same
def a_vector_of_no_parameters(torch):
    torch.nn.utils.parameters_to_vector([])


@suite.same
def a_vector_of_parameters_that_are_not_contiguous(torch):
    torch.nn.utils.parameters_to_vector([torch.ones(2, 3).t()])


@suite.same
def a_vector_of_two_dtypes(torch):
    return torch.nn.utils.parameters_to_vector([torch.ones(2), torch.ones(1, dtype=torch.float64)])


@suite.same
def a_vector_of_a_number_and_an_empty_parameter(torch):
    return torch.nn.utils.parameters_to_vector([torch.tensor(3.0), torch.ones(0, 2), torch.ones(1)])


@suite.same
def parameters_from_a_vector(torch):
    given = [torch.nn.Parameter(torch.ones(2, 2)), torch.nn.Parameter(torch.ones(()))]
    same = list(given)
    result = torch.nn.utils.vector_to_parameters(torch.arange(5.0), given)
    return result, given, [a is b for a, b in zip(same, given, strict=True)], given[0].requires_grad


@suite.same
def parameters_share_the_memory_of_the_vector(torch):
    vector, parameter = torch.zeros(4), torch.nn.Parameter(torch.ones(2, 2))
    torch.nn.utils.vector_to_parameters(vector, [parameter])
    vector[0] = 5.0
    return parameter


@suite.same
def a_vector_that_is_too_long(torch):
    parameter = torch.nn.Parameter(torch.ones(2))
    torch.nn.utils.vector_to_parameters(torch.arange(5.0), [parameter])
    return parameter


@suite.same
def a_vector_that_is_too_short(torch):
    torch.nn.utils.vector_to_parameters(torch.arange(3.0), [torch.nn.Parameter(torch.ones(2, 2))])


@suite.differs("a vector too short for `vector_to_parameters`", torch=[0.0, 1.0], lucid=[7.0, 7.0])
def parameters_after_a_vector_that_is_too_short(torch):
    given = [torch.nn.Parameter(torch.full((2,), 7.0)) for _ in range(2)]
    try:
        torch.nn.utils.vector_to_parameters(torch.arange(3.0), given)
    except RuntimeError:
        return given[0].tolist()


@suite.same
def a_vector_that_is_a_list(torch):
    torch.nn.utils.vector_to_parameters([1.0, 2.0], [torch.nn.Parameter(torch.ones(2))])


@suite.same
def a_vector_that_requires_grad(torch):
    parameter = torch.nn.Parameter(torch.ones(2))
    torch.nn.utils.vector_to_parameters(torch.arange(2.0, requires_grad=True) * 2, [parameter])
    return parameter, parameter.is_leaf


@suite.same
def a_round_trip_through_a_vector(torch):
    model = torch.nn.Linear(3, 2)
    before = [p.detach().clone() for p in model.parameters()]
    vector = torch.nn.utils.parameters_to_vector(model.parameters())
    torch.nn.utils.vector_to_parameters(vector * 2, model.parameters())
    return [bool((p == 2 * b).all()) for p, b in zip(model.parameters(), before, strict=True)]


test_behaviour = suite.test()
