"""`ModuleTracker`: which modules run at a moment, in the forward or in the backward pass."""
from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any, Self

from .._hooks import RemovableHandle
from .._pytree import tree_leaves
from ..autograd.engine import current_run, is_running
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from ..tensor import Tensor

__all__ = ["ModuleTracker"]
_log = logging.getLogger(__name__)


class ModuleTracker:
    """A context that knows which modules run: their names are in `parents`, beside 'Global', which always is.

    A name is the class of the outermost module and the way from there, as in its state_dict. In a backward pass, of which `is_bw`
    tells, those are there whose gradients are being computed.

    >>> model, seen = nn.Sequential(nn.Linear(2, 2)), []
    >>> handle = model[0].register_forward_hook(lambda *arguments: seen.append(sorted(tracker.parents)))
    >>> with lucid.utils.module_tracker.ModuleTracker() as tracker:
    ...     y = model(lucid.ones(2))
    >>> seen
    [['Global', 'Sequential', 'Sequential.0']]
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Module] = weakref.WeakSet()
        self._runs: weakref.WeakSet[Any] = weakref.WeakSet()
        self._hooks: list[RemovableHandle] = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is under way."""
        return is_running()

    def _name_of(self, module: Module) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name_of(child)
            self._seen.add(module)
        return name

    def _enter(self, name: str) -> None:
        if name in self.parents:
            _log.info("The module %s is entered, in which this already is: some are not told of.", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        if name not in self.parents:
            _log.info("The module %s is left, in which this is not: some are not told of.", name)
        self.parents.discard(name)

    def _enter_backward(self, name: str) -> None:
        run = current_run.get()
        if run is not None and run not in self._runs:
            self._runs.add(run)
            weakref.finalize(run, self._end)  # when the pass is over
        self._enter(name)

    def _end(self) -> None:
        self.parents = {"Global"}

    def _watch(self, value: Any, change: Callable[[str], None], name: str) -> None:
        tensors = [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor) and leaf.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, lambda gradients: change(name)))

    def _before(self, module: Module, inputs: Any) -> None:
        name = self._name_of(module)
        self._enter(name)
        self._watch(inputs, self._leave, name)

    def _after(self, module: Module, inputs: Any, output: Any) -> None:
        name = self._name_of(module)
        self._leave(name)
        self._watch(output, self._enter_backward, name)

    def __enter__(self) -> Self:
        self._hooks += [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._hooks:
            handle.remove()
        self._hooks.clear()
