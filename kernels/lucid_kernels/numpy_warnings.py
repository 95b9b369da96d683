"""NumPy's warnings of divisions by zero and overflows, which lucid leaves out: inf and nan come silently, as in PyTorch.

NumPy warns in the name of the module that calls it, so a filter for lucid's modules touches no warning of the user's own NumPy
code, and costs nothing; `np.errstate` would cost 0.9 us a call. Small arrays meet NumPy in the modules that look into the
dispatcher's tables themselves, products in those of the kernels.

This file is also a plugin of pytest (the entry point `lucid_kernels.numpy_warnings`). pytest takes back the filters that are set
while it collects tests, when these import lucid, and where warnings are errors a test would fail for `lucid.zeros(1).log()`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

_SAID = "divide by zero encountered in divide"
_MODULE = "lucid.compiler.plan"  # where replays call NumPy
_state: Any = getattr(np._core.umath, "_extobj_contextvar", None)  # type: ignore[attr-defined]  # what `np.errstate` sets
_judged: tuple[Any, Any, Any, int, bool] = (None, None, None, 0, False)


def are_noticed() -> bool:
    """Whether anybody hears of a division by zero in lucid: by ``np.errstate``, or a filter of warnings before ours.

    The answer is kept while both are as they were: 0.3 us.
    """
    global _judged
    filters = warnings.filters
    state, first = np.geterr() if _state is None else _state.get(), filters[0] if filters else None
    known = _judged
    if known[0] is state and known[1] is filters and known[2] is first and known[3] == len(filters):
        return known[4]
    found = _are_noticed()
    _judged = state, filters, first, len(filters), found
    return found


def _are_noticed() -> bool:
    modes = {*np.geterr().values()} - {"ignore"}
    if modes != {"warn"}:
        return bool(modes)
    for action, message, category, module, _ in warnings.filters:
        if (issubclass(RuntimeWarning, category) and (message is None or message.match(_SAID))
                and (module is None or module.match(_MODULE))):
            return action != "ignore"
    return True


def ignore() -> None:
    """Leave them out from now on."""
    warnings.filterwarnings(
        "ignore", r"[a-z ]+ encountered in ", RuntimeWarning, r"lucid(\.(backends|autograd|ops|compiler)|_kernels\.cpu)\b"
    )


def pytest_runtest_setup() -> None:
    """Leave them out of a test and its fixtures: pytest restores the filters after each."""
    ignore()
