"""All pipes of a chain, and settings for them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ops.random.random import randint
from .pipes import IterDataPipe, MapDataPipe

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(datapipe: Any) -> list[Any]:
    """The pipe and all that it takes its samples from, each once."""
    found: dict[int, Any] = {}
    waiting = [datapipe]
    while waiting:
        pipe = waiting.pop()
        if id(pipe) not in found:
            found[id(pipe)] = pipe
            waiting += _pipes_in(list(vars(pipe).values()))
    return list(found.values())


def _pipes_in(value: Any) -> Iterator[Any]:
    if isinstance(value, IterDataPipe | MapDataPipe):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _pipes_in(item)


def apply_sharding(datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> Any:
    """Let each `ShardingFilter` of a chain keep one sample of `num_of_instances`."""
    for pipe in get_all_graph_pipes(datapipe):
        if hasattr(pipe, "apply_sharding"):
            pipe.apply_sharding(num_of_instances, instance_id)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch the shuffling pipes of a chain on or off, or for None leave them."""
    if shuffle is not None:
        for pipe in get_all_graph_pipes(datapipe):
            if hasattr(pipe, "set_shuffle"):
                pipe.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give each pipe of a chain that draws random numbers a seed of the generator `rng`."""
    for pipe in get_all_graph_pipes(datapipe):
        if hasattr(pipe, "set_seed"):
            pipe.set_seed(int(randint(2**31 - 1, (), generator=rng).item()))
    return datapipe
