"""A custom function that returns a view of its input, or the input itself, and writes to one of the two afterwards."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.parity.suite import Suite

suite = Suite()


def whole(x: Any) -> Any:
    return x.view(4)


def itself(x: Any) -> Any:
    return x


def function(torch: Any, forward: Callable[[Any], Any], constant: bool = False) -> Callable[..., Any]:
    """A function whose gradient of each element is the sum of the upstream gradients."""
    class Summed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = forward(x)
            if constant:
                ctx.mark_non_differentiable(result)
                return result, x * 2
            return result

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return sum(g.sum() for g in gradients) * torch.ones(4)

    return Summed.apply


def written(torch: Any, forward: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function that doubles its input in place and marks it dirty."""
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return sum(gradients) * 2

    return Doubled.apply


def start(torch: Any) -> tuple[Any, Any]:
    leaf = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    return leaf, leaf * 1


def script(forward: Callable[[Any], Any], steps: Callable[[Any, Any, Any], Any], constant: bool = False) -> Any:
    """Apply a function to z, take ``steps(torch, z, w)``, and give the gradient of the sum of what they return."""
    def run(torch: Any) -> Any:
        leaf, z = start(torch)
        w = function(torch, forward, constant)(z)
        loss = steps(torch, z, w)
        loss.sum().backward()
        return leaf.grad, z, loss

    return run


def scripts() -> None:
    forwards: dict[str, Callable[[Any], Any]] = {
        "whole": whole, "itself": itself, "half": lambda x: x[:2], "a copy": lambda x: x * 1, "detached": lambda x: x.detach(),
        "a view of a view": lambda x: x.view(2, 2)[0], "a view of a copy": lambda x: (x * 1)[1:]}
    steps: dict[str, Callable[[Any, Any, Any], Any]] = {
        "write to the input, use the output": lambda t, z, w: (z.mul_(-4), w)[1],
        "write to the input, use the input": lambda t, z, w: z.mul_(-4),
        "use the output, write to the input": lambda t, z, w: (w.sum(), z.mul_(-4))[0],
        "write to the output, use it": lambda t, z, w: w.mul_(-4),
        "write to the output, use the input": lambda t, z, w: (w.mul_(-4), z)[1],
        "write to a view of the input": lambda t, z, w: (z[1:].mul_(-4), w)[1],
        "write to a view of the output": lambda t, z, w: (w[:1].mul_(-4), w)[1],
        "write to the input, use a view of the output": lambda t, z, w: ((part := w[:1]), z.mul_(-4), part)[2],
        "write to the input, use a later view": lambda t, z, w: (z.mul_(-4), w[:1])[1],
        "write twice": lambda t, z, w: (z.mul_(-4), z.add_(1), w)[2],
        "assign to the input": lambda t, z, w: (z.__setitem__(slice(0, 1), 7.0), w)[1],
        "assign to the output": lambda t, z, w: (w.__setitem__(slice(0, 1), 7.0), w)[1],
        "another function writes": lambda t, z, w: (written(t, itself)(z), w)[1],
        "another function writes to the output": lambda t, z, w: written(t, itself)(w),
        "read without grad": lambda t, z, w: z.mul_(-4) + w.detach(),
    }
    for form, forward in forwards.items():
        for kind, step in steps.items():
            run = script(forward, step)
            run.__name__ = f"{form}: {kind}"
            suite.same(run)


scripts()


@suite.same
def several_views(torch):
    leaf, z = start(torch)
    first, second = function(torch, lambda x: (x[:2], x[2:]))(z)
    z.mul_(3)
    (first + second).sum().backward()


@suite.same
def a_view_and_a_copy(torch):
    leaf, z = start(torch)
    first, second = function(torch, lambda x: (x.view(4), x * 2))(z)
    z.mul_(3)
    second.sum().backward()
    return leaf.grad


@suite.same
def the_view_beside_a_copy(torch):
    leaf, z = start(torch)
    first, second = function(torch, lambda x: (x.view(4), x * 2))(z)
    z.mul_(3)
    (first + second).sum().backward()


@suite.same
def an_input_that_is_a_view(torch):
    leaf, z = start(torch)
    v = z[:]
    w = function(torch, whole)(v)
    z.mul_(3)
    w.sum().backward()


@suite.same
def an_input_that_is_a_view_and_written_itself(torch):
    leaf, z = start(torch)
    v = z[:]
    w = function(torch, itself)(v)
    v.mul_(3)
    w.sum().backward()


@suite.same
def a_dirty_view(torch):
    leaf, z = start(torch)
    v = z[:2]
    w = written(torch, itself)(v)
    z.mul_(3)
    w.sum().backward()
    return leaf.grad, w is v


@suite.same
def a_dirty_view_of_what_was_written(torch):
    leaf, z = start(torch)
    v = z[:2]
    z.mul_(3)
    written(torch, itself)(v)
    z.sum().backward()
    return leaf.grad


@suite.same
def a_constant_view(torch):
    leaf, z = start(torch)
    w, other = function(torch, whole, constant=True)(z)
    z.mul_(3)
    (w * other).sum().backward()


@suite.same
def a_write_to_a_constant_view(torch):
    leaf, z = start(torch)
    w, other = function(torch, whole, constant=True)(z)
    w.mul_(3)


@suite.same
def an_input_handed_through_as_a_constant(torch):
    leaf, z = start(torch)
    w, other = function(torch, itself, constant=True)(z)
    w.mul_(3)
    return z, w, w.requires_grad


@suite.same
def a_leaf_handed_through(torch):
    leaf, _ = start(torch)
    w = function(torch, itself)(leaf)
    w.mul_(3)


@suite.same
def nothing_requires_grad(torch):
    z = torch.ones(4)
    w, part = function(torch, itself)(z), function(torch, lambda x: x[:2])(z)
    w.mul_(3)
    part.add_(1)
    part[0] = 7
    return z, w, w is z, w.requires_grad


@suite.same
def what_is_written_requires_grad(torch):
    leaf, _ = start(torch)
    z = torch.ones(4)
    w = function(torch, itself)(z)
    w.mul_(leaf)


@suite.same
def what_is_written_to_the_base_requires_grad(torch):
    leaf, _ = start(torch)
    z = torch.ones(4)
    w = function(torch, whole)(z)
    z.mul_(leaf)
    (w * leaf).sum().backward()


@suite.same
def a_hooked_module_that_gives_its_input(torch):
    leaf, z = start(torch)
    module = torch.nn.Identity()
    module.register_full_backward_hook(lambda m, gin, gout: None)
    w = module(z)
    z.mul_(3)
    w.sum().backward()


test_behaviour = suite.test()
