"""Full backward hooks and pre-hooks of modules, as in PyTorch."""
from __future__ import annotations

from collections import namedtuple

from ..suite import Raised, Suite
from .hooks import double, layer, leaf, lists, returning, watched

suite = Suite()
Pair = namedtuple("Pair", ["tensor", "number"])


@suite.same
def a_full_backward_hook_sees_both_gradients(torch):
    module, seen = watched(torch, lambda x: x * x * 3)
    x = leaf(torch)
    module(x).sum().backward()
    return seen, x.grad


@suite.same
def arguments_that_are_not_tensors_have_no_gradient(torch):
    module, seen = watched(torch, lambda x, factor, name: x * factor)
    module(leaf(torch), 5, "name").sum().backward()
    return seen


@suite.same
def tensors_without_grad_get_zeros(torch):
    module, seen = watched(torch, lambda x, y: x * y)
    module(leaf(torch), torch.ones(2)).sum().backward()
    return seen


@suite.same
def integer_arguments_get_integer_zeros(torch):
    module, kinds = layer(torch, lambda x, index: x[index]), []
    module.register_full_backward_hook(lambda m, gin, gout: kinds.append([g.dtype for g in gin]))
    module(leaf(torch), torch.tensor([1])).sum().backward()
    return kinds


@suite.same
def unused_inputs_get_zeros(torch):
    module, seen = watched(torch, lambda x, y: x * 2)
    x, y = leaf(torch), leaf(torch)
    module(x, y).sum().backward()
    return seen, y.grad


@suite.same
def unused_outputs_have_none(torch):
    module, seen = watched(torch, lambda x, y: (x * 2, y * 3))
    x, y = leaf(torch), leaf(torch)
    module(x, y)[0].sum().backward()
    return seen, y.grad


@suite.same
def keyword_arguments_are_not_watched(torch):
    module, seen = watched(torch, lambda x, y: x * y)
    x, y = leaf(torch), leaf(torch)
    module(x, y=y).sum().backward()
    return seen, y.grad


@suite.same
def outputs_that_are_not_tensors_have_none(torch):
    module, seen = watched(torch, lambda x: (x * 2, 3, None, torch.tensor([1])))
    module(leaf(torch))[0].sum().backward()
    return seen


@suite.same
def one_tensor_for_two_arguments(torch):
    module, seen = watched(torch, lambda x, y: x * y * y)
    x = leaf(torch)
    module(x, x).sum().backward()
    return seen, x.grad


@suite.same
def one_tensor_for_two_outputs(torch):
    module, seen = watched(torch, lambda x: (x, x))
    first, second = module(leaf(torch))
    (first + second * 3).sum().backward()
    return seen, first is second


@suite.same
def a_named_tuple_stays_one(torch):
    module, seen = watched(torch, lambda x: Pair(x * 2, 3))
    result = module(leaf(torch))
    result.tensor.sum().backward()
    return type(result).__name__, result.number, seen


@suite.differs("backward hooks of a module that returns a named tuple of an operation, such as `max(1)`",
               torch=Raised(TypeError), lucid=([[[[1.0, 0.0], [0.0, 1.0]]], [[1.0, 1.0], None]]))
def a_named_tuple_of_an_operation(torch):
    module, seen = watched(torch, lambda x: x.max(1))
    module(torch.tensor([[2.0, 1.0], [1.0, 2.0]], requires_grad=True)).values.sum().backward()
    return list(seen[0])


@suite.same
def outputs_in_a_list_are_not_watched(torch):
    module, seen = watched(torch, lambda x: [x * 2])
    x = leaf(torch)
    module(x)[0].sum().backward()
    return seen, x.grad


@suite.same
def outputs_in_a_dictionary_are_not_watched(torch):
    module, seen = watched(torch, lambda x: {"result": x * 2})
    x = leaf(torch)
    module(x)["result"].sum().backward()
    return seen, x.grad


@suite.same
def no_output_is_no_error(torch):
    module, seen = watched(torch, lambda x: None)
    return module(leaf(torch)), seen


@suite.same
def nothing_is_watched_without_grad(torch):
    module, seen = watched(torch, lambda x: x * 2)
    x = leaf(torch)
    with torch.no_grad():
        y = module(x)
    return y.requires_grad, y.grad_fn is None, seen


@suite.same
def inputs_without_grad_call_the_hook_at_the_outputs(torch):
    module, seen = torch.nn.Linear(2, 1, bias=False), []
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 2,))
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((gin, lists(gout))))
    module(torch.ones(1, 2)).sum().backward()
    return seen, module.weight.grad


@suite.same
def inputs_without_grad_allow_no_replacement(torch):
    module = torch.nn.Linear(2, 1)
    module.register_full_backward_hook(lambda m, gin, gout: (gout[0],))
    return module(torch.ones(1, 2)).sum().backward()


@suite.same
def inputs_without_grad_allow_a_tuple_of_none(torch):
    module = torch.nn.Linear(2, 1, bias=False)
    module.register_full_backward_hook(lambda m, gin, gout: (None,))
    module(torch.ones(1, 2)).sum().backward()
    return module.weight.grad


