"""Hooks of modules, of all modules, of state dicts, of graph nodes and of optimizers, as in PyTorch."""
from __future__ import annotations

import copy
import importlib
import pickle
import weakref
from collections import namedtuple
from typing import Any

import lucid

from .suite import Raised, Suite

suite = Suite()
Pair = namedtuple("Pair", ["tensor", "number"])


# ---- helpers ---------------------------------------------------------------------------------------------------------
def layer(torch: Any, forward: Any) -> Any:
    """A module that computes `forward`, and takes keyword arguments."""
    class Layer(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return forward(*args, **kwargs)

    return Layer()


def double(torch: Any) -> Any:
    return layer(torch, lambda x: x * 2)


def leaf(torch: Any, *shape: int) -> Any:
    return torch.ones(*(shape or (2,)), requires_grad=True)


def lists(gradients: Any) -> Any:
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


def watched(torch: Any, forward: Any) -> tuple[Any, list[Any]]:
    """A layer with a full backward hook, and the list of what the hook has seen."""
    module, seen = layer(torch, forward), []
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((lists(gin), lists(gout))))
    return module, seen


def everywhere(torch: Any) -> Any:
    """The module with the hooks of all modules, where the kind of the backward hooks is not chosen yet."""
    module = torch.nn.modules.module
    if torch is lucid:
        from lucid.nn.modules import _global_hooks

        _global_hooks.is_full = None
    else:
        module._global_is_full_backward_hook = None
    return module


def returning(what: Any) -> Any:
    """A script: a full backward hook returns ``what(torch, grad_input)``."""
    def script(torch: Any) -> Any:
        module, x = torch.nn.Identity(), leaf(torch, 2, 3)
        module.register_full_backward_hook(lambda m, gin, gout: what(torch, gin))
        module(x).sum().backward()
        return x.grad

    return script


def module_level_hook(module: Any, args: Any, output: Any) -> Any:
    return output + 1


def module_level_load_hook(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    state_dict[prefix + "bias"] = state_dict[prefix + "bias"] + 5


# ---- forward hooks ---------------------------------------------------------------------------------------------------
@suite.same
def forward_hooks_run_in_order_and_prepended_ones_first(torch):
    module, order = double(torch), []
    for name in "ab":
        module.register_forward_hook(lambda m, args, out, name=name: order.append(name))
        module.register_forward_pre_hook(lambda m, args, name=name: order.append("pre " + name))
    module.register_forward_hook(lambda m, args, out: order.append("first"), prepend=True)
    module.register_forward_pre_hook(lambda m, args: order.append("pre first"), prepend=True)
    module(torch.ones(1))
    return order


@suite.same
def a_pre_hook_returns_one_value_or_a_tuple(torch):
    module, results = layer(torch, lambda *args: len(args)), []
    for value in (5, (1, 2, 3), [1, 2], ()):
        with module.register_forward_pre_hook(lambda m, args, value=value: value):
            results.append(module(0))
    return results


@suite.same
def pre_hooks_see_what_earlier_ones_returned(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_pre_hook(lambda m, args: args[0] * 10)
    return module(torch.ones(2))


@suite.same
def pre_hooks_without_kwargs_do_not_see_them(torch):
    module, seen = layer(torch, lambda x, by=1: x * by), []
    module.register_forward_pre_hook(lambda *args: seen.append(len(args)))
    module.register_forward_hook(lambda *args: seen.append(len(args)))
    return module(torch.ones(2), by=3), seen


@suite.same
def pre_hooks_with_kwargs_replace_both(torch):
    module = layer(torch, lambda x, by=1: x * by)
    module.register_forward_pre_hook(lambda m, args, kwargs: ((args[0] + 1,), {"by": kwargs["by"] * 2}), with_kwargs=True)
    return module(torch.ones(2), by=3)


@suite.same
def a_pre_hook_with_kwargs_must_return_a_pair(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args, kwargs: (1, 2, 3), with_kwargs=True)
    return module(torch.ones(2))


@suite.same
def a_pre_hook_with_kwargs_must_not_return_a_list(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args, kwargs: [args, kwargs], with_kwargs=True)
    return module(torch.ones(2))


@suite.same
def a_pre_hook_may_change_the_kwargs_in_place(torch):
    module = layer(torch, lambda x, by=1: x * by)
    module.register_forward_pre_hook(lambda m, args, kwargs: kwargs.update(by=7), with_kwargs=True)
    return module(torch.ones(2), by=3)


@suite.same
def forward_hooks_replace_the_output_in_turn(torch):
    module = double(torch)
    module.register_forward_hook(lambda m, args, out: out + 1)
    module.register_forward_hook(lambda m, args, out: None)
    module.register_forward_hook(lambda m, args, out: (out, "any"))
    return module(torch.ones(2))


@suite.same
def a_forward_hook_with_kwargs_gets_them_before_the_output(torch):
    module, seen = layer(torch, lambda x, by=1: x * by), []
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append((len(args), kwargs, out)), with_kwargs=True)
    module(torch.ones(1), by=2)
    return seen


@suite.same
def forward_hooks_get_the_args_that_pre_hooks_made(torch):
    module, seen = double(torch), []
    module.register_forward_pre_hook(lambda m, args: args[0] * 3)
    module.register_forward_hook(lambda m, args, out: seen.append(args))
    module(torch.ones(1))
    return seen


@suite.same
def a_falsy_output_of_a_hook_replaces(torch):
    module = double(torch)
    module.register_forward_hook(lambda m, args, out: 0)
    return module(torch.ones(1))


@suite.same
def the_same_hook_twice_runs_twice(torch):
    module = double(torch)
    handles = [module.register_forward_hook(module_level_hook) for _ in range(2)]
    first = module(torch.ones(1))
    handles[0].remove()
    return first, module(torch.ones(1)), len(module._forward_hooks)


@suite.same
def hooks_run_without_grad_and_in_eval(torch):
    module, seen = double(torch), []
    module.register_forward_hook(lambda m, args, out: seen.append((out.requires_grad, m.training)))
    module(leaf(torch))
    with torch.no_grad():
        module.eval()(leaf(torch))
    return seen


@suite.same
def an_error_in_a_hook_is_that_of_the_call(torch):
    module = double(torch)
    module.register_forward_pre_hook(lambda m, args: {}["missing"])
    return module(torch.ones(1))


@suite.same
def calling_forward_leaves_the_hooks_out(torch):
    module = double(torch)
    module.register_forward_hook(module_level_hook)
    return module.forward(torch.ones(1)), module(torch.ones(1))


@suite.same
def hooks_of_children_run_inside_those_of_the_parent(torch):
    net, order = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()), []
    for module in net.modules():
        name = type(module).__name__
        module.register_forward_pre_hook(lambda m, args, name=name: order.append("before " + name))
        module.register_forward_hook(lambda m, args, out, name=name: order.append("after " + name))
    net(torch.ones(1))
    return order


