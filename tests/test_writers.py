"""`save` and writes of other threads: a file never mixes two states of a tensor."""
from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends, nn, optim
from lucid.tensor import Tensor

LARGE = 1 << 17  # elements: other kernels than for few

Write = Callable[[Tensor], Any]


def _train(x: Tensor, make: Callable[..., Any]) -> Callable[[], Any]:
    parameter = nn.Parameter(x)
    parameter.grad = lucid.ones_like(parameter)
    optimizer = make([parameter])
    optimizer.step()  # its state exists
    return lambda: optimizer.step()


def _accumulate(x: Tensor) -> Callable[[], Any]:
    parameter = nn.Parameter(lucid.zeros_like(x))
    parameter.grad = x
    return lambda: parameter.sum().backward()


def _normalise(x: Tensor, function: Callable[..., Tensor], shape: tuple[int, ...]) -> Callable[[], Any]:
    batch, other = lucid.ones(*shape, len(x), 2, 2, device=x.device), lucid.ones_like(x)
    return lambda: function(batch, x, other, training=True)


def _record(x: Tensor) -> Callable[[], Any]:
    weight = lucid.full_like(x, 2.0).requires_grad_()
    return lambda: x.detach().mul_(weight)


def _load(x: Tensor) -> Callable[[], Any]:
    module = nn.Module()
    module.register_buffer("x", x)
    return lambda: module.load_state_dict({"x": lucid.zeros_like(x)})


#: name -> what writes to a floating-point vector
WRITES: dict[str, Callable[[Tensor], Callable[[], Any]]] = {
    "add_ number": lambda x: lambda: x.add_(1), "mul_ tensor": lambda x: lambda: x.mul_(x), "exp_": lambda x: lambda: x.exp_(),
    "addcmul_": lambda x: lambda: x.addcmul_(x, x), "lerp_": lambda x: lambda: x.lerp_(lucid.ones_like(x), 0.5), "clamp_": lambda x: lambda: x.clamp_(0.6, 1),
    "fill_": lambda x: lambda: x.fill_(2), "zero_": lambda x: lambda: x.zero_(), "copy_": lambda x: lambda: x.copy_(lucid.ones_like(x)),
    "view": lambda x: lambda: x[1:].add_(1), "slice": lambda x: lambda: x.__setitem__(slice(2), 3.0),
    "index": lambda x: lambda: x.__setitem__(lucid.tensor([0, 1], device=x.device), 3.0),
    "mask": lambda x: lambda: x.masked_fill_(x > 0, 3.0), "index_add_": lambda x: lambda: x.index_add_(0, lucid.tensor([0], device=x.device), x[:1]),
    "scatter_": lambda x: lambda: x.scatter_(0, lucid.tensor([0], device=x.device), 1.0), "cumsum_": lambda x: lambda: x.cumsum_(0),
    "out": lambda x: lambda: lucid.add(x, x, out=x), "out of a reduction": lambda x: lambda: lucid.cumsum(x, 0, out=x),
    "out of a creation": lambda x: lambda: lucid.full((len(x),), 3.0, out=x), "normal_": lambda x: lambda: x.normal_(),
    "uniform_": lambda x: lambda: x.uniform_(1, 2), "detached": lambda x: lambda: x.detach().add_(1), "recorded": _record,
    "bernoulli_": lambda x: lambda: x.bernoulli_(0.5), "init": lambda x: lambda: nn.init.normal_(x), "load": _load,
    "gradient": _accumulate, "batch_norm": lambda x: _normalise(x, nn.functional.batch_norm, (2,)),
    "batch_norm_relu": lambda x: _normalise(x, nn.functional.batch_norm_relu, (2,)),
    **{name: (lambda x, name=name: _train(x, lambda p: getattr(optim, name)(p, lr=0.1)))  # type: ignore[misc]
       for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "Adadelta")}}


