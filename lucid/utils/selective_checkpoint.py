"""Checkpoints that keep the results of some operations: these are not computed again."""
from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from ..overrides import TorchFunctionMode
from ..tensor import Tensor, write_count
from ._pytree import tree_map

Function = Callable[..., Any]


class CheckpointPolicy(enum.Enum):
    """What a checkpoint does with an operation: keep its result (`SAVE`) or compute it again; `MUST` and `PREFER` are the same
    here. `CPU_OFFLOAD` computes again, as in PyTorch without its compiler.

    >>> lucid.utils.checkpoint.CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """What a policy gets beside the operation: the result of that, and False for `is_recompute`.

    >>> lucid.utils.checkpoint.SelectiveCheckpointContext(is_recompute=False).is_recompute
    False
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Leaf:
    """A tensor of a result, without its history."""

    __slots__ = ("requires_grad", "tensor")

    def __init__(self, tensor: Tensor, requires_grad: bool) -> None:
        self.tensor, self.requires_grad = tensor, requires_grad


class _Kept:
    """A result that is kept, and how many tensors its operation has saved."""

    __slots__ = ("result", "saved", "versions")

    def __init__(self, result: Any, saved: int) -> None:
        self.versions: list[tuple[Tensor, int]] = []
        self.saved = saved
        self.result = tree_map(self._keep, result)

    def _keep(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        detached = value.detach()
        self.versions.append((detached, write_count(detached)))
        return _Leaf(detached, value.requires_grad)

    def again(self, mutation: bool) -> Any:
        """The result, of leaves that require grad where it did."""
        if not mutation and any(write_count(tensor) != version for tensor, version in self.versions):
            raise RuntimeError("Tensor cached during selective activation checkpoint has been mutated")
        return tree_map(lambda value: value.tensor.requires_grad_(value.requires_grad) if isinstance(value, _Leaf) else value,
                        self.result)


_CONSUMED = object()


class _Selection(TorchFunctionMode):
    """What both passes share: the frame of the checkpoint, and the results in the order of the calls of each function."""

    frame: Any = None  # without gradients there is nothing to compute again

    def __init__(self, calls: dict[Any, list[Any]]) -> None:
        self.calls = calls

    def __torch_function__(self, func: Function, types: Any, args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        if self.frame is None or getattr(func, "__name__", "") in ("__get__", "__set__"):  # a property is no operation
            return func(*args, **(kwargs or {}))
        return self.operation(func, args, kwargs or {})

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError


class Saving(_Selection):
    """The first pass, which asks the policy."""

    def __init__(self, policy: Function, calls: dict[Any, list[Any]]) -> None:
        super().__init__(calls)
        self.policy = policy

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self.frame.keeping() as places:
            result = func(*args, **kwargs)
        policy = self.policy(SelectiveCheckpointContext(is_recompute=False, op_output=result), func, *args, **kwargs)
        keeps = policy if isinstance(policy, bool) else policy in _SAVED
        if not keeps:
            for place in places:
                place.tensor = None
        self.calls.setdefault(func, []).append(_Kept(result, len(places)) if keeps else None)
        return result


class Reading(_Selection):
    """The second pass."""

    def __init__(self, calls: dict[Any, list[Any]], mutation: bool) -> None:
        super().__init__(calls)
        self.mutation = mutation
        self.counts: dict[Any, int] = {}

    def __enter__(self) -> Reading:
        self.counts = {}
        super().__enter__()
        return self

    def operation(self, func: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        number = self.counts.get(func, 0)
        self.counts[func] = number + 1
        calls = self.calls.get(func, [])
        if number >= len(calls):
            raise RuntimeError(f"{getattr(func, '__name__', func)} was called in backward, but not, or not as often, before: the "
                               "function of a checkpoint has to call the same operations again.")
        kept = calls[number]
        if kept is None:
            return func(*args, **kwargs)
        if kept is _CONSUMED:
            raise RuntimeError("Trying to backward an extra time. You are only allowed to backward once on any region computed "
                               "under selective activation checkpoint.")
        calls[number] = _CONSUMED
        result = kept.again(self.mutation)
        self.frame.skip(kept.saved)
        return result


def create_selective_checkpoint_contexts(policy_fn_or_list: Function | Sequence[Function],
                                         allow_cache_entry_mutation: bool = False) -> tuple[Saving, Reading]:
    """The two contexts for `context_fn` of a checkpoint that keeps the results of some operations.

    ``policy_fn(ctx, op, *args, **kwargs)`` returns a `CheckpointPolicy` or whether to keep. `op` is a function or a method as a
    `TorchFunctionMode` sees it: `lucid.mm`, `lucid.Tensor.matmul`. A list keeps the operations of these names, whether they
    are called as functions or as methods. Raises RuntimeError in backward if a result that was kept has been written to, unless
    `allow_cache_entry_mutation`, and in a second backward.

    >>> from functools import partial
    >>> from lucid.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep_products = partial(create_selective_checkpoint_contexts, [lucid.matmul])
    >>> x = lucid.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).exp().sum(), x, use_reentrant=False, context_fn=keep_products).backward()
    >>> x.grad.shape
    lucid.Size([2, 2])
    """
    if isinstance(policy_fn_or_list, (list, tuple)):
        names = set()
        for op in policy_fn_or_list:
            if not callable(op) or not hasattr(op, "__name__"):
                raise ValueError(f"Expected op in `op_list` to be a function or a method of Tensor, but got: {op}")
            names.add(op.__name__)

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            kept = getattr(op, "__name__", "") in names
            return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    calls: dict[Any, list[Any]] = {}
    return Saving(policy, calls), Reading(calls, allow_cache_entry_mutation)
