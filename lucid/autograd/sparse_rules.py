"""What operations do with sparse tensors: functions of tensors, by the names of the operations, that `lucid/ops/sparse` enters.

No operation asks for the layout of its arguments. Tables have no kernel that takes a sparse array, so the call fails, and what
handles its error finds the rule here.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def sparse_rule(op: str) -> Rule:
    """The rule of `op`. Raises NotImplementedError, naming it, where there is none."""
    if not RULES:
        importlib.import_module("lucid.ops.sparse")  # by its name: it stands on this
    found = RULES.get(op)
    if found is None:
        raise NotImplementedError(f"op '{op}' has no rule for sparse tensors. Use to_dense() first.")
    return found


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enter the decorated function as the rule of operations."""
    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter
