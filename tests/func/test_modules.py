"""lucid.func: what lucid adds to PyTorch's behaviour, which tests/parity/utils/test_functional_call.py compares."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import Tensor, nn
from lucid.func import functional_call


class Running(nn.Module):
    """Keeps a sum of its inputs: in place, by assignment, or in a slot that starts as None."""

    def __init__(self, write: str, track_grad: bool = False) -> None:
        super().__init__()
        self.write = write
        self.factor = nn.Parameter(lucid.tensor(2.0))
        self.total = nn.Buffer(lucid.zeros(2), track_grad=track_grad)
        self.register_buffer("last", None)

    def forward(self, x: Tensor, fail: bool = False) -> Tensor:
        if self.write == "assign":
            self.total = self.total + x * self.factor
        elif self.write == "in place":
            self.total.add_(x)
        elif self.write == "operator":
            self.total += x
        elif self.write == "slot":
            self.last = x * self.factor
        elif self.write == "register":
            self.register_buffer("extra", x.detach().clone(), persistent=False)
        elif self.write == "delete":
            del self.total
        if fail:
            raise ArithmeticError("after the write")
        return x * self.factor


WRITES = ["assign", "in place", "operator", "slot", "register", "delete"]


def snapshot(module: nn.Module) -> list[Any]:
    """What must not change: the objects, their arrays, contents, versions and classes."""
    state = [(n, id(t), id(t._array), t.tolist(), t._version, type(t)) for n, t in module.state_dict(keep_vars=True).items()]
    return [state, {name: set(m._buffers) for name, m in module.named_modules()}, set(module._non_persistent_buffers_set)]


@pytest.mark.parametrize("given", [False, True], ids=["own", "given"])
@pytest.mark.parametrize("write", WRITES)
def test_return_buffers_changes_nothing(write: str, given: bool, device: str) -> None:
    module = Running(write).to(device)
    total = lucid.ones(2, device=device)
    state = {"total": total} if given else {}
    before = snapshot(module)
    out, buffers = functional_call(module, state, lucid.ones(2, device=device), return_buffers=True)
    start = 1.0 if given else 0.0
    expected = {"assign": {"total": [start + 2] * 2}, "in place": {"total": [start + 1] * 2},
                "operator": {"total": [start + 1] * 2}, "slot": {"total": [start] * 2, "last": [2.0, 2.0]},
                "register": {"total": [start] * 2, "extra": [1.0, 1.0]}, "delete": {}}[write]
    assert {name: b.tolist() for name, b in buffers.items()} == expected
    assert all(type(b) is Tensor and b.device == device and not b.requires_grad for b in buffers.values())
    assert snapshot(module) == before
    assert (total.tolist(), total._version, type(total)) == ([1.0, 1.0], 0, Tensor)
    assert state == ({"total": total} if given else {})
    assert out.requires_grad


@pytest.mark.parametrize("write", WRITES)
def test_return_buffers_changes_nothing_when_forward_fails(write: str, device: str) -> None:
    module = Running(write).to(device)
    total = lucid.ones(2, device=device)
    before = snapshot(module)
    with pytest.raises(ArithmeticError):
        functional_call(module, {"total": total}, lucid.ones(2, device=device), {"fail": True}, return_buffers=True)
    assert snapshot(module) == before
    assert total.tolist() == [1.0, 1.0]


def test_returned_buffers_share_no_memory_with_the_module(device: str) -> None:
    module = nn.BatchNorm1d(2).to(device)
    _, buffers = functional_call(module.eval(), {}, lucid.ones(3, 2, device=device), return_buffers=True)
    for buffer in buffers.values():
        buffer.add_(1)
    assert module.running_mean.tolist() == [0.0, 0.0]
    assert module.num_batches_tracked.item() == 0


def test_names_are_those_of_named_buffers() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm1d(2, track_running_stats=False)))
    _, buffers = functional_call(model, {}, lucid.randn(3, 2), return_buffers=True)
    assert list(buffers) == [name for name, _ in model.named_buffers()]
    assert buffers["1.num_batches_tracked"].item() == 1


def test_tied_buffers_stay_tied_in_the_call() -> None:
    model = nn.Sequential(Running("in place"), Running("in place"))
    model[1].total = model[0].total
    _, buffers = functional_call(model, {}, lucid.ones(2), return_buffers=True)
    assert {name: b.tolist() for name, b in buffers.items()} == {"0.total": [3.0, 3.0]}  # 1, and then 2 from the second layer
    assert model[0].total.tolist() == [0.0, 0.0]
    assert model[0].total is model[1].total


def test_buffers_over_one_array_share_it_in_the_call() -> None:
    module = Running("in place")
    module.register_buffer("alias", module.total.detach())
    _, buffers = functional_call(module, {}, lucid.ones(2), return_buffers=True)
    assert buffers["alias"].tolist() == buffers["total"].tolist() == [1.0, 1.0]
    assert module.alias.tolist() == [0.0, 0.0]


def test_a_module_that_is_there_twice() -> None:
    layer = Running("in place")
    _, buffers = functional_call(nn.Sequential(layer, layer), {"0.total": lucid.ones(2)}, lucid.ones(2), return_buffers=True)
    assert buffers["0.total"].tolist() == [4.0, 4.0]
    assert layer.total.tolist() == [0.0, 0.0]


def test_returned_buffers_are_detached_unless_they_track_their_graph(device: str) -> None:
    x = lucid.ones(2, device=device, requires_grad=True)
    _, buffers = functional_call(Running("assign").to(device), {}, x, return_buffers=True)
    assert not buffers["total"].requires_grad
    _, buffers = functional_call(Running("in place").to(device), {}, x, return_buffers=True)
    assert not buffers["total"].requires_grad
    module = Running("assign", track_grad=True).to(device)
    _, buffers = functional_call(module, {}, x, return_buffers=True)
    assert lucid.autograd.grad(buffers["total"].sum(), x)[0].tolist() == [2.0, 2.0]
    assert not module.total.requires_grad


def test_the_gradient_of_a_given_buffer_goes_through_the_copy(device: str) -> None:
    total = lucid.ones(2, device=device, requires_grad=True)
    for write in ("assign", "in place"):
        module, x = Running(write).to(device), lucid.ones(2, device=device)
        _, buffers = functional_call(module, {"total": total}, x, return_buffers=True)
        assert lucid.autograd.grad(buffers["total"].sum(), total)[0].tolist() == [1.0, 1.0]
    assert total.tolist() == [1.0, 1.0]


def test_return_buffers_without_gradients() -> None:
    with lucid.no_grad():
        out, buffers = functional_call(Running("assign", track_grad=True), {}, lucid.ones(2), return_buffers=True)
    assert not out.requires_grad
    assert not buffers["total"].requires_grad


def test_nested_calls_with_return_buffers() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Running("in place")

        def forward(self, x: Tensor) -> Any:
            self.inner(x)
            _, buffers = functional_call(self.inner, {}, x, return_buffers=True)
            return buffers["total"]

    module = Outer()
    inside, buffers = functional_call(module, {}, lucid.ones(2), return_buffers=True)
    assert (inside.tolist(), buffers["inner.total"].tolist()) == ([2.0, 2.0], [1.0, 1.0])
    assert module.inner.total.tolist() == [0.0, 0.0]


def test_wrong_values_are_refused_before_anything_is_copied() -> None:
    module = Running("in place")
    before = snapshot(module)
    tensor = lucid.ones(2)
    cases: dict[str, Any] = {"total": (3, TypeError), "no.such": (tensor, AttributeError), "write": (tensor, TypeError)}
    for name, (value, error) in cases.items():
        with pytest.raises(error):
            functional_call(module, {name: value}, lucid.ones(2), return_buffers=True)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): 'total'"):
        functional_call(module, {"factor": lucid.tensor(1.0)}, lucid.ones(2), strict=True, return_buffers=True)
    assert snapshot(module) == before


def test_a_given_parameter_or_buffer_is_not_registered_in_a_plain_attribute() -> None:
    module = Running("none")
    module.plain = lucid.ones(2)
    own = module.plain
    for given in (nn.Parameter(lucid.zeros(2)), nn.Buffer(lucid.zeros(2))):
        functional_call(module, {"plain": given}, lucid.ones(2))
        assert module.__dict__["plain"] is own
        assert list(module.state_dict()) == ["factor", "total"]


def test_a_given_buffer_keeps_its_options_and_content(device: str) -> None:
    module = Running("assign").to(device)
    given = nn.Buffer(lucid.ones(2, device=device), persistent=False, cast=False)
    state: dict[str, Any] = {"total": given}
    functional_call(module, state, lucid.ones(2, device=device))
    assert (given.tolist(), given.persistent, given.cast) == ([1.0, 1.0], False, False)
    assert (type(state["total"]), state["total"].tolist()) == (Tensor, [3.0, 3.0])


def test_return_buffers_on_the_meta_device() -> None:
    _, buffers = functional_call(nn.BatchNorm1d(2, device="meta"), {}, lucid.ones(3, 2, device="meta"), return_buffers=True)
    assert {name: (b.device, b.shape) for name, b in buffers.items()} == {
        "running_mean": ("meta", (2,)), "running_var": ("meta", (2,)), "num_batches_tracked": ("meta", ())}


def test_a_parametrization_with_buffers_returns_them(device: str) -> None:
    layer = nn.Linear(2, 2).to(device)
    lucid.nn.utils.parametrize.register_parametrization(layer, "bias", Running("in place").to(device))
    before = snapshot(layer)
    given = {"weight": lucid.zeros(2, 2, device=device), "parametrizations.bias.original": lucid.ones(2, device=device),
             "parametrizations.bias.0.total": lucid.zeros(2, device=device)}
    out, buffers = functional_call(layer, given, lucid.ones(1, 2, device=device), return_buffers=True)
    assert out.tolist() == [[2.0, 2.0]]
    assert buffers["parametrizations.bias.0.total"].tolist() == [1.0, 1.0]
    assert given["parametrizations.bias.0.total"].tolist() == [0.0, 0.0]
    assert snapshot(layer) == before


def test_a_lazy_batch_norm_cannot_return_buffers_before_its_first_call() -> None:
    layer = nn.LazyBatchNorm1d()
    with pytest.raises(ValueError, match="shape is not known yet"):
        functional_call(layer, {}, lucid.ones(3, 2), return_buffers=True)
    assert layer.has_uninitialized_params()


def model_and_data(device: str) -> tuple[nn.Module, list[tuple[Tensor, Tensor]]]:
    lucid.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    return model, [(lucid.randn(6, 3, device=device), lucid.randn(6, 1, device=device)) for _ in range(5)]


def test_functional_training_gives_the_numbers_of_stateful_training(device: str) -> None:
    stateful, data = model_and_data(device)
    functional, _ = model_and_data(device)
    untouched = snapshot(functional)
    parameters: dict[str, Any] = {name: p.detach().clone().requires_grad_() for name, p in functional.named_parameters()}
    buffers = dict(functional.named_buffers())
    for x, y in data:
        loss = nn.functional.mse_loss(stateful(x), y)
        stateful.zero_grad()
        loss.backward()
        with lucid.no_grad():  # the fused step of SGD rounds in another way than these two operations
            for p in stateful.parameters():
                p.sub_(0.1 * p.grad)

        output, buffers = functional_call(functional, (parameters, buffers), x, return_buffers=True)
        ours = nn.functional.mse_loss(output, y)
        assert ours.item() == loss.item()
        gradients = lucid.autograd.grad(ours, list(parameters.values()))
        parameters = {name: (p - 0.1 * g).detach().requires_grad_()
                      for (name, p), g in zip(parameters.items(), gradients, strict=True)}
    for name, tensor in stateful.state_dict().items():
        assert {**parameters, **buffers}[name].tolist() == tensor.tolist(), name
    assert snapshot(functional) == untouched


def test_in_place_statistics_in_given_tensors_give_the_same_numbers(device: str) -> None:
    stateful, data = model_and_data(device)
    functional, _ = model_and_data(device)
    untouched = snapshot(functional)
    buffers = {name: b.detach().clone() for name, b in functional.named_buffers()}
    for x, _ in data:
        stateful(x)
        functional_call(functional, buffers, x)
    for name, buffer in stateful.named_buffers():
        assert buffers[name].tolist() == buffer.tolist()
        assert type(buffers[name]) is Tensor
    assert snapshot(functional) == untouched