@suite.same
def backward_hooks_replace_the_gradient_in_turn(torch):
    module, x = double(torch), leaf(torch)
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] + 1,))
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] * 10,))
    module(x).sum().backward()
    return x.grad


@suite.same
def a_prepended_backward_hook_is_first(torch):
    module, x = double(torch), leaf(torch)
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] + 1,))
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] * 10,), prepend=True)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] + 5,))
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 3,), prepend=True)
    module(x).sum().backward()
    return x.grad


@suite.same
def backward_hooks_see_what_pre_hooks_made_of_the_gradient(torch):
    module, seen = watched(torch, lambda x: x * 2)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 7,))
    module(leaf(torch)).sum().backward()
    return seen


@suite.same
def a_pre_hook_alone_changes_the_gradient(torch):
    module, x = torch.nn.Linear(2, 1, bias=False), leaf(torch, 1, 2)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 7,))
    module(x).sum().backward()
    return module.weight.grad


@suite.same
def a_pre_hook_fills_in_for_an_unused_output(torch):
    module, x = layer(torch, lambda x: (x * 2, x * 3)), leaf(torch)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0], torch.ones(2)))
    module(x)[0].sum().backward()
    return x.grad


suite.same(returning(lambda torch, gin: [gin[0] * 2])).__name__ = "a_backward_hook_returns_a_list"
suite.same(returning(lambda torch, gin: (None,))).__name__ = "a_backward_hook_returns_none_for_a_gradient"
suite.same(returning(lambda torch, gin: gin[0])).__name__ = "a_backward_hook_must_not_return_a_bare_tensor"
suite.same(returning(lambda torch, gin: 3)).__name__ = "a_backward_hook_must_not_return_a_number"
suite.same(returning(lambda torch, gin: (3,))).__name__ = "a_backward_hook_must_return_tensors"
suite.same(returning(lambda torch, gin: ())).__name__ = "a_backward_hook_must_return_as_many_gradients"
suite.same(returning(lambda torch, gin: (gin[0][:1],))).__name__ = "a_backward_hook_must_keep_the_shape"
suite.same(returning(lambda torch, gin: (gin[0].double(),))).__name__ = "a_backward_hook_must_keep_the_dtype"


@suite.differs("None from a backward hook as a gradient", torch=[0.0, 0.0], lucid=None)
def a_gradient_that_ends_in_a_hook_before_a_hooked_module(torch):
    first, _ = watched(torch, lambda x: x * 2)
    second, x = double(torch), leaf(torch)
    second.register_full_backward_hook(lambda m, gin, gout: (None,))
    second(first(x)).sum().backward()
    return None if x.grad is None else x.grad.tolist()


@suite.same
def a_pre_hook_must_return_as_many_gradients(torch):
    module, x = double(torch), leaf(torch)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0], gout[0]))
    return module(x).sum().backward()


@suite.same
def a_pre_hook_must_keep_the_shape(torch):
    module, x = double(torch), leaf(torch)
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0].sum(),))
    return module(x).sum().backward()


@suite.same
def what_a_hook_returns_for_other_arguments_is_ignored(torch):
    module, x = layer(torch, lambda x, factor: x * factor), leaf(torch)
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0], "anything"))
    module(x, 3).sum().backward()
    return x.grad


@suite.same
def an_error_in_a_backward_hook_is_that_of_backward(torch):
    module, x = double(torch), leaf(torch)
    module.register_full_backward_hook(lambda m, gin, gout: {}["missing"])
    return module(x).sum().backward()


@suite.same
def a_hook_removed_before_backward_still_runs(torch):
    module, seen = double(torch), []
    handle = module.register_full_backward_hook(lambda m, gin, gout: seen.append(1))
    y = module(leaf(torch))
    handle.remove()
    y.sum().backward()
    return seen


@suite.same
def a_hook_added_after_the_call_does_not_run(torch):
    module, seen = double(torch), []
    y = module(leaf(torch))
    module.register_full_backward_hook(lambda m, gin, gout: seen.append(1))
    y.sum().backward()
    return seen


@suite.same
def a_module_used_twice_calls_its_hook_twice(torch):
    module, seen = watched(torch, lambda x: x * x)
    x = leaf(torch) * 3
    module(module(x)).sum().backward()
    return seen


@suite.same
def backward_twice_calls_the_hook_twice(torch):
    module, seen = watched(torch, lambda x: x * 2)
    y = module(leaf(torch)).sum()
    y.backward(retain_graph=True)
    y.backward()
    return seen


@suite.same
def backward_hooks_of_nested_modules_in_order(torch):
    net, order = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()), []
    for name, module in net.named_modules():
        module.register_full_backward_pre_hook(lambda m, gout, name=name: order.append("pre " + name))
        module.register_full_backward_hook(lambda m, gin, gout, name=name: order.append(name))
    net(leaf(torch, 1, 2)).sum().backward()
    return order