@suite.same
def a_hook_added_during_a_call_waits_for_the_next(torch):
    module, order = double(torch), []

    def add(m, args, out):
        order.append("adder")
        m.register_forward_hook(lambda m, args, out: order.append("added"))

    with module.register_forward_hook(add):
        module(torch.ones(1))
    order.append("next")
    module(torch.ones(1))
    return order


@suite.same
def a_hook_removed_during_a_call_still_runs_in_it(torch):
    module, order = double(torch), []
    handles = []

    def remove(m, args, out):
        order.append("remover")
        handles[0].remove()

    module.register_forward_hook(remove)
    handles.append(module.register_forward_hook(lambda m, args, out: order.append("removed")))
    module(torch.ones(1))
    module(torch.ones(1))
    return order


@suite.same
def a_hook_may_remove_itself(torch):
    module, calls = double(torch), []

    def once(m, args, out):
        calls.append(1)
        handle.remove()

    handle = module.register_forward_hook(once)
    module(torch.ones(1))
    module(torch.ones(1))
    return len(calls)


@suite.same
def forward_set_on_the_instance_is_called_with_hooks(torch):
    module = double(torch)
    module.register_forward_hook(module_level_hook)
    module.forward = lambda x: x * 100
    return module(torch.ones(1))


@suite.same
def a_module_without_forward_raises_when_called(torch):
    return torch.nn.Module()(1)


@suite.same
def calling_a_module_before_its_init_raises(torch):
    class Early(torch.nn.Module):
        def __init__(self):
            pass

        def forward(self, x):
            return x

    return Early()(1)


@suite.same
def registering_a_hook_before_init_raises(torch):
    class Early(torch.nn.Module):
        def __init__(self):
            self.register_forward_hook(module_level_hook)

    return Early()


@suite.same
def forward_hooks_take_their_options_by_keyword_only(torch):
    return double(torch).register_forward_hook(module_level_hook, True)


# ---- hooks that are always called ------------------------------------------------------------------------------------
def fail(*args: Any, **kwargs: Any) -> Any:
    raise ValueError("forward")


def attempt(function: Any, *args: Any, **kwargs: Any) -> str:
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return "no error"


