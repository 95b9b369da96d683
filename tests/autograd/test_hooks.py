"""Hooks of tensors, and `retain_grad`, around in-place writes and views: as PyTorch calls them, in their order."""
from __future__ import annotations

import itertools
import random
import warnings
from typing import Any

import numpy as np
import pytest

import lucid


def leaf(values, device="cpu"):
    return lucid.tensor(values, device=device).requires_grad_()


# ---- retain_grad -------------------------------------------------------------------------------------------------------
def test_the_kept_gradient_is_that_of_the_elements_written_last(device):
    x = leaf([1.0, 2.0], device)
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    assert y.retains_grad
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0] and x.grad.tolist() == [10.0, 10.0]


def test_the_kept_gradient_is_that_after_all_hooks(device):
    x = leaf([1.0], device)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert y.grad.item() == 20 and x.grad.item() == 40


def test_hooks_stay_with_the_elements_that_they_were_registered_for(device):
    x, seen = leaf([1.0], device), []
    y = x * 2
    y.register_hook(lambda g: seen.append(("before", g.item())))
    y.retain_grad()
    y.mul_(5)
    y.register_hook(lambda g: seen.append(("after", g.item())))
    (y * 3).sum().backward()
    assert seen == [("after", 3.0), ("before", 15.0)] and y.grad.item() == 3


def test_the_gradient_of_a_view_is_kept_over_a_write_to_its_base(device):
    x = leaf([1.0, 2.0], device)
    b = x * 1
    v, u = b[:1], b[1:]
    v.retain_grad()
    b.mul_(3)
    assert v.retains_grad and not u.retains_grad
    (v * v).sum().backward()
    assert v.grad.tolist() == [6.0] and u.grad is None and x.grad.tolist() == [18.0, 0.0]


def test_the_gradient_of_a_base_is_kept_over_a_write_to_its_view(device):
    b = leaf([1.0, 2.0], device) * 1
    b.retain_grad()
    b[:1].mul_(3)
    b[1:].mul_(4)
    (b * b).sum().backward()
    assert b.grad.tolist() == [6.0, 16.0]


def test_retain_grad_with_the_graph_kept_or_recorded():
    x = leaf([3.0])
    y = x * 2
    y.retain_grad()
    y.mul_(5)
    z = (y ** 2).sum()
    z.backward(retain_graph=True)
    assert y.grad.item() == 2 * y.item()
    z.backward(create_graph=True)
    assert y.grad.item() == 4 * y.item() and y.grad.requires_grad
    (second,) = lucid.autograd.grad(y.grad.sum(), y)
    assert second.item() == 2


def test_two_tensors_of_one_node_keep_their_own_gradients():
    b = lucid.nn.Buffer(lucid.ones(1), track_grad=True)
    module = lucid.nn.Module()
    module.register_buffer("b", b)
    computed = leaf([2.0]) * 3
    module.b.assign(computed)
    computed.retain_grad()
    module.b.retain_grad()
    (module.b * 2).sum().backward()
    assert computed.grad.item() == 2 and module.b.grad.item() == 2


def test_retain_grad_is_forgotten_with_the_history():
    y = leaf([1.0]) * 2
    y.retain_grad()
    y.retain_grad()
    y.sum().backward()
    assert y.grad.item() == 1  # asked for twice, kept once
    y.detach_()
    assert not y.retains_grad
    x = leaf([1.0])
    x.retain_grad()
    assert not x.retains_grad
    with pytest.raises(RuntimeError, match="can't retain_grad"):
        lucid.ones(1).retain_grad()


def test_an_infinite_gradient_passes_a_written_view(device):
    x = leaf([1.0, 2.0], device)
    b = x * 1
    b[:1].mul_(0.5)
    (b * lucid.tensor([np.inf, 2.0], device=device)).sum().backward()
    assert x.grad.tolist() == [np.inf, 2.0]


# ---- backward(inputs=...) ----------------------------------------------------------------------------------------------
def test_inputs_that_are_no_leaves_keep_their_gradient(device):
    x = leaf([1.0], device)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    z = (y * y).sum()
    z.backward(inputs=[y], retain_graph=True)
    assert y.grad.item() == 40 and x.grad is None and y.retains_grad
    z.backward()
    assert y.grad.item() == 80 and x.grad.item() == 80


