"""Training steps that `lucid.compile` replays, beside PyTorch's, eager and as CUDA graphs: a row for each network.

Bits are compared before anything is timed: of recorded calls, of graphs, and of graphs with fused kernels. A wall time is that of
calls that follow each other; the host's that of a call until it returns, while the device has nothing else to do.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lucid_kernels.measuring.timing import is_fake, measure_block

from bench.cases import compile as family
from bench.gpu.clock import device_seconds
from bench.gpu.host_times import host_seconds, synchronize
from bench.gpu.place import GPU, SIMULATOR, STUB, place
from bench.gpu_targets.bounds import GRAPHED, gpu_bound
from bench.library import Library
from bench.networks.network import Network, labels, numbers

if TYPE_CHECKING:
    from bench.gpu.part import Time

#: What has a target first.
NETWORKS = ("MLP 784-256-10, batch 64", "digits CNN, batch 64", "28x28 CNN, batch 64", "ResNet-18 CIFAR, batch 64",
            "GPT 4x256, context 128, batch 8", "LSTM classifier", "MLP of 10 layers of 32, batch 8")
_ROUNDS, _SECONDS = 3, 0.08  # of each side, in turns
_RECORDINGS = 5
_FUSED_AT = 4  # of the calls that are compared: two are recorded, two are graphs without fused kernels


def measure(given: Time) -> Iterator[dict[str, Any]]:
    """A row for each network. What one cannot do is a row, and the next begins."""
    has_torch = bool(given.facts.get("torch_cuda"))
    if place() == SIMULATOR:
        networks: dict[str, Any] = {"a small MLP": Network(_small, numbers(2, 4), labels(3, 2))}
    else:
        networks = {name: family.STEPS[name][0] for name in NETWORKS}
    for name, network in networks.items():
        try:
            yield row(name, network, has_torch)
        except Exception as error:
            yield {"name": name, "failed": f"{type(error).__name__}: {error}"}


def _small(library: Library) -> Any:
    nn = library.nn
    return nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 3))


def row(name: str, network: Any, has_torch: bool, rounds: int = _ROUNDS, seconds: float = _SECONDS) -> dict[str, Any]:
    """What is measured of one network."""
    ours = Library("lucid", "gpu")
    eager = family.training_step(ours, network)
    compiled = ours.lib.compile(family.training_step(ours, network), fullgraph=True)
    found: dict[str, Any] = {"name": name, "target": gpu_bound(f"compiled step {name}"), "graph_target": GRAPHED}
    try:
        compare(ours, eager, compiled)
    except AssertionError as error:
        found["failed"] = str(error)
    found |= {"graphs": [*compiled.summary().splitlines(), ""][1], "nodes": nodes(compiled),
              "fused": sum(len(function.fused) for plan in compiled.plans for function in plan.functions)}
    sides: dict[str, Callable[[], Any]] = {"ours": eager, "compiled": compiled}
    if has_torch:
        torch = Library("torch", "gpu")
        sides |= {"torch": family.fastest_layout(torch, network, family.training_step, seconds),
                  "graphed": family.fastest_layout(torch, network, family.graphed, seconds)}
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, call in sides.items():
            times[side].append(measure_block(call, synchronize(ours), seconds, "gpu")["seconds"])
    for side, call in sides.items():
        found[f"{side}_us"] = statistics.median(times[side]) * 1e6
        found[f"{side}_device_us"] = device_seconds(call) * 1e6
    found["host_us"] = host_seconds(compiled, synchronize(ours))[0] * 1e6
    if has_torch:
        found["ratio_to_torch"] = found["compiled_us"] / found["torch_us"]
        found["ratio_to_graph"] = found["compiled_us"] / found["graphed_us"]
    if not is_fake():
        found["first"], found["second"], found["third"] = family.recordings(
            ours.lib, family.waiting(ours, eager), family.waiting(ours, compiled), compiled, _RECORDINGS)
    return found


def compare(ours: Library, eager: Callable[[], Any], compiled: Any) -> None:
    """Call both, until the kernels of a compiled step are fused. Raises AssertionError if bits differ; the stub has none."""
    for number in range(_FUSED_AT + 4):
        if number == _FUSED_AT:
            for plan in compiled.plans:
                plan.fuse_at_next_call()
        if place() == STUB:
            compiled()
        else:
            family.require_same(ours, eager, compiled, number)


def nodes(compiled: Any) -> dict[str, int]:
    """How many nodes there are of each kernel in the CUDA graphs of a function, and of copies and fills. Only CUDA tells."""
    counts: Counter[str] = Counter()
    if place() == GPU:
        for plan in compiled.plans:
            for graphs in (plan.graphs, plan.backward_graphs):
                for dot in graphs.drawn() if graphs is not None else ():
                    counts.update(map(short, labels_of(dot)))
    return dict(counts.most_common())


def labels_of(dot: str) -> list[str]:
    """What stands in the nodes of a graph as CUDA writes it for Graphviz: their number, and the kernel or what else they are."""
    return re.findall(r'"graph_\d+_node_\d+"\s*\[[^\]]*?label="(.*?)"', dot, re.S)


def short(label: str) -> str:
    """The name in a label, without the namespaces, parameters and return type that the compiler has written into it."""
    word = next((word for word in re.split(r"[\s|{}]+|\\n", label) if word and not word.isdigit() and word != "void"), "?")
    if not word.startswith("_Z"):
        return word
    names, rest = [], re.sub(r"^_ZN?K?", "", word)
    while (found := re.match(r"\d+", rest)) is not None:
        length, rest = int(found.group()), rest[found.end() :]
        names.append(rest[:length])
        rest = rest[length:]
    arguments = re.match(r"I(.*?)E+v", rest)
    return (names[-1] if names else word) + (f"<{arguments.group(1)}>" if arguments else "")