@suite.same
def always_called_hooks_run_after_an_error_with_none(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, out: seen.append("usual"))
    module.register_forward_hook(lambda m, args, out: seen.append(("always", out)), always_call=True)
    return attempt(module, 1), seen


@suite.same
def always_called_hooks_run_once_if_they_raise(torch):
    module, seen = double(torch), []

    def hook(m, args, out):
        seen.append(out)
        raise KeyError("hook")

    module.register_forward_hook(hook, always_call=True)
    return attempt(module, torch.ones(1)), seen


@suite.same
def always_called_hooks_run_after_an_error_in_another_hook(torch):
    module, seen = double(torch), []
    module.register_forward_hook(fail)
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    return attempt(module, torch.ones(1)), seen


@suite.same
def always_called_hooks_run_after_an_error_in_a_pre_hook(torch):
    module, seen = double(torch), []
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_pre_hook(fail)
    module.register_forward_hook(lambda m, args, out: seen.append((args, out)), always_call=True)
    return attempt(module, torch.ones(1)), seen


@suite.same
def always_called_hooks_get_kwargs_after_an_error(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True, always_call=True)
    return attempt(module, 1, by=2), seen


@suite.same
def an_error_of_an_always_called_hook_gives_way_to_the_first(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, out: {}["missing"], always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append(1), always_call=True)
    return attempt(module, 1), seen


@suite.same
def what_an_always_called_hook_returns_after_an_error_goes_to_the_next(torch):
    module, seen = layer(torch, fail), []
    module.register_forward_hook(lambda m, args, out: "replaced", always_call=True)
    module.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    return attempt(module, 1), seen


# ---- handles ---------------------------------------------------------------------------------------------------------
@suite.same
def a_handle_is_a_context_manager_and_removes_once(torch):
    module = double(torch)
    with module.register_forward_hook(module_level_hook) as handle:
        inside = module(torch.ones(1))
    handle.remove()
    return inside, module(torch.ones(1)), type(handle).__name__


@suite.same
def a_handle_removes_its_hook_after_an_error(torch):
    module = double(torch)
    error = attempt(lambda: exec("with hook: raise ValueError", {"hook": module.register_forward_hook(module_level_hook)}))
    return error, len(module._forward_hooks)


@suite.same
def removing_a_hook_with_options_clears_them(torch):
    module = double(torch)
    module.register_forward_hook(module_level_hook, with_kwargs=True, always_call=True).remove()
    module.register_forward_pre_hook(module_level_hook, with_kwargs=True).remove()
    return [len(registry) for registry in (module._forward_hooks, module._forward_hooks_with_kwargs,
                                           module._forward_hooks_always_called, module._forward_pre_hooks_with_kwargs)]


@suite.same
def ids_of_handles_grow(torch):
    module = double(torch)
    first, second = (module.register_forward_hook(module_level_hook) for _ in range(2))
    return second.id - first.id, list(module._forward_hooks) == [first.id, second.id]


@suite.same
def a_handle_does_not_keep_its_module_alive(torch):
    module = double(torch)
    handle, alive = module.register_forward_hook(module_level_hook), weakref.ref(module)
    del module
    handle.remove()
    return alive() is None


@suite.same
def a_copied_module_has_hooks_of_its_own(torch):
    module = double(torch)
    handle = module.register_forward_hook(module_level_hook)
    twin = copy.deepcopy(module)
    handle.remove()
    return module(torch.ones(1)), twin(torch.ones(1))


@suite.same
def a_handle_copied_with_its_module_belongs_to_the_copy(torch):
    module = double(torch)
    module.handle = module.register_forward_hook(module_level_hook, with_kwargs=False, always_call=True)
    twin = copy.deepcopy(module)
    twin.handle.remove()
    return len(module._forward_hooks), len(twin._forward_hooks), len(twin._forward_hooks_always_called)


@suite.same
def a_handle_copied_alone_removes_nothing(torch):
    module = double(torch)
    copy.deepcopy(module.register_forward_hook(module_level_hook)).remove()
    return len(module._forward_hooks)


@suite.same
def hooks_survive_pickling(torch):
    module = torch.nn.Identity()
    module.register_forward_hook(module_level_hook)
    module.register_full_backward_hook(lambda *args: None).remove()
    twin = pickle.loads(pickle.dumps(module))
    return twin(torch.ones(1)), attempt(twin.register_backward_hook, module_level_hook)