@suite.same
def gradients_of_parameters_alone_call_no_backward_hook(torch):
    module, seen = torch.nn.Linear(2, 1, bias=False), []
    module.register_full_backward_pre_hook(lambda m, gout: seen.append("pre"))
    module.register_full_backward_hook(lambda m, gin, gout: seen.append("hook"))
    gradient = torch.autograd.grad(module(leaf(torch, 1, 2)).sum(), module.weight)
    return seen, gradient


@suite.same
def gradients_of_the_input_call_the_hook(torch):
    module, seen = watched(torch, lambda x: x * 2)
    x = leaf(torch)
    return torch.autograd.grad(module(x).sum(), x), seen, x.grad


@suite.same
def inputs_reached_past_the_outputs_call_no_hook(torch):
    kept = []
    module, seen = watched(torch, lambda x: kept.append(x) or x * 2)
    x = leaf(torch)
    module(x)
    kept[0].sum().backward()
    return seen, x.grad


@suite.same
def inputs_reached_past_and_through_the_outputs(torch):
    kept = []
    module, seen = watched(torch, lambda x: kept.append(x) or x * 2)
    x = leaf(torch)
    (module(x) + kept[0]).sum().backward()
    return seen, x.grad


@suite.same
def a_double_backward_past_the_outputs_calls_the_hook_once(torch):
    module, seen = watched(torch, lambda x: x ** 3)
    x = torch.full((2,), 2.0, requires_grad=True)
    gradient, = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    gradient.sum().backward()
    return seen, x.grad


@suite.same
def a_double_backward_through_the_outputs_calls_the_hook_again(torch):
    module, seen = watched(torch, lambda x: x.exp())
    x = torch.zeros(2, requires_grad=True)
    gradient, = torch.autograd.grad((module(x) ** 2).sum(), x, create_graph=True)
    gradient.sum().backward()
    return seen, x.grad


@suite.same
def what_a_hook_computes_is_differentiated_again(torch):
    module = layer(torch, lambda x: x ** 3)
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0] ** 2,))
    x = torch.full((2,), 2.0, requires_grad=True)
    gradient, = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    gradient.sum().backward()
    return gradient, x.grad


@suite.same
def hooks_of_a_plain_backward_see_gradients_without_graph(torch):
    module, seen = double(torch), []
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((gin[0].requires_grad, torch.is_grad_enabled())))
    module(leaf(torch)).sum().backward()
    module(leaf(torch)).sum().backward(create_graph=True)
    return seen


@suite.same
def gradients_that_a_hook_keeps_do_not_change(torch):
    module, kept, x = torch.nn.Identity(), [], leaf(torch)
    module.register_full_backward_hook(lambda m, gin, gout: kept.extend([gin[0], gout[0]]))
    for _ in range(3):
        module(x).sum().backward()
    return kept, x.grad


@suite.same
def writing_to_a_watched_output_raises(torch):
    module, _ = watched(torch, lambda x: x * 2)
    return module(leaf(torch)).add_(1)


@suite.same
def writing_to_a_view_of_a_watched_output_raises(torch):
    module, _ = watched(torch, lambda x: x * 2)
    y = module(leaf(torch))
    y[0] = 5
    return y


@suite.same
def writing_to_a_watched_input_raises(torch):
    module, _ = watched(torch, lambda x: x.mul_(2))
    return module(leaf(torch) * 1)


@suite.same
def a_watched_output_may_be_written_without_grad(torch):
    module, _ = watched(torch, lambda x: x * 2)
    y = module(leaf(torch))
    with torch.no_grad():
        y.add_(1)
    return y


@suite.same
def writing_to_an_input_that_needs_no_grad_is_allowed(torch):
    module, _ = watched(torch, lambda x, y: x * y.add_(1))
    x, y = leaf(torch), torch.ones(2)
    module(x, y).sum().backward()
    return x.grad, y


@suite.same
def the_parameter_as_input_arrives_as_a_tensor(torch):
    module, kinds = layer(torch, lambda x: kinds.append(type(x).__name__) or x * 2), []
    module.register_full_backward_hook(lambda *args: None)
    parameter = torch.nn.Parameter(torch.ones(2))
    module(parameter).sum().backward()
    return kinds[0].lower(), parameter.grad


@suite.same
def tensor_hooks_and_module_hooks_together(torch):
    module, order, x = double(torch), [], leaf(torch)
    module.register_full_backward_hook(lambda m, gin, gout: order.append("module"))
    x.register_hook(lambda g: order.append("input"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("accumulated"))
    y = module(x)
    y.register_hook(lambda g: order.append("output"))
    y.sum().backward()
    return order


@suite.same
def in_half_precision_gradients_stay_half(torch):
    module, kinds = double(torch), []
    module.register_full_backward_hook(lambda m, gin, gout: kinds.append((gin[0].dtype, gout[0].dtype)))
    module(torch.ones(2, dtype=torch.bfloat16, requires_grad=True)).sum().backward()
    return kinds


@suite.same
def empty_and_0d_tensors_are_watched(torch):
    module, seen = watched(torch, lambda x, y: (x * 2).sum() + y)
    module(torch.ones(0, 3, requires_grad=True), torch.tensor(1.0, requires_grad=True)).backward()
    return seen


test_behaviour = suite.test()
