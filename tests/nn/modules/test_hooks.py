"""Hooks: what PyTorch has no counterpart for, and what must hold on every device. The comparison is tests/parity/modules/test_*hooks.py."""
from __future__ import annotations

import copy
import gc
import pickle
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid import nn
from lucid.autograd import Function
from lucid.nn.modules.module import global_hooks as _global_hooks
from lucid.nn.modules.module import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
)
from lucid.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


class Double(nn.Module):
    def forward(self, x: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError("forward")
        return x * 2


@pytest.fixture(autouse=True)
def _no_kind_of_backward_hooks() -> Iterator[None]:
    """The kind of the backward hooks of all modules is chosen for the life of the process."""
    _global_hooks.is_full = None
    yield
    _global_hooks.is_full = None


def ones(device: str, *shape: int) -> Any:
    return lucid.ones(*(shape or (2,)), device=device, requires_grad=True)


# ---- around the call -------------------------------------------------------------------------------------------------
def test_forward_hooks_of_one_and_of_all_modules(device: str) -> None:
    module = Double()
    module.register_forward_pre_hook(lambda m, args: args[0] + 1)
    module.register_forward_hook(lambda m, args, out: out * 10)
    with register_module_forward_pre_hook(lambda m, args: args[0] * 3), register_module_forward_hook(lambda m, a, out: out - 1):
        assert module(lucid.ones(2, device=device)).tolist() == [70, 70]
    assert module(lucid.ones(2, device=device)).tolist() == [40, 40]


def test_always_called_hooks_of_all_modules_get_kwargs_after_an_error() -> None:
    # PyTorch leaves the keyword arguments out here, so that the hook fails.
    seen: list[Any] = []
    hook = register_module_forward_hook(lambda m, args, kwargs, out: seen.append((args, kwargs, out)), with_kwargs=True,
                                        always_call=True)
    with hook, pytest.raises(ValueError, match="forward"):
        Double()(1, by=3)
    assert seen == [((1,), {"by": 3}, None)]


def test_an_error_of_an_always_called_hook_becomes_a_warning_at_the_caller() -> None:
    module = Double()
    module.register_forward_hook(lambda *args: 1 // 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced as another error") as caught, pytest.raises(ValueError, match="forward"):
        module(1, by=3)
    assert caught[0].filename == __file__


def test_removing_the_last_hook_of_all_modules_brings_the_short_way_back() -> None:
    handles = [register_module_forward_hook(lambda *args: None, always_call=True, with_kwargs=True),
               register_module_full_backward_hook(lambda *args: None)]
    assert len(_global_hooks.around_calls) == 2
    for handle in handles:
        handle.remove()
    assert not _global_hooks.around_calls
    assert not _global_hooks.forward_hooks_with_kwargs
    assert not _global_hooks.forward_hooks_always_called


# ---- full backward hooks ---------------------------------------------------------------------------------------------
def test_full_backward_hooks(device: str) -> None:
    module, seen, x = nn.Linear(2, 1, bias=False, device=device), [], ones(device, 3, 2)
    module.register_full_backward_hook(lambda m, gin, gout: seen.append((gin[0], gout[0])) or (gin[0] * 2,))
    module(x).sum().backward()
    (gradient, upstream), = seen
    assert gradient.device == upstream.device == device
    assert upstream.tolist() == [[1]] * 3
    assert (gradient == module.weight).all()
    assert (x.grad == module.weight * 2).all()


def test_a_replacement_on_another_device_is_refused() -> None:
    module, x = nn.Identity(), ones("cpu")
    module.register_full_backward_hook(lambda m, gin, gout: (gin[0].gpu(),))
    with pytest.raises(RuntimeError, match="changed the device of a gradient from cpu to gpu"):
        module(x).sum().backward()


def test_gradients_seen_by_a_hook_are_not_shared_with_those_of_leaves(device: str) -> None:
    module, kept, x, y = nn.Identity(), [], ones(device), ones(device)
    module.register_full_backward_hook(lambda m, gin, gout: kept.append(gin[0]) or (gin[0] * 5,))
    for _ in range(2):  # both inputs of the sum get the same array; the second backward adds to y.grad in place
        (module(x) + y).sum().backward()
    assert [gradient.tolist() for gradient in kept] == [[1, 1], [1, 1]]
    assert y.grad.tolist() == [2, 2]
    assert x.grad.tolist() == [10, 10]


def test_a_refused_write_changes_nothing(device: str) -> None:
    module, x = Double(), ones(device, 2, 2)
    module.register_full_backward_hook(lambda *args: None)
    y = module(x)
    for write in (lambda: y.add_(1), lambda: y[0].mul_(2), lambda: y.T[0].zero_(), lambda: y.__setitem__(0, 5.0)):
        with pytest.raises(RuntimeError, match="backward hooks is a view"):
            write()
    assert y.tolist() == [[2, 2], [2, 2]]
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 2]]