class _Elsewhere:
    """Saves `x` by another thread whenever a kernel has run, before the write is counted."""

    def __init__(self, x: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
        self.x, self.outcomes, self.inside = x, [], False  # type: ignore[var-annotated]
        table = backends.TABLES[type(x._array)]
        for name, kernel in list(table.items()):
            monkeypatch.setitem(table, name, self.wrapped(kernel))

    def wrapped(self, kernel: Any) -> Any:
        def run(*arrays: Any, **attributes: Any) -> Any:
            before = None if self.inside else self.content()
            result = kernel(*arrays, **attributes)
            if before is not None and not np.array_equal(before, self.content(), equal_nan=True):
                self.inside = True
                thread = threading.Thread(target=self.save)
                thread.start()
                thread.join()
                self.inside = False
            return result

        return run

    def content(self) -> np.ndarray:
        return np.array(backends.to_host(self.x._array))

    def save(self) -> None:
        try:
            lucid.save({"x": self.x}, io.BytesIO())
            self.outcomes.append("saved")
        except RuntimeError as error:
            assert "'x' was written by another thread" in str(error)
            self.outcomes.append("refused")


@pytest.mark.parametrize("name", WRITES)
def test_save_during_a_write(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way a kernel comes to write the memory of a tensor, a save that begins meanwhile is refused."""
    for size in (8, LARGE) if device == "cpu" and not name.startswith("batch_norm") else (8,):
        x = lucid.linspace(0.1, 0.9, size, device=device)
        write = WRITES[name](x)
        write()
        x.fill_(0.5)
        with monkeypatch.context() as patch:
            elsewhere = _Elsewhere(x, patch)
            write()
        assert elsewhere.outcomes and set(elsewhere.outcomes) == {"refused"}


def test_saves_while_another_thread_writes() -> None:
    """Whatever is saved is one state: all elements are those of one write."""
    x = lucid.zeros(1 << 20)
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.004):
            x.add_(1)

    thread = threading.Thread(target=write)
    thread.start()
    accepted = refused = 0
    try:
        for _ in range(300):
            stop.wait(0.001)  # lets the other thread go on
            file = io.BytesIO()
            try:
                lucid.save({"x": x}, file)
                accepted += 1
                content = np.frombuffer(file.getvalue()[-x.nbytes:], np.float32)
                assert content.min() == content.max()
            except RuntimeError:
                refused += 1
            if accepted >= 5 and refused >= 5:
                break
    finally:
        stop.set()
        thread.join()


def test_what_is_no_write_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads, writes to other tensors, and a save by the thread that writes, as in the handler of a signal."""
    x, y = lucid.ones(3), lucid.ones(3)
    elsewhere = _Elsewhere(x, monkeypatch)
    elsewhere.content = lambda: np.array([len(elsewhere.outcomes) + elsewhere.inside, calls()])  # type: ignore[method-assign]
    number = iter(range(1000))

    def calls() -> int:
        return next(number)

    y.add_(x)
    (x + y).sum()
    norm = nn.BatchNorm1d(3).eval()
    elsewhere.x = norm.running_mean
    norm(lucid.ones(2, 3))
    assert len(elsewhere.outcomes) > 2 and set(elsewhere.outcomes) == {"saved"}

    table = backends.TABLES[np.ndarray]
    files = []

    def interrupted(*arrays: Any, **attributes: Any) -> Any:
        result = np.exp(arrays[0], **attributes)
        files.append(io.BytesIO())
        lucid.save({"x": x}, files[0])
        return result

    monkeypatch.setitem(table, "exp", interrupted)
    x.zero_().exp_()
    files[0].seek(0)
    assert lucid.load(files[0])["x"].tolist() == [1, 1, 1]


def test_memory_that_is_swapped_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    x = lucid.ones(3)
    original = backends.to_host

    def swap(array: Any) -> Any:
        x.data = lucid.ones(5)
        return original(array)

    monkeypatch.setattr(backends, "to_host", swap)
    with pytest.raises(RuntimeError, match="'x' was written by another thread"):
        lucid.save({"x": x}, io.BytesIO())
