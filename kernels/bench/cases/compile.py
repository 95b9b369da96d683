"""`lucid.compile` against PyTorch as it runs eagerly, and of some with its modules compiled by `torch.compile`, where a compiler
is found, and on a GPU with its steps as CUDA graphs instead: training steps, and inference of single samples.

Before it is timed each case is run eagerly and compiled, and has to give the same bits; its line ends with how long a replay, a
first and a second recorded call take beside an eager call of ours, and on a GPU with the device's time of both and the host's.
"""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, fastest
from bench.library import Library, target
from bench.networks.network import Network, labels, numbers
from bench.networks.sequences import SEQUENCES
from bench.targets.models import MODELS
from bench.targets.training import training_step


def deep(library: Library) -> Any:
    """Ten layers of width 32."""
    nn = library.nn
    layers = [layer for _ in range(9) for layer in (nn.Linear(32, 32), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(32, 10))


def perceptron(library: Library) -> Any:
    """Four layers."""
    nn = library.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def lenet(library: Library) -> Any:
    """LeNet-5 for images of 28x28."""
    nn = library.nn
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


DEEP = Network(deep, numbers(8, 32), labels(10, 8))
STEPS: dict[str, tuple[Any, float | None]] = {
    "MLP 784-256-10, batch 64": (MODELS["MLP 784-256-10, batch 64"], 0.3),
    "digits CNN, batch 64": (MODELS["digits CNN, batch 64"], 0.4),
    "28x28 CNN, batch 64": (MODELS["28x28 CNN, batch 64"], 0.42),
    "LSTM classifier": (SEQUENCES["LSTM classifier"], 0.7),
    "MLP of 10 layers of 32, batch 8": (DEEP, 0.15),
    "GPT 4x256, context 128, batch 8": (MODELS["GPT 4x256, context 128, batch 8"], None),
    "ResNet-18 CIFAR, batch 64": (MODELS["ResNet-18 CIFAR, batch 64"], None),
}
SAMPLES = {"LeNet": Network(lenet, numbers(1, 1, 28, 28), labels(10, 1)),
           "MLP of 4 layers": Network(perceptron, numbers(1, 64), labels(10, 1))}
MODULES = ("MLP of 10 layers of 32, batch 8", "digits CNN, batch 64")
QUICK = ("MLP of 10 layers of 32, batch 8",)
BESIDE_TORCH = ("MLP of 10 layers of 32, batch 8", "MLP 784-256-10, batch 64", "digits CNN, batch 64", "28x28 CNN, batch 64")
FUSED_AFTER = 500  # calls: `lucid.compiler.plan`
_CALLS = 6  # whose results are compared
_LONG = 0.1  # seconds: of what takes longer no recordings are timed


def cases(side: Side) -> Iterator[Case]:
    """Small networks, for which calls take longer than kernels, and two large ones."""
    for name, (network, goal) in STEPS.items():
        if not side.quick or name in QUICK:
            yield target(side, f"compiled step {name}", goal, lambda library, network=network: _step(library, network))
    for name in () if side.quick or side.device == "gpu" else BESIDE_TORCH:  # PyTorch compiles for a minute
        yield _beside_torch_compile(side, name)
    for name in STEPS if side.device == "gpu" else ():
        yield target(side, f"graphed step {name}", None, lambda library, name=name: _beside_graphs(library, STEPS[name][0]))
    for name in MODULES:
        if not side.quick or name in QUICK:
            yield target(side, f"compiled module {name}", None, lambda library, name=name: _loop(library, STEPS[name][0]))
    yield target(side, "compiled formula, Adam of a million numbers", None, _formula)
    for name, network in SAMPLES.items():
        yield target(side, f"compiled inference {name}, one sample", 0.2,
                     lambda library, network=network: _inference(library, network))


Make = Callable[[Callable[[Any], Any]], Callable[[], Any]]  # a call; it gets the function that compiles


def _compiled(library: Library, make: Make) -> Callable[[], Any]:
    """What `make` makes, of PyTorch as it is, of ours compiled. Results, compiled and not, have to be equal bit for bit."""
    if library.is_torch:
        return make(_as_it_is)
    made: list[Any] = []

    def compiled(function: Any) -> Any:
        made.append(library.lib.compile(function, fullgraph=True))
        return made[-1]

    eager, call = make(_as_it_is), make(compiled)
    for number in range(_CALLS):
        require_same(library, eager, call, number)
    timed = waiting(library, eager), waiting(library, call)
    recorded = "" if _seconds(timed[0]) > _LONG else "recorded {:.1f}, planned {:.1f}, then {:.1f} ".format(
        *recordings(library.lib, *timed, made[0]))
    return _Noted(call, f"same bits, replay {_beside(*timed):.2f}, {recorded}of eager{_on_the_device(library, eager, call)}")


def _as_it_is(function: Any) -> Any:
    return function


class _Noted:
    """A call, with what to say of it."""

    def __init__(self, call: Callable[[], Any], notes: str) -> None:
        self._call, self.notes = call, notes

    def __call__(self) -> Any:
        return self._call()


def require_same(library: Library, eager: Callable[[], Any], call: Callable[[], Any], number: int) -> None:
    """Raise AssertionError unless both give the same bits, of the same random numbers."""
    def bits(function: Callable[[], Any]) -> list[bytes]:
        library.lib.manual_seed(number)
        result = function()
        results = result if isinstance(result, tuple) else (result,)
        return [np.ascontiguousarray(t.detach().cpu().numpy()).tobytes() for t in results]

    if bits(eager) != bits(call):
        raise AssertionError(f"call {number} gives other bits than eagerly")


def waiting(library: Library, call: Callable[[], Any]) -> Callable[[], Any]:
    """`call`, which on a GPU waits until that has done it."""
    if library.device == "cpu":
        return call

    def waiting() -> None:
        call()
        library.lib.cuda.synchronize()

    return waiting


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _beside(eager: Callable[[], Any], call: Callable[[], Any]) -> float:
    """How long a call takes beside an eager one, in turns."""
    ratios = [_seconds(call) / _seconds(eager) for _ in range(3)]
    if _seconds(eager) < _LONG:
        ratios += [_seconds(call) / _seconds(eager) for _ in range(20)]
    return statistics.median(ratios)


def recordings(lib: Any, eager: Callable[[], Any], call: Callable[[], Any], compiled: Any, rounds: int = 9
               ) -> tuple[float, float, float]:
    """How long the first three calls take beside an eager one: two are recorded, and the third makes the graphs on a GPU."""
    times = []
    for _ in range(rounds):
        lib.compiler.reset(compiled)
        times.append((_seconds(eager), _seconds(call), _seconds(call), _seconds(call)))
    alone, first, second, third = map(min, zip(*times, strict=True))
    for _ in range(3):
        call()
    return first / alone, second / alone, third / alone


def _on_the_device(library: Library, eager: Callable[[], Any], call: Callable[[], Any]) -> str:
    """On a GPU its own time of both, and the host's of a replay."""
    if library.device == "cpu":
        return ""
    from bench.gpu.clock import device_seconds
    from bench.gpu.host_times import host_seconds

    replay, alone = device_seconds(call), device_seconds(eager)
    host, _ = host_seconds(call, library.lib.cuda.synchronize)
    return f"; device {replay * 1e6:,.0f} us of {alone * 1e6:,.0f}, host {host * 1e6:,.0f} us"


def _step(library: Library, network: Any) -> Callable[[], Any]:
    if library.is_torch:
        return fastest_layout(library, network, training_step)
    return _compiled(library, lambda compiled: compiled(training_step(library, network)))


def fastest_layout(library: Library, network: Any, make: Callable[..., Callable[[], Any]], seconds: float = 0.15
                   ) -> Callable[[], Any]:
    """What `make` makes of a network in the memory layout in which it is fastest, as so many seconds of each show."""
    of_images = getattr(network, "of_images", False) or len(getattr(network, "image", ())) == 3
    layouts = library.layouts() if of_images else ("NCHW",)
    calls = {layout: make(library, network, layout) for layout in layouts}
    return calls[fastest(calls, library.lib.cuda.synchronize if library.device != "cpu" else lambda: None, seconds)]


def _beside_torch_compile(side: Side, name: str) -> Case:
    """A training step whose module PyTorch compiles; without PyTorch's time where it cannot."""
    network, title = STEPS[name][0], f"compiled step {name}, to torch.compile"
    if side.name != "torch":
        return target(side, title, None, lambda library: _step(library, network))
    built = dataclasses.replace(network, build=lambda library: library.lib.compile(network.build(library)))
    try:
        step = training_step(Library.of(side), built)
        for _ in range(3):
            step()
    except Exception as error:  # no compiler, or none that it takes
        print(f"torch.compile: {type(error).__name__}: {error}")
        return Case(title, None)
    return Case(title, step)


def _beside_graphs(library: Library, network: Any) -> Callable[[], Any]:
    return fastest_layout(library, network, graphed) if library.is_torch else _step(library, network)


def graphed(library: Library, network: Any, layout: str = "NCHW") -> Callable[[], Any]:
    """A training step as one CUDA graph, as PyTorch's documentation captures it."""
    cuda = library.lib.cuda
    step = training_step(library, network, layout, capturable=True)
    stream = cuda.Stream()
    stream.wait_stream(cuda.current_stream())
    with cuda.stream(stream):
        for _ in range(3):
            step()
    cuda.current_stream().wait_stream(stream)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        loss = step()

    def replay(kept: Any = step) -> Any:  # whose memory the graph reads
        graph.replay()
        return loss

    return replay


def _loop(library: Library, network: Any) -> Callable[[], Any]:
    """A usual training step, of which the module alone is compiled."""
    def make(compiled: Callable[[Any], Any]) -> Callable[[], Any]:
        lib = library.lib
        lib.manual_seed(0)
        module = network.build(library).to(library.device)
        run = compiled(module)
        optimizer = lib.optim.Adam(module.parameters(), lr=1e-3)
        criterion = getattr(library.nn, network.criterion)()
        x, t = map(library.tensor, network.data())

        def step() -> Any:
            optimizer.zero_grad()
            loss = criterion(run(x), t)
            loss.backward()
            optimizer.step()
            return loss

        return step

    return _compiled(library, make)


def _formula(library: Library) -> Callable[[], Any]:
    """A formula of many operations on large arrays, which become few kernels."""
    lib = library.lib
    lib.manual_seed(0)
    weight, mean, square, gradient = [lib.randn(1000, 1000, device=library.device) for _ in range(4)]
    square = square.abs()

    def update(weight: Any, mean: Any, square: Any, gradient: Any) -> Any:
        mean = mean * 0.9 + gradient * 0.1
        square = square * 0.999 + gradient * gradient * 0.001
        return weight - 0.001 * mean / (square.sqrt() + 1e-8), mean, square

    def make(compiled: Callable[[Any], Any]) -> Callable[[], Any]:
        call = compiled(update)
        return lambda: call(weight, mean, square, gradient)

    call = _compiled(library, make)
    if not isinstance(call, _Noted):
        return call
    for _ in range(FUSED_AFTER):  # kernels are compiled then
        call()
    eager = make(_as_it_is)
    require_same(library, eager, call, 0)
    return _Noted(call, f"same bits, replay {_beside(waiting(library, eager), waiting(library, call)):.2f} of eager")


def _inference(library: Library, network: Network) -> Callable[[], Any]:
    def make(compiled: Callable[[Any], Any]) -> Callable[[], Any]:
        library.lib.manual_seed(0)
        module = network.build(library).to(library.device).eval()
        sample = library.tensor(network.data()[0])

        def infer() -> Any:
            with library.lib.no_grad():
                return module(sample)

        return compiled(infer)

    return _compiled(library, make)
