"""User-defined differentiable functions."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import lucid
from lucid.autograd import Function, gradcheck, gradgradcheck, once_differentiable


def tensor(values, device="cpu", requires_grad=True):
    return lucid.tensor(np.asarray(values, "float64"), device=device, requires_grad=requires_grad)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class SumAndProduct(Function):
    """Two tensors and a number in, two tensors out, with setup_context."""

    @staticmethod
    def forward(a, b, scale=2.0):
        return (a + b) * scale, a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b, ctx.scale = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def backward(ctx, g_sum, g_product):
        a, b = ctx.saved_tensors
        return g_sum * ctx.scale + g_product * b, g_sum * ctx.scale + g_product * a, None


def test_gradients(device):
    x = tensor([0.5, 1.0, 2.0], device)
    for function in (Cube, Exp):
        assert gradcheck(function.apply, x)
        assert gradgradcheck(function.apply, x)


def test_third_derivative():
    x = tensor(2.0)
    y = Cube.apply(x)
    for expected in (12.0, 12.0, 6.0):
        (y,) = lucid.autograd.grad(y, x, create_graph=True)
        assert y.item() == expected


def test_several_outputs_and_setup_context(device):
    a, b = tensor([1.0, 2.0], device), tensor([3.0, 4.0], device)
    assert gradcheck(SumAndProduct.apply, (a, b, 3.0))
    assert gradgradcheck(SumAndProduct.apply, (a, b))
    total, product = SumAndProduct.apply(a, b, scale=1.0)
    assert total.tolist() == [4.0, 6.0] and product.tolist() == [3.0, 8.0]
    product.sum().backward()  # the other output has no gradient: zeros
    assert a.grad.tolist() == [3.0, 4.0]


def test_materialize_grads():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, first, second):
            seen.append((first, second))
            return second * 2, None

    for materialize in (True, False):
        Two.apply(tensor([1.0, 2.0]), materialize)[1].sum().backward()
    assert seen[0][0].tolist() == [0.0, 0.0] and seen[1][0] is None


def test_needs_input_grad_and_unneeded_gradients():
    class Multiply(Function):
        @staticmethod
        def forward(ctx, a, b, name):
            assert ctx.needs_input_grad == (True, False, False)
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs_input_grad == (True, False, False)
            a, b = ctx.saved_tensors
            return g * b, g * a, None  # the second is not wanted, and dropped

    a, b = tensor([1.0]), tensor([2.0], requires_grad=False)
    y = Multiply.apply(a, b, "name")
    y.backward()
    assert a.grad.item() == 2 and b.grad is None
    assert "Multiply" in y.grad_fn.name()


def test_nothing_is_recorded_without_need():
    assert not Cube.apply(tensor([1.0], requires_grad=False)).requires_grad
    with lucid.no_grad():
        assert not Cube.apply(tensor([1.0])).requires_grad

    class Inside(Function):
        @staticmethod
        def forward(ctx, x):
            assert not lucid.is_grad_enabled()
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert not lucid.is_grad_enabled()
            return g * 2

    Inside.apply(tensor([1.0])).backward()


def test_saved_tensors_are_checked_and_freed():
    x = tensor([1.0]) * 1
    y = Cube.apply(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    y = Exp.apply(tensor([1.0]))
    node = y.grad_fn
    assert node.saved_tensors[0].item() == y.item()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        _ = node.saved_tensors
    y = Exp.apply(tensor([1.0]))
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_backward_runs_again_where_nothing_saved_is_asked_for():
    class Tripled(Function):
        @staticmethod
        def forward(ctx, x, saves, reads):
            ctx.reads, ctx.factor = reads, 3
            if saves:
                ctx.save_for_backward(x)
            return x * 3

        @staticmethod
        def backward(ctx, g):
            if ctx.reads:
                assert len(ctx.saved_tensors) <= 1
            return g * ctx.factor, None, None

    for saves in (False, True):
        x = tensor([1.0])
        y = Tripled.apply(x, saves, False)
        y.backward()
        y.backward()
        assert x.grad.item() == 6
        with pytest.raises(RuntimeError, match="second time"):
            _ = y.grad_fn.saved_tensors
        y = Tripled.apply(x, saves, True)
        y.backward()
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_no_reference_cycle():
    gc.disable()
    try:
        y = Exp.apply(tensor([1.0]))
        reference = weakref.ref(y.grad_fn)
        del y
        assert reference() is None
    finally:
        gc.enable()


def test_mark_dirty(device):
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 10

    leaf = tensor([1.0], device)
    x = leaf * 2
    y = AddOne.apply(x)
    assert y is x and x.tolist() == [3.0]
    (x * 5).sum().backward()
    assert leaf.grad.tolist() == [100.0]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        AddOne.apply(tensor([1.0], device))


def test_mark_dirty_must_be_returned():
    class Forgets(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="must all be outputs"):
        Forgets.apply(tensor([1.0]) * 1)


def test_mark_non_differentiable_and_integers():
    class Largest(Function):
        @staticmethod
        def forward(ctx, x):
            index, mask = x.argmax(), (x > 1) * 1.0
            ctx.mark_non_differentiable(mask)
            ctx.save_for_backward(index)
            ctx.shape = x.shape
            return x.max(), index, mask

        @staticmethod
        def backward(ctx, g, g_index, g_mask):
            (index,) = ctx.saved_tensors
            result = g.new_zeros(ctx.shape)
            result[index.item()] = g
            return result

    x = tensor([1.0, 3.0, 2.0])
    value, index, mask = Largest.apply(x)
    assert value.requires_grad and not index.requires_grad and not mask.requires_grad
    value.backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_an_input_returned_as_it_is_becomes_a_new_tensor():
    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = tensor([1.0])
    y = Identity.apply(x)
    assert y is not x and y.data_ptr() == x.data_ptr() and x.is_leaf
    y.backward()
    assert x.grad.item() == 7


def test_once_differentiable():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 2

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not lucid.is_grad_enabled()
            return g * 2 * ctx.saved_tensors[0]

    x = tensor([3.0])
    Once.apply(x).backward()
    assert x.grad.item() == 6
    y = Once.apply(x * 1)
    upstream = tensor([1.0])
    (first,) = lucid.autograd.grad(y, x, upstream, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.backward()


def test_gradients_are_checked():
    def returning(result):
        class Returns(Function):
            @staticmethod
            def forward(ctx, x, n):
                return x * 1

            @staticmethod
            def backward(ctx, g):
                return result(g)

        return Returns.apply(tensor([1.0, 2.0]), 3).sum()

    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        returning(lambda g: g).backward()
    with pytest.raises(RuntimeError, match="different from None at position 2"):
        returning(lambda g: (g, g)).backward()
    with pytest.raises(RuntimeError, match="invalid gradient at index 0"):
        returning(lambda g: (g[:1].expand(3), None)).backward()
    with pytest.raises(TypeError):
        returning(lambda g: (1.0, None)).backward()
    returning(lambda g: (g, None, None, None)).backward()  # superfluous Nones are allowed


def test_gradients_are_summed_and_cast_to_the_input():
    class Broadcast(Function):
        @staticmethod
        def forward(ctx, x):
            return x.expand(2, 3).double() * 1

        @staticmethod
        def backward(ctx, g):
            return g

    x = lucid.tensor([1.0, 2.0, 3.0], requires_grad=True)
    Broadcast.apply(x).sum().backward()
    assert x.grad.dtype == lucid.float32 and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_a_gradient_the_user_keeps_is_not_written_to():
    kept = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            kept.append(g * 1)
            return kept[-1]

    x = tensor([1.0])
    Keeps.apply(x).backward()
    Keeps.apply(x).backward()
    assert x.grad.item() == 2 and [k.item() for k in kept] == [1, 1]


def test_wrong_uses():
    with pytest.raises(RuntimeError, match="should not be instantiated"):
        Cube()
    with pytest.raises(TypeError, match="keyword"):
        Cube.apply(x=tensor([1.0]))

    class Nothing(Function):
        pass

    with pytest.raises(NotImplementedError):
        Nothing.apply(tensor([1.0]))

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

    with pytest.raises(NotImplementedError):
        NoBackward.apply(tensor([1.0])).backward()

    class SavesNumbers(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x

    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        SavesNumbers.apply(tensor([1.0]))


def test_a_write_to_a_view_made_inside_is_refused():
    class First(Function):
        @staticmethod
        def forward(ctx, x):
            return x[0]

        @staticmethod
        def backward(ctx, g):
            return g.expand(2)

    y = First.apply(tensor([1.0, 2.0]) * 1)
    with pytest.raises(RuntimeError, match="custom Function"):
        y.mul_(2)


@pytest.mark.parametrize("forward", [lambda x: x, lambda x: x.view(2), lambda x: x[:1]])
def test_a_view_whose_base_was_written_since_has_no_gradient(forward, device):
    class Shown(Function):
        @staticmethod
        def forward(ctx, x):
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return g.sum().expand(2)

    x = tensor([1.0, 2.0], device)
    z = x * 1
    y = Shown.apply(z)
    part, before = y[:1], y.sum()
    z.mul_(-4)
    assert y.tolist() == z[:len(y)].tolist()
    for view in (y, part, y[:1]):
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace.*custom Function"):
            view.sum().backward()
    with pytest.raises(RuntimeError, match="is being modified inplace.*custom Function"):
        y.mul_(2)
    before.backward(retain_graph=True)  # what was computed in time has its gradient
    assert x.grad.tolist() == [float(len(y))] * 2
    x.grad = None
    (z.sum() + y.detach().sum()).backward()
    assert x.grad.tolist() == [-4.0, -4.0]


def test_what_requires_no_grad_may_be_written_through_a_view_made_inside(device):
    class Itself(Function):
        @staticmethod
        def forward(ctx, x):
            return x

    z = tensor([1.0, 2.0], device, requires_grad=False)
    y = Itself.apply(z)
    y.add_(1)
    assert z.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="custom Function"):
        y.mul_(tensor([1.0, 2.0], device))
    assert z.tolist() == [2.0, 3.0]  # refused before anything is written
    z.mul_(tensor([1.0, 2.0], device))
    with pytest.raises(RuntimeError, match="custom Function"):
        y.sum().backward()


def test_matches_torch():
    torch = pytest.importorskip("torch")

    def build(library):
        class Scaled(library.autograd.Function):
            @staticmethod
            def forward(ctx, x, y, power):
                ctx.save_for_backward(x, y)
                ctx.power = power
                return x ** power * y, x - y

            @staticmethod
            def backward(ctx, g, h):
                x, y = ctx.saved_tensors
                return g * y * ctx.power * x ** (ctx.power - 1) + h, g * x ** ctx.power - h, None

        return Scaled

    results = []
    for library in (lucid, torch):
        x = library.tensor([1.0, 2.0], dtype=library.float64, requires_grad=True)
        y = library.tensor([3.0, 4.0], dtype=library.float64, requires_grad=True)
        a, b = build(library).apply(x, y, 3)
        (gx,) = library.autograd.grad((a * b).sum(), x, create_graph=True)
        gx.sum().backward()
        results.append((gx.tolist(), x.grad.tolist(), y.grad.tolist()))
    np.testing.assert_allclose(results[0], results[1])


def test_the_old_base_class():
    from lucid.autograd.function import InplaceFunction

    class Double(InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = lucid.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2] and Double(inplace=True).inplace