@suite.same
def a_pickled_handle_removes_the_hook_of_the_pickled_module(torch):
    module = torch.nn.Identity()
    module.handle = module.register_forward_hook(module_level_hook)
    twin = pickle.loads(pickle.dumps(module))
    twin.handle.remove()
    later = twin.register_forward_hook(module_level_hook)
    return len(module._forward_hooks), len(twin._forward_hooks), later.id > module.handle.id


@suite.same
def a_hook_that_cannot_be_pickled_raises(torch):
    module = torch.nn.Identity()
    module.register_forward_hook(lambda *args: None)
    return attempt(pickle.dumps, module) in ("AttributeError", "PicklingError")


@suite.same
def a_bound_method_as_hook_is_bound_to_the_copy(torch):
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.register_forward_hook(self.count)

        def count(self, module, args, output):
            self.calls += 1

        def forward(self, x):
            return x

    module = Counting()
    twin = copy.deepcopy(module)
    twin(1)
    return module.calls, twin.calls


# ---- full backward hooks ---------------------------------------------------------------------------------------------
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


# ---- the deprecated hook that is not full ------------------------------------------------------------------------------
@suite.same
def register_backward_hook_sees_the_last_operation(torch):
    module, seen, x = layer(torch, lambda x, y: x * y), [], torch.full((2,), 3.0, requires_grad=True)
    module.register_backward_hook(lambda m, gin, gout: seen.append((m is module, lists(gin), lists(gout))))
    module(x, torch.full((2,), 5.0)).sum().backward()
    return seen, x.grad


@suite.same
def register_backward_hook_replaces_the_gradient(torch):
    module, x = double(torch), leaf(torch)
    module.register_backward_hook(lambda m, gin, gout: (gin[0] * 10, *gin[1:]))
    module.register_backward_hook(lambda m, gin, gout: (gin[0] + 1, *gin[1:]))
    module(x).sum().backward()
    return x.grad


@suite.same
def register_backward_hook_must_return_a_tuple(torch):
    module = double(torch)
    module.register_backward_hook(lambda m, gin, gout: gin[0])
    return module(leaf(torch)).sum().backward()


@suite.same
def register_backward_hook_must_keep_the_shape(torch):
    module = double(torch)
    module.register_backward_hook(lambda m, gin, gout: (gin[0].sum(), *gin[1:]))
    return module(leaf(torch)).sum().backward()


@suite.same
def register_backward_hook_must_return_as_many_gradients(torch):
    module = double(torch)
    module.register_backward_hook(lambda m, gin, gout: gin + gin)
    return module(leaf(torch)).sum().backward()


@suite.same
def register_backward_hook_must_not_invent_a_gradient(torch):
    module = layer(torch, lambda x, y: x * y)
    module.register_backward_hook(lambda m, gin, gout: (gin[0], gin[0]))
    return module(leaf(torch), torch.ones(2)).sum().backward()


@suite.same
def register_backward_hook_watches_the_first_tensor_of_a_nested_result(torch):
    seen = []
    for result in (lambda x: {"n": 1, "y": x * 2}, lambda x: [(x * 2,)], lambda x: (x * 2, x * 3)):
        module = layer(torch, result)
        module.register_backward_hook(lambda m, gin, gout: seen.append(lists(gout)))
        y = module(leaf(torch))
        while not hasattr(y, "backward"):
            y = y["y"] if isinstance(y, dict) else y[0]
        y.sum().backward()
    return seen


@suite.same
def register_backward_hook_refuses_a_result_without_tensors(torch):
    errors = []
    for result in (None, [], 5, {"a": 1}):
        module = layer(torch, lambda x, result=result: result)
        module.register_backward_hook(lambda m, gin, gout: None)
        errors.append(attempt(module, leaf(torch)))
    return errors


@suite.same
def register_backward_hook_does_nothing_without_grad(torch):
    module, seen = double(torch), []
    module.register_backward_hook(lambda m, gin, gout: seen.append(1))
    with torch.no_grad():
        return module(leaf(torch)).requires_grad, seen


@suite.same
def register_backward_hook_after_a_full_one_raises(torch):
    module = double(torch)
    module.register_full_backward_hook(lambda *args: None).remove()
    return module.register_backward_hook(lambda *args: None)


@suite.same
def register_full_backward_hook_after_the_other_raises(torch):
    module = double(torch)
    module.register_backward_hook(lambda *args: None)
    return module.register_full_backward_hook(lambda *args: None)


@suite.same
def register_backward_hook_beside_a_full_pre_hook(torch):
    module, order = double(torch), []
    module.register_backward_hook(lambda m, gin, gout: order.append(lists(gout)))
    module.register_full_backward_pre_hook(lambda m, gout: (gout[0] * 3,))
    module(leaf(torch)).sum().backward()
    return order


@suite.differs("deprecated `register_backward_hook`", torch=[(3,), None, (2, 3)], lucid=[None, (3, 2), (3,)])
def register_backward_hook_of_a_linear_layer(torch):
    module, shapes = torch.nn.Linear(2, 3), []
    module.register_backward_hook(lambda m, gin, gout: shapes.extend(None if g is None else tuple(g.shape) for g in gin))
    module(torch.ones(4, 2)).sum().backward()
    return shapes


@suite.same
def hooks_of_a_graph_node(torch):
    x, seen = leaf(torch), []
    y = x * 2
    with y.grad_fn.register_hook(lambda gin, gout: (gin[0] * 5, *gin[1:])):
        y.grad_fn.register_hook(lambda gin, gout: seen.append((lists(gin)[0], lists(gout))))
        y.sum().backward()
    return x.grad, seen


# ---- hooks of all modules --------------------------------------------------------------------------------------------
@suite.same
def hooks_of_all_modules_run_before_the_modules_own(torch):
    net, order, module = torch.nn.Sequential(torch.nn.ReLU()), [], everywhere(torch)
    net[0].register_forward_pre_hook(lambda m, args: order.append("own pre"), prepend=True)
    net[0].register_forward_hook(lambda m, args, out: order.append("own"), prepend=True)
    with module.register_module_forward_pre_hook(lambda m, args: order.append("pre " + type(m).__name__)):
        with module.register_module_forward_hook(lambda m, args, out: order.append(type(m).__name__)):
            net(torch.ones(1))
    net(torch.ones(1))
    return order


@suite.same
def hooks_of_all_modules_replace_inputs_and_outputs(torch):
    module = everywhere(torch)
    with module.register_module_forward_pre_hook(lambda m, args: args[0] + 1):
        with module.register_module_forward_hook(lambda m, args, out: out * 10):
            return double(torch)(torch.ones(2))


@suite.same
def forward_hooks_of_all_modules_with_kwargs(torch):
    seen = []
    with everywhere(torch).register_module_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True):
        layer(torch, lambda x, by: x * by)(torch.ones(2), by=3)
    return seen


@suite.same
def forward_hooks_of_all_modules_are_always_called(torch):
    seen = []
    with everywhere(torch).register_module_forward_hook(lambda m, args, out: seen.append((args, out)), always_call=True):
        with everywhere(torch).register_module_forward_hook(lambda m, args, out: seen.append("never")):
            return attempt(layer(torch, fail), 1), seen


@suite.differs("`register_module_forward_hook(with_kwargs=True, always_call=True)` after an error", torch=[], lucid=[{"by": 3}])
def forward_hooks_of_all_modules_get_kwargs_after_an_error(torch):
    seen = []
    with everywhere(torch).register_module_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs), with_kwargs=True,
                                                        always_call=True):
        attempt(layer(torch, fail), 1, by=3)
    return seen


@suite.same
def pre_hooks_of_all_modules_have_no_options(torch):
    return everywhere(torch).register_module_forward_pre_hook(lambda m, args: None, with_kwargs=True)


@suite.same
def full_backward_hooks_of_all_modules(torch):
    order, module, x = [], everywhere(torch), leaf(torch)
    one = double(torch)
    one.register_full_backward_hook(lambda m, gin, gout: (gin[0] + 1,))
    one.register_full_backward_pre_hook(lambda m, gout: (gout[0] + 1,))
    with module.register_module_full_backward_hook(lambda m, gin, gout: order.append(lists(gin)) or (gin[0] * 10,)):
        with module.register_module_full_backward_pre_hook(lambda m, gout: (gout[0] * 3,)):
            one(x).sum().backward()
    return order, x.grad


@suite.same
def backward_hooks_of_all_modules_that_are_not_full(torch):
    seen, module = [], double(torch)
    with everywhere(torch).register_module_backward_hook(lambda m, gin, gout: seen.append(lists(gout))):
        module(leaf(torch)).sum().backward()
    return seen


@suite.same
def backward_hooks_of_all_modules_are_of_one_kind(torch):
    module, errors = everywhere(torch), []
    module.register_module_full_backward_hook(lambda *args: None).remove()
    errors.append(attempt(module.register_module_backward_hook, lambda *args: None))
    module = everywhere(torch)
    module.register_module_backward_hook(lambda *args: None).remove()
    errors.append(attempt(module.register_module_full_backward_hook, lambda *args: None))
    everywhere(torch)
    return errors


