"""`benchmark`: an operation beside others that compute the same, on several inputs."""
from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lucid_kernels import extras

import lucid

from ..tensor import Tensor
from ..utils.benchmark import Turns, in_turn

Inputs = Sequence[Any]


@dataclass(frozen=True)
class Comparison:
    """What `benchmark` has found: `turns` by the names of the inputs.

    >>> from lucid import extension as ext
    >>> cube = ext.elementwise("x * x * x", name="cube")
    >>> result = ext.benchmark(cube, [lucid.ones(9)], against={"power": lambda x: x ** 3}, seconds=0.001)
    >>> isinstance(result, ext.Comparison), len(result.turns)
    (True, 1)
    """

    name: str
    turns: dict[str, Turns]

    def __getitem__(self, label: str) -> Turns:
        return self.turns[label]

    def __str__(self) -> str:
        return "\n\n".join(f"{label}\n{turns}" for label, turns in self.turns.items())

    def verdicts(self) -> dict[tuple[str, str], str]:
        """FASTER, SLOWER, SAME or UNDECIDED: the operation on inputs, compared with another one."""
        return {(label, side.name): side.verdict for label, turns in self.turns.items() for side in turns.sides
                if side.verdict is not None}

    def plot(self, path: str) -> None:
        """A picture of the times, and of the floor, for each of the inputs. Needs the extra `examples`."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError(f"a plot needs matplotlib: {extras.command('examples')}") from error
        labels = list(self.turns)
        figure = Figure(figsize=(2 + 1.2 * len(labels), 4), layout="constrained")
        axes = figure.add_subplot()
        for name in [side.name for side in self.turns[labels[0]].sides]:
            axes.plot(labels, [self.turns[label][name].median * 1e6 for label in labels], marker="o", label=name)
        floors = [self.turns[label].floor for label in labels]
        if all(floors):
            axes.plot(labels, [floor * 1e6 for floor in floors if floor], linestyle="--", color="grey", label="floor")
        axes.set_yscale("log")
        axes.set_ylabel("microseconds")
        axes.set_title(self.name)
        axes.legend()
        figure.savefig(path)


def benchmark(operation: Callable[..., Any], inputs: Inputs | Mapping[str, Inputs], *, against: Mapping[str, Callable[..., Any]],
              scalars: Mapping[str, Any] | None = None, backward: bool = False, flops: int | Callable[..., int] = 0,
              seconds: float = 0.03) -> Comparison:
    """Time an operation and those `against` it in turn, on `inputs`: tensors, or several such by name.

    `against` are functions of the same arguments; one whose name begins with "torch" gets PyTorch's tensors over the same
    memory. With `backward` the gradients of all inputs that require them are computed too. Each line has the share of the
    floor, the least time in which this machine moves inputs and outputs in its memory, or computes `flops`. Inputs decide the
    device.

    ``print(result)`` is a table with verdicts, ``result.plot("times.png")`` a picture.

    >>> from lucid import extension as ext
    >>> cube = ext.elementwise("x * x * x", name="cube")
    >>> result = ext.benchmark(cube, [lucid.ones(9)], against={"power": lambda x: x ** 3}, seconds=0.001)
    >>> [side.name for turns in result.turns.values() for side in turns.sides]
    ['cube', 'power']
    """
    sets = inputs if isinstance(inputs, Mapping) else {_label(inputs): inputs}
    name = getattr(operation, "name", getattr(operation, "__name__", "operation"))
    turns = {}
    for label, given in sets.items():
        tensors = [value for value in given if isinstance(value, Tensor)]
        if not tensors:
            raise TypeError(f"benchmark: there is no tensor among the inputs {label!r}")
        calls = {name: _call(operation, given, dict(scalars or {}), backward)}
        for other, function in against.items():
            if other in calls:
                raise ValueError(f"benchmark: two sides are called {other!r}")
            foreign = other.startswith("torch")
            arguments = [_for_torch(value) for value in given] if foreign else given
            calls[other] = _call(function, arguments, dict(scalars or {}), backward)
        with lucid.no_grad():
            outputs = operation(*given, **dict(scalars or {}))
        made = [value for value in (outputs if isinstance(outputs, (tuple, list)) else (outputs,)) if isinstance(value, Tensor)]
        moved = sum(value.nbytes for value in {id(value): value for value in (*tensors, *made)}.values())
        turns[label] = in_turn(calls, device=str(tensors[0].device), seconds=seconds, bytes=0 if backward else moved,
                               flops=0 if backward else flops(*given) if callable(flops) else flops)
    return Comparison(name, turns)


def _label(inputs: Inputs) -> str:
    return " ".join("x".join(map(str, value.shape)) for value in inputs if isinstance(value, Tensor))


def _for_torch(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    torch: Any = importlib.import_module("torch")
    return torch.from_dlpack(value.detach()).requires_grad_(value.requires_grad)


def _call(function: Callable[..., Any], inputs: Inputs, scalars: dict[str, Any], backward: bool) -> Callable[[], Any]:
    """What is timed: the function, and with `backward` its gradients for an upstream one of ones."""
    if not backward:
        return lambda: function(*inputs, **scalars)
    leaves = [value for value in inputs if getattr(value, "requires_grad", False)]
    if not leaves:
        raise ValueError("benchmark: no input requires a gradient")

    def call() -> None:
        result = function(*inputs, **scalars)
        result = result[0] if isinstance(result, (tuple, list)) else result
        for leaf in leaves:
            leaf.grad = None
        result.sum().backward()

    return call
