"""What users get wrong: each a clear error of PyTorch's class, and nothing half-changed. Most run the same call on PyTorch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lucid
from lucid import nn

Call = Callable[[Any], Any]


def _cross_entropy(t: Any, labels: list[int]) -> Any:
    return t.nn.functional.cross_entropy(t.zeros(len(labels), 4), t.tensor(labels))


# name -> (a call on `lucid` or `torch`, what lucid's message must contain)
CASES: dict[str, tuple[Call, str]] = {
    "add shapes": (lambda t: t.ones(2, 3) + t.ones(4), r"must match the size of tensor b \(4\)"),
    "matmul shapes": (lambda t: t.ones(2, 3) @ t.ones(4, 5), r"mat1|shape|size"),
    "matmul dtypes": (lambda t: t.ones(2, 3) @ t.ones(3, 2, dtype=t.float64), "dtype"),
    "linear shapes": (lambda t: t.nn.Linear(3, 2)(t.ones(4, 5)), r"shape|size"),
    "linear dtypes": (lambda t: t.nn.Linear(3, 2)(t.ones(4, 3, dtype=t.float64)), "dtype"),
    "conv channels": (lambda t: t.nn.Conv2d(3, 2, 1)(t.ones(1, 4, 5, 5)), "channels"),
    "conv rank": (lambda t: t.nn.Conv2d(3, 2, 1)(t.ones(5, 5)), "3D|4D|dim"),
    "conv kernel too large": (lambda t: t.nn.Conv2d(1, 1, 7)(t.ones(1, 1, 5, 5)), "[Kk]ernel size"),
    "conv dtypes": (lambda t: t.nn.Conv2d(1, 1, 1)(t.ones(1, 1, 2, 2, dtype=t.float64)), "type"),
    "batch norm channels": (lambda t: t.nn.BatchNorm2d(3)(t.ones(2, 4, 5, 5)), "running_mean|channels|features"),
    "batch norm one value": (lambda t: t.nn.BatchNorm1d(3)(t.ones(1, 3)), "more than 1 value per channel"),
    "batch norm rank": (lambda t: t.nn.BatchNorm2d(3)(t.ones(2, 3)), "expected 4D input"),
    "layer norm shape": (lambda t: t.nn.LayerNorm(5)(t.ones(2, 4)), "normalized_shape|shape"),
    "pool too large": (lambda t: t.nn.MaxPool2d(9)(t.ones(1, 1, 4, 4)), "too small|size"),
    "dropout p": (lambda t: t.nn.Dropout(1.5), "between 0 and 1"),
    "label too large": (lambda t: _cross_entropy(t, [0, 7]), "Target 7 is out of bounds"),
    "label negative": (lambda t: _cross_entropy(t, [0, -3]), "Target -3 is out of bounds"),
    "label dtype": (lambda t: t.nn.functional.cross_entropy(t.zeros(2, 4), t.tensor([0, 1], dtype=t.int32)), "Long|int64|Int"),
    "label count": (lambda t: _cross_entropy(t, [0, 1]) + t.nn.functional.cross_entropy(t.zeros(2, 4), t.tensor([0])), "batch"),
    "nll label": (lambda t: t.nn.functional.nll_loss(t.zeros(1, 4), t.tensor([9])), "out of bounds"),
    "embedding index": (lambda t: t.nn.Embedding(3, 2)(t.tensor([3])), "out of range"),
    "embedding dtype": (lambda t: t.nn.Embedding(3, 2)(t.tensor([0.5])), "Long|Int|indices"),
    "index too large": (lambda t: t.ones(3)[5], "out of (range|bounds)"),
    "index array": (lambda t: t.ones(3)[t.tensor([0, 5])], "out of (range|bounds)"),
    "index too many": (lambda t: t.ones(3)[0, 0], "too many indices"),
    "mask shape": (lambda t: t.ones(3)[t.tensor([True, False])], "mask"),
    "negative step": (lambda t: t.ones(3)[::-1], "step"),
    "gather index": (lambda t: t.gather(t.ones(3), 0, t.tensor([4])), "out of (range|bounds)"),
    "reshape": (lambda t: t.ones(6).reshape(4, 2), "invalid for input of size 6"),
    "view of a transpose": (lambda t: t.ones(2, 3).t().view(6), "view size is not compatible"),
    "cat shapes": (lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]), "Sizes of tensors must match except in dimension 0"),
    "cat nothing": (lambda t: t.cat([]), "non-empty list"),
    "stack shapes": (lambda t: t.stack([t.ones(2), t.ones(3)]), "equal size"),
    "dim": (lambda t: t.ones(2, 3).sum(2), "Dimension out of range"),
    "mean of integers": (lambda t: t.tensor([1, 2]).mean(), "floating point|dtype"),
    "max of nothing": (lambda t: t.ones(0).max(), "numel|empty|specify"),
    "bool subtraction": (lambda t: t.tensor([True]) - t.tensor([True]), "operator"),
    "not a number": (lambda t: t.ones(2) + "a", "unsupported operand"),
    "integers by zero": (lambda t: t.tensor([1]) // t.tensor([0]), "ZeroDivisionError"),
    "negative integer power": (lambda t: t.tensor([2]) ** -1, "negative integer powers"),
    "backward without gradient": (lambda t: t.ones(2, requires_grad=True).exp().backward(), "scalar outputs"),
    "backward of a constant": (lambda t: t.ones(1).backward(), "does not require grad"),
    "gradient shape": (lambda t: t.ones(2, requires_grad=True).exp().backward(t.ones(3)), "Mismatch in shape"),
    "gradient of integers": (lambda t: t.tensor([1], requires_grad=True), "floating point"),
    "empty parameter list": (lambda t: t.optim.SGD([], lr=0.1), "empty parameter list"),
    "parameter type": (lambda t: t.optim.SGD([1], lr=0.1), "Tensor"),
    "learning rate": (lambda t: t.optim.Adam([t.ones(1, requires_grad=True)], lr=-1), "learning rate"),
    "nesterov": (lambda t: t.optim.SGD([t.ones(1, requires_grad=True)], lr=1, nesterov=True), "Nesterov"),
    "attribute before init": (lambda t: type("M", (t.nn.Module,), {
        "__init__": lambda self: setattr(self, "w", t.nn.Parameter(t.ones(1)))})(), "before Module.__init__|__init__"),
    "sequential attribute": (lambda t: t.nn.Sequential().missing, "missing"),
    "randint bounds": (lambda t: t.randint(3, 1, (2,)), "from|low|high|to"),
    "bernoulli": (lambda t: t.bernoulli(t.tensor([2.0])), "0|p"),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", CASES)
def test_error_is_of_pytorchs_class_and_says_what_is_wrong(name):
    call, message = CASES[name]
    with pytest.raises(Exception, match=message) as ours:
        call(lucid)
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:  # noqa: PT011  (whatever PyTorch raises is the reference)
        call(torch)
    assert isinstance(ours.value, theirs.type), f"{ours.value!r} is not a {theirs.type}"


def test_mixed_devices_name_op_shapes_dtypes_devices_and_module_state():
    if not lucid.gpu.is_available():
        pytest.skip("needs the simulator or a GPU")
    x, model = lucid.ones(4, 3), nn.Sequential(nn.Linear(3, 2)).to("gpu")
    with pytest.raises(RuntimeError, match=r"same device.*float32\[2\] on cpu.*float32\[2\] on gpu:0"):
        lucid.ones(2) + lucid.ones(2).gpu()
    with pytest.raises(RuntimeError, match=r"same device.*parameter '0\.weight'"):
        model(x)
    bn = nn.Sequential(nn.BatchNorm1d(3)).to("gpu")
    with pytest.raises(RuntimeError, match=r"same device.*'0\."):
        bn(x)
    assert bn[0].num_batches_tracked.item() == 0
    with pytest.raises(RuntimeError, match="same device"):
        nn.functional.cross_entropy(lucid.zeros(2, 3).gpu(), lucid.tensor([0, 1]))


def test_out_of_range_on_a_gpu_is_reported_at_the_next_wait():
    if not lucid.gpu.is_available():
        pytest.skip("needs the simulator or a GPU")
    loss = nn.functional.cross_entropy(lucid.zeros(2, 4).gpu(), lucid.tensor([0, 9]).gpu())
    with pytest.raises(IndexError, match="9"):
        loss.item()
    assert nn.functional.cross_entropy(lucid.zeros(1, 4).gpu(), lucid.tensor([1]).gpu()).item() == pytest.approx(1.3862944)


def test_failed_operations_leave_their_targets_unchanged(device):
    x = lucid.zeros(3, device=device)
    for call in (lambda: x.add_(lucid.ones(4, device=device)), lambda: x.__setitem__(slice(0, 2), lucid.ones(3, device=device)),
                 lambda: x.copy_(lucid.ones(2, device=device)), lambda: x.__setitem__(7, 1.0)):
        with pytest.raises((RuntimeError, IndexError)):
            call()
    assert x.tolist() == [0.0, 0.0, 0.0] and x._version == 0


def test_failed_batch_norm_leaves_its_buffers(device):
    bn = nn.BatchNorm1d(3).to(device)
    with pytest.raises(ValueError, match="more than 1 value"):
        bn(lucid.ones(1, 3, device=device))
    with pytest.raises(RuntimeError):
        bn(lucid.ones(4, 5, device=device))
    assert bn.running_mean.tolist() == [0.0] * 3 and bn.running_var.tolist() == [1.0] * 3
