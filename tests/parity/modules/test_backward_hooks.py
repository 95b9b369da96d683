"""PyTorch's deprecated backward hook of modules, which is not full, and hooks of graph nodes."""
from __future__ import annotations

from ..suite import Suite
from .hooks import attempt, double, layer, leaf, lists

suite = Suite()


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


test_behaviour = suite.test()
