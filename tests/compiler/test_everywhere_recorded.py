"""Arrays that are made beside an operation's own kernel - copies for gradients, other memory layouts - are recorded too."""
from __future__ import annotations

import pytest

import lucid
from lucid import nn

from .programs import check, data


@pytest.mark.parametrize(("name", "arguments"), [("clamp_", (-1, 2)), ("square_", ()), ("sin_", ()), ("pow_", (2,)), ("abs_", ())])
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_elements_that_a_gradient_needs_and_an_in_place_operation_overwrites(name, arguments, shape, device):
    def program(compiled):
        w = data(0, *shape).to(device).requires_grad_()

        @compiled
        def step(x):
            w.grad = None
            y = w * x
            getattr(y, name)(*arguments)
            y.sum().backward()
            return w.grad.clone()

        return lambda number: step(data(number, *shape).to(device))

    assert check(program, True).plans


def test_gradients_of_parameters_in_another_memory_layout(device):
    def program(compiled):
        w = data(0, 2, 3, 2, 2).to(device).contiguous(memory_format=lucid.channels_last).requires_grad_()

        @compiled
        def step(x):
            w.grad = None
            loss = (w.flatten() * x).square().sum()
            loss.backward()
            return loss

        return lambda number: (step(data(number, 24).to(device)), w.grad)

    check(program, True)


def test_a_leaf_with_columns_side_by_side():
    def program(compiled):
        step = compiled(lambda x: x.square().sum().backward())

        def call(number):
            x = data(number, 4, 3).T.requires_grad_()
            step(x)
            return x.grad

        return call

    check(program, True)


def test_new_tensors_that_lie_as_another_one_does(device):
    def program(compiled):
        noisy = compiled(lambda x: x + lucid.randn_like(x) * lucid.ones_like(x))
        return lambda number: noisy(data(number, 4, 3).to(device).T)

    check(program, True)


def test_a_number_is_returned_behind_a_new_tensor_in_a_variable():
    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.hidden = nn.GRUCell(3, 4), lucid.zeros(2, 4)

        def forward(self, x):
            hidden = self.cell(x, self.hidden)
            self.hidden = hidden.detach()
            return hidden

    def program(compiled):
        model = Hidden()
        optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)

        @compiled
        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.item()

        return lambda number: (step(data(number, 2, 3)), model.hidden)

    check(program, True)


def test_views_get_their_new_histories_in_the_order_in_which_they_were_made():
    def program(compiled):
        w = data(0, 4, 6).requires_grad_()

        @compiled
        def step(x):
            w.grad = None
            y = x * w
            views = [y.T, y[1:], y[:, 2], y.reshape(-1), y.unsqueeze(0)]
            y.T[0] += 1
            y[:, 1] = 2.0
            sum((view.square().sum() for view in views), y.sum()).backward()
            return w.grad.clone()

        return lambda number: step(data(number, 4, 6))

    check(program, True)