@suite.same
def full_hooks_of_all_modules_beside_other_hooks_of_one(torch):
    order, module = [], double(torch)
    module.register_backward_hook(lambda m, gin, gout: order.append("own"))
    with everywhere(torch).register_module_full_backward_hook(lambda m, gin, gout: order.append("all")):
        module(leaf(torch)).sum().backward()
    return order


@suite.same
def registration_hooks_see_what_is_registered(torch):
    seen, module = [], everywhere(torch)

    def note(kind):
        return lambda m, name, value: seen.append((kind, type(m).__name__, name))

    with (module.register_module_buffer_registration_hook(note("buffer")),
          module.register_module_parameter_registration_hook(note("parameter")),
          module.register_module_module_registration_hook(note("module"))):
        net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
        net.register_buffer("steps", torch.zeros(1))
        net.steps = torch.ones(1)
        net.register_buffer("later", None)
        net.other = torch.nn.ReLU()
        net.other = None
        net.add_module("last", None)
        net.register_parameter("none", None)
        net.none = torch.nn.Parameter(torch.ones(1))
        net.plain = 3
    return seen


@suite.same
def registration_hooks_replace_what_is_registered(torch):
    module = everywhere(torch)
    net = torch.nn.Module()
    net.register_buffer("old", torch.zeros(2))
    with (module.register_module_buffer_registration_hook(lambda m, name, value: value + 1),
          module.register_module_parameter_registration_hook(lambda m, name, p: torch.nn.Parameter(p.detach() * 10)),
          module.register_module_module_registration_hook(lambda m, name, child: torch.nn.Tanh())):
        net.register_buffer("new", torch.zeros(2))
        net.old = torch.full((2,), 5.0)
        net.weight = torch.nn.Parameter(torch.ones(2))
        net.child = torch.nn.ReLU()
        net.add_module("second", torch.nn.ReLU())
    return net.state_dict(), [type(child).__name__ for child in net.children()]


@suite.same
def registration_hooks_do_not_run_for_what_is_refused(torch):
    seen = []
    net = torch.nn.Linear(1, 1)
    with everywhere(torch).register_module_buffer_registration_hook(lambda *args: seen.append(1)):
        return attempt(net.register_buffer, "weight", torch.ones(1)), attempt(net.register_buffer, "a.b", None), seen


@suite.same
def an_error_of_a_registration_hook_prevents_the_registration(torch):
    net = torch.nn.Module()
    with everywhere(torch).register_module_parameter_registration_hook(fail):
        error = attempt(setattr, net, "weight", torch.nn.Parameter(torch.ones(1)))
    return error, list(net._parameters)


# ---- state dicts -----------------------------------------------------------------------------------------------------
def nested(torch: Any) -> Any:
    return torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False)))


@suite.same
def state_dict_hooks_in_order_with_prefixes(torch):
    net, order = nested(torch), []
    for module in net.modules():
        module.register_state_dict_pre_hook(lambda m, prefix, keep_vars: order.append(("pre", prefix, keep_vars)))
        module.register_state_dict_post_hook(lambda m, state, prefix, metadata: order.append((prefix, list(state), metadata)))
    net.state_dict(prefix="root.", keep_vars=True)
    return order


@suite.same
def a_public_state_dict_hook_must_return_none(torch):
    module = torch.nn.Linear(1, 1)
    module.register_state_dict_post_hook(lambda *args: {})
    return module.state_dict()


@suite.same
def a_private_state_dict_hook_replaces_the_result_of_the_root_only(torch):
    net = nested(torch)
    net[0]._register_state_dict_hook(lambda m, state, prefix, metadata: {"inner": 1})
    inner = list(net.state_dict())
    net._register_state_dict_hook(lambda m, state, prefix, metadata: {"outer": 1})
    return inner, net.state_dict()


@suite.same
def a_public_state_dict_hook_cannot_be_registered_privately_too(torch):
    module = torch.nn.Linear(1, 1)

    def hook(*args):
        return None

    module.register_state_dict_post_hook(hook)
    return module._register_state_dict_hook(hook)


@suite.same
def a_bound_method_cannot_be_a_public_state_dict_hook(torch):
    module = torch.nn.Linear(1, 1)
    return module.register_state_dict_post_hook(module.extra_repr)


@suite.same
def a_state_dict_hook_may_rename_keys_in_place(torch):
    module = torch.nn.Linear(1, 1, bias=False)
    module.register_state_dict_post_hook(lambda m, state, prefix, metadata: state.update(new=state.pop(prefix + "weight")))
    return list(module.state_dict())


