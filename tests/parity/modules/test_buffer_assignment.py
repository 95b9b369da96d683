"""Buffers as attributes: assignment, writes in place, and the memory and gradients behind them."""
from __future__ import annotations

from ..models import message, stateful
from ..suite import Suite

suite = Suite()


@suite.same
def assignment_changes_shape_and_dtype(torch):
    module = stateful(torch)
    module.b = torch.ones(3, dtype=torch.int64)
    return module.state_dict()["b"]


@suite.same
def assigning_none_and_back(torch):
    module = stateful(torch)
    module.b = None
    empty = list(module.state_dict())
    module.b = torch.ones(1)
    return empty, list(module.state_dict()), [name for name, _ in module.named_buffers()]


@suite.same
def assigning_what_is_no_tensor(torch):
    return [message(lambda v=v: setattr(stateful(torch), "b", v)).split(":")[0] for v in (1.0, [1.0], "x", torch.nn.ReLU)]


@suite.same
def an_in_place_operator_on_the_attribute(torch):
    module = stateful(torch)
    module.b += 2
    module.b[0] = 7
    return module.b, list(module.state_dict())


@suite.same
def the_memory_of_an_assigned_tensor_is_shared(torch):
    module, value = stateful(torch), torch.zeros(2)
    module.b = value
    value.add_(1)
    return module.b


@suite.same
def a_tensor_written_after_an_operation_saved_the_buffer(torch):
    module = stateful(torch)
    loss = (module.w * module.b).sum()
    module.b.add_(1)
    loss.backward()


@suite.same
def a_buffer_assigned_after_an_operation_saved_it(torch):
    module = stateful(torch)
    module.b = torch.full((2,), 3.0)
    loss = (module.w * module.b).sum()
    module.b = torch.full((2,), 100.0)
    loss.backward()
    return module.w.grad


@suite.same
def a_view_of_a_buffer_stays_with_its_memory(torch):
    module, weight = stateful(torch), torch.full((1,), 4.0, requires_grad=True)
    view = module.b[:1]
    module.b = torch.full((2,), 9.0)
    view.add_(weight)
    view.sum().backward()
    return module.b, module.b.requires_grad, view, weight.grad


@suite.same
def a_gradient_through_writes_to_a_buffer(torch):
    module, weight = stateful(torch), torch.full((1,), 4.0, requires_grad=True)
    module.b[1:] = weight * 3
    (module.b * module.w).sum().backward()
    return weight.grad, module.w.grad


@suite.same
def a_write_to_a_tensor_is_not_seen_by_views_of_its_detached_alias(torch):
    base, weight = torch.ones(2), torch.ones(2, requires_grad=True)
    view = base.detach()[:1]
    base.mul_(weight)
    return view.requires_grad, base.requires_grad


test_behaviour = suite.test()
