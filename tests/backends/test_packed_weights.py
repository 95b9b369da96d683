"""Weights of convolutions that are kept on a GPU as its tensor cores read them: never older than the weight."""
from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import lucid
from lucid import backends, nn
from lucid.backends.gpu_probe import gpu_problem, simulated
from lucid.nn import functional as F

if gpu_problem() is not None:
    pytest.skip(str(gpu_problem()), allow_module_level=True)

gpu = backends.gpu_module()

import cupy  # noqa: E402 - the simulator's, once the backend is there

from lucid.backends.gpu import packed_weights  # noqa: E402


@pytest.fixture(autouse=True)
def tensor_cores(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(backends.versions, "_shared", set())  # the addresses of earlier tests
    with lucid.backends.cudnn.flags(allow_tf32=True), lucid.no_grad():
        packed_weights.forget()
        yield
    packed_weights.forget()


def launched(call: Callable[[], Any]) -> tuple[Any, list[str] | None]:
    """The result of a call, and the names of its kernels on the simulator; None on a GPU, where plans launch unseen."""
    if not simulated():
        return call(), None
    launches = cupy.cuda.simulated_driver.launches
    launches.clear()
    result = call()
    return result, [name for name, *_ in launches]


def check_packs(call: Callable[[], Any], wanted: bool = True) -> Any:
    """The result of a call, which packs the weight, or does not; a GPU does not tell."""
    result, names = launched(call)
    assert names is None or any("pack_weight" in name for name in names) == wanted
    return result


def exact(x: Any, layer: Any) -> Any:
    return F.conv2d(x.cpu().double(), layer.weight.cpu().double(), layer.bias.cpu().double(), layer.stride, layer.padding)


def made() -> tuple[Any, Any]:
    layer = nn.Conv2d(8, 16, 3, padding=1).to("gpu")
    return layer, lucid.randn(2, 8, 6, 6, device="gpu")


def check(layer: Any, x: Any) -> None:
    """Packed for the first time with the first call, kept from the second on, and right each time."""
    for wanted in (True, True, False, False):
        y = check_packs(lambda: layer(x), wanted)
        assert (y.cpu().double() - exact(x, layer)).abs().max() < 0.02
    names = launched(lambda: layer(x))[1]
    assert names is None or [name.partition("<")[0] for name in names] == ["conv_pack_channels", "conv_product"]


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "in place": lambda layer, x: layer.weight.mul_(2),
    "copy_": lambda layer, x: layer.weight.copy_(lucid.randn(16, 8, 3, 3)),
    "part of it": lambda layer, x: layer.weight[3].fill_(4.0),
    "detached": lambda layer, x: layer.weight.detach().add_(1),
    "other data": lambda layer, x: setattr(layer.weight, "data", lucid.randn(16, 8, 3, 3, device="gpu")),
    "load_state_dict": lambda layer, x: layer.load_state_dict(nn.Conv2d(8, 16, 3).state_dict()),
    "assigned": lambda layer, x: layer.load_state_dict(nn.Conv2d(8, 16, 3).to("gpu").state_dict(), assign=True),
    "new": lambda layer, x: setattr(layer, "weight", nn.Parameter(lucid.randn(16, 8, 3, 3, device="gpu"))),
}


def in_inference_mode(layer: Any, x: Any) -> None:
    with lucid.inference_mode():
        layer(x)
        layer.weight.mul_(2)


def by_foreach(layer: Any, x: Any) -> None:
    lucid._foreach_mul_([layer.weight], 3)


WRITES |= {
    "inference mode": in_inference_mode, "foreach": by_foreach, "a view": lambda layer, x: layer.weight.view(-1)[::2].zero_(),
    "initialised": lambda layer, x: nn.init.normal_(layer.weight), "reset": lambda layer, x: layer.reset_parameters(),
    "copied later": lambda layer, x: layer.weight.copy_(lucid.randn(16, 8, 3, 3).pin_memory(), non_blocking=True),
    "out": lambda layer, x: lucid.mul(layer.weight, 2, out=layer.weight),
    "moved": lambda layer, x: layer.half().float().cpu().to("gpu"),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_weight_that_was_written_to_is_packed_again(name: str) -> None:
    layer, x = made()
    check(layer, x)
    WRITES[name](layer, x)
    check(layer, x)


@pytest.mark.parametrize("optimizer", [lucid.optim.SGD, lucid.optim.Adam])
def test_steps_of_optimizers(optimizer: Any) -> None:
    layer, x = made()
    steps = optimizer(layer.parameters(), 0.1)
    for _ in range(2):
        check(layer, x)
        with lucid.enable_grad():
            for _ in range(2):
                loss = layer(x).square().mean()
                check_packs(lambda: layer(x))  # with gradients nothing is kept
                loss.backward()
                steps.step()


def test_a_graph_packs_and_what_it_writes_is_seen() -> None:
    layer, x = made()
    check(layer, x)
    graph = lucid.gpu.CUDAGraph()
    with lucid.gpu.graph(graph):
        y = layer(x)
    layer.weight.mul_(3)
    graph.replay()
    assert (y.cpu().double() - exact(x, layer)).abs().max() < 0.1
    check(layer, x)
    graph = lucid.gpu.CUDAGraph()
    with lucid.gpu.graph(graph):
        layer.weight.mul_(0.5)
    check(layer, x)
    graph.replay()
    check(layer, x)


def test_memory_that_others_may_write_to_is_packed_each_time() -> None:
    layer, x = made()
    check(layer, x)
    shared = cupy.from_dlpack(layer.weight.detach())
    for number in range(3):
        shared[...] = number
        assert (layer(x).cpu().double() - exact(x, layer)).abs().max() < 0.05
    layer, x = made()
    check(layer, x)
    memory = layer.weight.data
    for number in range(3):
        memory.fill_(number)
        assert (layer(x).cpu().double() - exact(x, layer)).abs().max() < 0.05
    layer, x = made()
    layer.weight.data_ptr()
    for _ in range(3):
        check_packs(lambda: layer(x))
    layer.weight = nn.Parameter(lucid.as_tensor(cupy.ones((16, 8, 3, 3), "f")))
    for _ in range(3):
        check_packs(lambda: layer(x))


def test_settings_and_layouts_have_their_own() -> None:
    layer, x = made()
    check(layer, x)
    with lucid.backends.cudnn.flags(allow_tf32=False):
        for _ in range(3):
            assert (layer(x).cpu().double() - exact(x, layer)).abs().max() < 1e-5
    for other in (lucid.randn(3, 8, 6, 6, device="gpu"), x.to(memory_format=lucid.channels_last)):
        for _ in range(3):
            assert (layer(other).cpu().double() - exact(other, layer)).abs().max() < 0.02
        check_packs(partial(layer, other), False)
    check_packs(lambda: layer(x), False)
    fused = nn.Sequential(layer, nn.ReLU())
    for _ in range(4):
        assert (fused(x).cpu().double() - exact(x, layer).relu()).abs().max() < 0.02
    names = launched(lambda: fused(x))[1]
    assert names is None or len(names) == 2
    check_packs(lambda: fused(x), False)


def test_memory_is_bounded_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, x = made()
    for _ in range(3):
        layer(x)
    held = packed_weights._bytes
    assert held > 0
    monkeypatch.setattr(packed_weights, "LIMIT", held)
    other = nn.Conv2d(8, 16, 3, padding=1).to("gpu")
    for _ in range(3):
        other(x)
    assert packed_weights._bytes == held
    check_packs(partial(layer, x))
    del layer, other
    gc.collect()
    assert packed_weights._bytes == 0