@suite.same
def load_pre_hooks_in_order_with_prefixes(torch):
    net, order = nested(torch), []
    for module in net.modules():
        module.register_load_state_dict_pre_hook(
            lambda m, state, prefix, metadata, strict, missing, unexpected, errors:
            order.append((type(m).__name__, prefix, list(state), metadata.get("version"), strict, missing, unexpected, errors)))
    net.load_state_dict(net.state_dict())
    return order


@suite.same
def a_load_pre_hook_may_change_what_is_loaded(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(module_level_load_hook)
    state = {"weight": torch.ones(1, 1), "bias": torch.ones(1)}
    module.load_state_dict(state)
    return module.state_dict(), state


@suite.same
def private_load_pre_hooks_get_the_module_only_if_asked(torch):
    module, counts = torch.nn.Linear(1, 1), []
    module._register_load_state_dict_pre_hook(lambda *args: counts.append(len(args)))
    module._register_load_state_dict_pre_hook(lambda *args: counts.append((len(args), args[0] is module)), with_module=True)
    module.load_state_dict(module.state_dict())
    return counts


@suite.same
def a_load_pre_hook_adds_errors_and_keys(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, state, prefix, meta, strict, missing, unexpected, errors:
                                             unexpected.append("extra"))
    loose = module.load_state_dict(module.state_dict(), strict=False)
    return loose.unexpected_keys, module.load_state_dict(module.state_dict())


@suite.same
def errors_of_a_load_pre_hook_are_raised_even_if_not_strict(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(lambda m, state, prefix, meta, strict, missing, unexpected, errors:
                                             errors.append("no"))
    return module.load_state_dict(module.state_dict(), strict=False)


@suite.same
def load_pre_hooks_survive_copies_with_their_module(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(module_level_load_hook)
    twins = copy.deepcopy(module), pickle.loads(pickle.dumps(module))
    for twin in twins:
        twin.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(1)})
    return [twin.bias for twin in twins]


@suite.same
def a_load_pre_hook_does_not_keep_its_module_alive(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(module_level_load_hook)
    alive = weakref.ref(module)
    del module
    return alive() is None


@suite.same
def load_post_hooks_run_from_the_leaves_to_the_root(torch):
    net, order = nested(torch), []
    for name, module in net.named_modules():
        module.register_load_state_dict_post_hook(lambda m, keys, name=name: order.append((name, type(keys).__name__.strip("_"))))
    net.load_state_dict(net.state_dict())
    return order


@suite.same
def a_load_post_hook_may_forgive_keys(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    return module.load_state_dict({"weight": torch.ones(1, 1)}).missing_keys, module.weight


@suite.same
def a_load_post_hook_may_complain(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.append("more"))
    return module.load_state_dict(module.state_dict())


@suite.same
def a_load_post_hook_must_return_none(torch):
    module = torch.nn.Linear(1, 1)
    module.register_load_state_dict_post_hook(lambda m, keys: keys)
    return module.load_state_dict(module.state_dict())


@suite.same
def hooks_of_state_dicts_are_removed_by_their_handles(torch):
    module, seen = torch.nn.Linear(1, 1), []
    handles = [module.register_state_dict_pre_hook(lambda *args: seen.append(1)),
               module.register_state_dict_post_hook(lambda *args: seen.append(2)),
               module.register_load_state_dict_pre_hook(lambda *args: seen.append(3)),
               module.register_load_state_dict_post_hook(lambda *args: seen.append(4))]
    module.load_state_dict(module.state_dict())
    for handle in handles:
        handle.remove()
    module.load_state_dict(module.state_dict())
    return seen


@suite.differs("`register_load_state_dict_post_hook`", torch=["pre 0", "post 0", "pre 1", "post 1"],
               lucid=["pre 0", "pre 1", "post 0", "post 1"])
def load_post_hooks_beside_the_pre_hooks_of_other_modules(torch):
    net, order = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)), []
    for name, module in net.named_children():
        module.register_load_state_dict_pre_hook(lambda m, *rest, name=name: order.append("pre " + name))
        module.register_load_state_dict_post_hook(lambda m, keys, name=name: order.append("post " + name))
    net.load_state_dict(net.state_dict())
    return order


@suite.differs("`register_load_state_dict_post_hook`", torch=[["0.bias"], ["0.bias", "1.bias"]],
               lucid=[["0.bias", "1.bias"], ["0.bias", "1.bias"]])
def load_post_hooks_see_missing_keys(torch):
    net, seen = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)), []
    for module in net:
        module.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(keys.missing_keys)))
    state = {key: value for key, value in net.state_dict().items() if "weight" in key}
    net.load_state_dict(state, strict=False)
    return seen