# ---- against PyTorch ---------------------------------------------------------------------------------------------------
STEPS: dict[str, Any] = {
    "hook": lambda y, w, log: y.register_hook(lambda g: (log.append(g.tolist()), g * 10)[1]),
    "another hook": lambda y, w, log: y.register_hook(lambda g: log.append(g.tolist())),
    "retain": lambda y, w, log: y.retain_grad(),
    "write": lambda y, w, log: y.mul_(w[:len(y)]),
}


def ordered(t: Any, order: tuple[str, ...], view: str, create_graph: bool, twice: bool, inputs: str) -> Any:
    """What the hooks saw and the gradients, for STEPS in `order` on a tensor, its base or a view of it."""
    x, w = t.tensor([1.0, 2.0], requires_grad=True), t.tensor([3.0, 4.0], requires_grad=True)
    log: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.tolist()))
    base = x * 2
    part = base[:1]
    for step in order:
        target = part if (view == "part" and step == "retain") or (view == "part is written" and step == "write") else base
        STEPS[step](target, w, log)
    loss = (base * base).sum() + part.sum()
    chosen = {"none": None, "leaf": [x], "base": [base], "both": [x, part]}[inputs]
    for _ in range(2 if twice else 1):
        loss.backward(create_graph=create_graph, retain_graph=twice or create_graph, inputs=chosen)
    tensors = (x, w, base, part)
    return log, [None if one.grad is None else one.grad.tolist() for one in tensors], [one.retains_grad for one in tensors]


def test_every_order_of_hooks_retain_grad_and_writes_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    orders = [order for length in (2, 3, 4) for order in itertools.permutations(STEPS, length)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, order in enumerate(orders):
            for view in ("none", "part", "part is written"):
                options = [(False, False, "none"), (True, False, "none"), (False, True, "none"), (True, True, "leaf"),
                           (False, True, "base"), (False, False, "both")][number % 3::3]
                for option in options:
                    assert ordered(lucid, order, view, *option) == ordered(torch, order, view, *option), (order, view, option)


def run(t: Any, seed: int) -> Any:
    """What program number `seed` of hooks, writes and views leaves: gradients, and what the hooks saw; "error" if it raises."""
    r = random.Random(seed)
    x, w = (t.tensor(values, requires_grad=True, dtype=t.float64) for values in ([1.0, 2.0, 3.0, 4.0], [0.5, 2.0, -1.0, 3.0]))
    whole, views, log, handles = [x * 2], [], [], []
    hooks = itertools.count()

    def hook() -> Any:
        number, factor = next(hooks), r.choice([None, 10.0, 0.5])
        return lambda g: (log.append((number, g.tolist())), None if factor is None else g * factor)[1]

    try:
        for _ in range(r.randint(3, 10)):
            kind = r.choice(["hook", "hook", "retain", "write", "write", "view", "new", "post", "remove"])
            target = r.choice(whole + views)
            if kind == "hook":
                # PyTorch crashes, or does not call them, where views with hooks or their bases are written.
                handles.append(r.choice([*whole, x, w]).register_hook(hook()))
            elif kind == "retain":
                target.retain_grad()
            elif kind == "write":
                target.mul_(r.choice([w, x])[:len(target)] if r.random() < 0.7 else 0.5)
            elif kind == "view":
                views.append(r.choice([target[:max(1, len(target) // 2)], target.view(-1), target[-1:]]))
            elif kind == "new":
                whole.append(r.choice([target * w[:len(target)], target + 1, target.sin()]))
            elif kind == "post":
                number = next(hooks)
                x.register_post_accumulate_grad_hook(lambda p, n=number: log.append((n, p.grad.tolist())))
            elif handles:
                r.choice(handles).remove()
        loss = sum(one.sum() for one in whole + views)
        create, retain, inputs = r.random() < 0.3, r.choice([None, True]), r.choice([None, None, [x]])
        for _ in range(2 if retain or create else 1):
            loss.backward(retain_graph=retain, create_graph=create, inputs=inputs)
    except RuntimeError:
        return "error"
    tensors = [*whole, *views, x, w]
    return sorted(log), [None if one.grad is None else one.grad.tolist() for one in tensors], [one.retains_grad for one in tensors]


def test_random_programs_of_hooks_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(300):
            ours, theirs = run(lucid, seed), run(torch, seed)
            assert type(ours) is type(theirs), (seed, ours, theirs)
            if ours != "error":
                np.testing.assert_equal(rounded(ours), rounded(theirs), err_msg=str(seed))


def rounded(value: Any) -> Any:
    """`value` with its floats in twelve digits."""
    if isinstance(value, float):
        return float(f"{value:.11e}")
    return [rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