def test_a_graph_with_hooks_is_freed_without_the_garbage_collector(device: str) -> None:
    module, x = nn.Linear(2, 2, device=device), ones(device, 1, 2)
    module.register_full_backward_hook(lambda *args: None)
    module.register_full_backward_pre_hook(lambda *args: None)
    gc.disable()
    try:
        y = module(x)
        node = weakref.ref(y._node)
        y.sum().backward()
        del y
        assert node() is None
        alive = weakref.ref(module)
        module.register_load_state_dict_pre_hook(lambda *args: None)
        del module
        assert alive() is None
    finally:
        gc.enable()


def test_watching_without_inputs_that_require_grad_warns_once_a_hook_is_there(device: str) -> None:
    module = nn.Linear(2, 1, device=device)
    module.register_full_backward_pre_hook(lambda *args: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module(lucid.ones(1, 2, device=device)).sum().backward()
    module.register_full_backward_hook(lambda *args: None)
    with pytest.warns(UserWarning, match="no inputs require gradients"):
        module(lucid.ones(1, 2, device=device)).sum().backward()


def test_an_output_that_cannot_be_watched_warns_at_the_caller() -> None:
    module = Double()
    module.register_full_backward_hook(lambda *args: None)
    module.register_forward_hook(lambda m, args, out: {"out": out})
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors") as caught:
        module(ones("cpu"))
    assert caught[0].filename == __file__


def test_a_named_tuple_of_an_operation_is_watched(device: str) -> None:
    class Largest(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.max(1)

    module, seen, x = Largest(), [], ones(device, 2, 3)
    module.register_full_backward_hook(lambda m, gin, gout: seen.append(gout))
    result = module(x)
    result.values.sum().backward()
    assert seen[0][0].tolist() == [1, 1]
    assert seen[0][1] is None
    assert result.indices.shape == (2,)


# ---- the deprecated hook, and hooks of nodes ---------------------------------------------------------------------------
def test_a_hook_that_is_not_full_warns_where_it_misses_something(device: str) -> None:
    module = nn.Sequential(Double(), Double())
    module.register_backward_hook(lambda *args: None)
    with pytest.warns(FutureWarning, match="only the last operation") as caught:
        module(ones(device))
    assert caught[0].filename == __file__
    whole = Double()
    whole.register_backward_hook(lambda *args: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole(ones(device))


def test_a_hook_that_is_not_full_outlives_its_module(device: str) -> None:
    # In PyTorch backward raises RuntimeError here.
    seen: list[Any] = []
    with register_module_backward_hook(lambda m, gin, gout: seen.append(type(m).__name__)):
        y = Double()(ones(device))
    y.sum().backward()
    assert seen == ["Double"]


def test_hooks_of_the_node_of_a_function(device: str) -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    x, seen = ones(device), []
    y = Twice.apply(x)
    handle = y.grad_fn.register_hook(lambda gin, gout: (gin[0] * 10,))
    y.grad_fn.register_hook(lambda gin, gout: seen.append((gin[0].tolist(), gout[0].tolist())))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    assert seen == [([20, 20], [1, 1]), ([2, 2], [1, 1])]
    assert x.grad.tolist() == [22, 22]


def test_hooks_of_a_node_with_several_outputs(device: str) -> None:
    x, seen = lucid.tensor([[1.0, 3.0], [2.0, 0.0]], device=device, requires_grad=True), []
    parts = x.unbind(0)
    parts[0].grad_fn.register_hook(lambda gin, gout: seen.append(len(gin)) or (gin[0] * 3,))
    (parts[0] + parts[1]).sum().backward()
    assert seen
    assert (x.grad >= 1).all()


def test_a_node_hook_still_finds_tensors_written_in_place(device: str) -> None:
    x = ones(device)
    y = x * 2
    z = y * y
    z.grad_fn.register_hook(lambda gin, gout: None)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_node_hook_must_keep_the_dtype(device: str) -> None:
    y = ones(device) * 2
    y.grad_fn.register_hook(lambda gin, gout: (gin[0].double(), *gin[1:]))
    with pytest.raises(RuntimeError, match="another kind of tensor"):
        y.sum().backward()


# ---- registration ----------------------------------------------------------------------------------------------------
def test_a_buffer_keeps_its_identity_when_a_registration_hook_replaces_what_is_assigned(device: str) -> None:
    module = nn.Module()
    module.register_buffer("state", lucid.zeros(2, device=device))
    buffer = module.state
    with register_module_buffer_registration_hook(lambda m, name, value: value + 1):
        module.state = lucid.ones(2, device=device)
    assert module.state is buffer
    assert buffer.tolist() == [2, 2]


# ---- handles ---------------------------------------------------------------------------------------------------------
def test_a_handle_of_a_tensor_hook(device: str) -> None:
    x, seen = ones(device), []
    with x.register_hook(lambda g: seen.append(1)) as handle:
        x.sum().backward()
    x.sum().backward()
    del x
    handle.remove()
    assert seen == [1]


def test_a_handle_is_picklable_after_its_module_is_gone() -> None:
    handle = Double().register_forward_hook(print)
    twin = pickle.loads(pickle.dumps(handle))
    twin.remove()
    assert twin.id == handle.id
    assert Double().register_forward_hook(print).id > twin.id


def test_a_copy_of_a_module_and_its_handle(device: str) -> None:
    module = Double().to(device)
    pair = copy.deepcopy((module, module.register_forward_pre_hook(lambda m, args, kwargs: None, with_kwargs=True)))
    pair[1].remove()
    assert len(module._forward_pre_hooks) == len(module._forward_pre_hooks_with_kwargs) == 1
    assert not pair[0]._forward_pre_hooks
    assert not pair[0]._forward_pre_hooks_with_kwargs


# ---- optimizers ------------------------------------------------------------------------------------------------------
def test_step_hooks_run_again_after_a_step_that_raised(device: str) -> None:
    parameter = nn.Parameter(lucid.ones(2, device=device))
    sgd, count = lucid.optim.SGD([parameter], lr=1.0), []
    with (register_optimizer_step_pre_hook(lambda *args: count.append("pre")),
          register_optimizer_step_post_hook(lambda *args: count.append("post"))):
        with pytest.raises(ZeroDivisionError):
            sgd.step(lambda: 1 // 0)
        sgd.step()
    assert count == ["pre", "pre", "post"]


def test_step_hooks_run_once_around_a_subclass_of_an_optimizer_in_use(device: str) -> None:
    # In PyTorch they run twice if an SGD has been made before.
    class Mine(lucid.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    parameter = nn.Parameter(lucid.ones(2, device=device))
    lucid.optim.SGD([parameter], lr=1.0)
    mine, count = Mine([parameter], lr=1.0), []
    mine.register_step_post_hook(lambda *args: count.append(1))
    mine.step()
    assert count == [1]


# ---- hooks before a graph node ---------------------------------------------------------------------------------------
def test_a_prehook_of_a_node_sees_and_replaces_the_gradients_of_its_outputs(device: str) -> None:
    x = lucid.ones(2, device=device, requires_grad=True)
    y = x * 3
    seen: list[Any] = []
    first = y.grad_fn.register_prehook(lambda grads: seen.append(("pre", grads[0].tolist())) or (grads[0] * 2,))
    y.register_hook(lambda grad: seen.append(("tensor", grad.tolist())) or grad * 10)
    y.grad_fn.register_hook(lambda gin, gout: seen.append(("post", gin[0].tolist(), gout[0].tolist())))
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert seen == [("tensor", [1.0, 1.0]), ("pre", [10.0, 10.0]), ("post", [60.0, 60.0], [20.0, 20.0])]
    assert x.grad.tolist() == [60.0, 60.0]
    assert y.grad.tolist() == [10.0, 10.0]
    assert lucid.autograd.grad(y.sum(), y, retain_graph=True)[0].tolist() == [10.0, 10.0]
    first.remove()
    assert lucid.autograd.grad(y.sum(), x)[0].tolist() == [30.0, 30.0]


@pytest.mark.parametrize(("result", "error"), [
    (lambda g: g[0] * 2, TypeError), (lambda g: [g[0]], TypeError), (lambda g: (), RuntimeError), (lambda g: ("x",), TypeError),
    (lambda g: (lucid.ones(3),), RuntimeError), (lambda g: (g[0].double(),), RuntimeError)])
def test_what_a_prehook_returns_is_checked(result: Any, error: Any) -> None:
    y = lucid.ones(2, requires_grad=True) * 3
    y.grad_fn.register_prehook(result)
    with pytest.raises(error):
        y.sum().backward()


def test_a_prehook_may_end_a_gradient_and_keep_what_it_saw() -> None:
    x = lucid.ones(2, requires_grad=True)
    y = x * 3
    handle = y.grad_fn.register_prehook(lambda grads: (None,))
    y.sum().backward(retain_graph=True)
    assert x.grad is None
    handle.remove()
    kept: list[Any] = []
    y = x + 0
    y.grad_fn.register_prehook(lambda grads: kept.extend(grads))
    y.sum().backward()
    y = x + 0
    y.sum().backward()
    assert kept[0].tolist() == [1.0, 1.0]


class _Split(lucid.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: lucid.Tensor) -> Any:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, *grads: lucid.Tensor) -> Any:
        return grads[0] * 2 + grads[1] * 3


def test_a_prehook_of_an_operation_with_several_outputs() -> None:
    x = lucid.ones(2, requires_grad=True)
    first, second = _Split.apply(x)
    seen: list[Any] = []
    first.grad_fn.register_prehook(lambda grads: seen.append([g.tolist() for g in grads]) or (grads[0] * 10, grads[1]))
    (first + second).sum().backward()
    assert seen == [[[1.0, 1.0], [1.0, 1.0]]]
    assert x.grad.tolist() == [23.0, 23.0]


class _Cube(lucid.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: lucid.Tensor) -> lucid.Tensor:
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx: Any, grad: lucid.Tensor) -> lucid.Tensor:
        return 3 * ctx.saved_tensors[0] ** 2 * grad


def test_a_prehook_of_a_custom_function_and_a_second_derivative() -> None:
    x = lucid.tensor([2.0], requires_grad=True)
    y = _Cube.apply(x)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    (first,) = lucid.autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [24.0]
    assert lucid.autograd.grad(first.sum(), x)[0].tolist() == [24.0]