# ---- optimizers ------------------------------------------------------------------------------------------------------
def all_optimizers(torch: Any) -> Any:
    """The module with the hooks of all optimizers."""
    return importlib.import_module(f"{torch.__name__}.optim.optimizer")


def optimizer(torch: Any) -> tuple[Any, Any]:
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    return torch.optim.SGD([parameter], lr=0.1), parameter


@suite.same
def step_hooks_of_one_and_of_all_optimizers_in_order(torch):
    sgd, _ = optimizer(torch)
    order, module = [], all_optimizers(torch)
    sgd.register_step_pre_hook(lambda *args: order.append("own pre"))
    sgd.register_step_post_hook(lambda *args: order.append("own post"))
    with module.register_optimizer_step_pre_hook(lambda *args: order.append("all pre")):
        with module.register_optimizer_step_post_hook(lambda *args: order.append("all post")):
            sgd.step()
    sgd.step()
    return order


@suite.same
def step_hooks_get_the_arguments(torch):
    sgd, _ = optimizer(torch)
    seen = []
    sgd.register_step_pre_hook(lambda o, args, kwargs: seen.append((o is sgd, args[0] is sgd, len(args), list(kwargs))))
    sgd.step(lambda: 1.0)
    sgd.step(closure=None)
    return seen


@suite.same
def a_step_pre_hook_replaces_the_arguments(torch):
    sgd, _ = optimizer(torch)
    with all_optimizers(torch).register_optimizer_step_pre_hook(lambda o, args, kwargs: ((o, lambda: 5.0), {})):
        return sgd.step()


@suite.same
def a_step_pre_hook_must_return_a_pair(torch):
    sgd, parameter = optimizer(torch)
    sgd.register_step_pre_hook(lambda *args: 3)
    return attempt(sgd.step), parameter


@suite.same
def what_a_step_post_hook_returns_is_ignored(torch):
    sgd, _ = optimizer(torch)
    sgd.register_step_post_hook(lambda *args: 3)
    return sgd.step(lambda: 1.0)


@suite.same
def an_error_in_a_step_pre_hook_leaves_the_parameters(torch):
    sgd, parameter = optimizer(torch)
    with all_optimizers(torch).register_optimizer_step_pre_hook(fail):
        return attempt(sgd.step), parameter


@suite.same
def step_hooks_run_once_in_a_subclass(torch):
    class Base(torch.optim.Optimizer):
        def step(self, closure=None):
            return 5

    class Mine(Base):
        def step(self, closure=None):
            return super().step(closure) + 1

    mine, count = Mine([torch.nn.Parameter(torch.ones(2))], {}), []
    mine.register_step_post_hook(lambda *args: count.append(1))
    return mine.step(), len(count)


@suite.same
def state_dict_hooks_of_an_optimizer(torch):
    sgd, _ = optimizer(torch)
    order = []
    sgd.register_state_dict_pre_hook(lambda o: order.append("pre"))
    sgd.register_state_dict_pre_hook(lambda o: order.append("first"), prepend=True)
    sgd.register_state_dict_post_hook(lambda o, state: order.append(sorted(state)))
    sgd.register_state_dict_post_hook(lambda o, state: {"replaced": 1})
    return sgd.state_dict(), order


@suite.same
def load_hooks_of_an_optimizer(torch):
    sgd, _ = optimizer(torch)
    order, state = [], sgd.state_dict()

    def faster(o, loaded):
        order.append("pre")
        group = {**loaded["param_groups"][0], "lr": 7.0}
        return {**loaded, "param_groups": [group]}

    sgd.register_load_state_dict_pre_hook(faster)
    sgd.register_load_state_dict_pre_hook(lambda o, loaded: order.append("first"), prepend=True)
    sgd.register_load_state_dict_post_hook(lambda o: order.append(o.param_groups[0]["lr"]))
    sgd.load_state_dict(state)
    return order, state["param_groups"][0]["lr"]


@suite.same
def a_load_hook_of_an_optimizer_gets_a_shallow_copy(torch):
    sgd, _ = optimizer(torch)
    state = sgd.state_dict()
    sgd.register_load_state_dict_pre_hook(lambda o, loaded: loaded.update(mine=1))
    sgd.load_state_dict(state)
    return "mine" in state


@suite.same
def hooks_of_an_optimizer_are_not_copied(torch):
    sgd, _ = optimizer(torch)
    seen = []
    sgd.register_step_pre_hook(lambda *args: seen.append(1))
    copy.deepcopy(sgd).step()
    pickle.loads(pickle.dumps(sgd)).step()
    return seen


test_behaviour = suite.test()
