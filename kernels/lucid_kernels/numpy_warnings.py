"""NumPy's warnings of divisions by zero and overflows, which lucid leaves out: inf and nan come silently, as in PyTorch.

NumPy warns in the name of the module that calls it, so a filter for lucid's modules touches no warning of the user's own NumPy
code, and costs nothing; `np.errstate` would cost 0.9 us a call. Small arrays meet NumPy in the modules that look into the
dispatcher's tables themselves, products in those of the kernels.

This file is also a plugin of pytest (the entry point `lucid_kernels.numpy_warnings`). pytest takes back the filters that are set
while it collects tests, when these import lucid, and where warnings are errors a test would fail for `lucid.zeros(1).log()`.
"""

from __future__ import annotations

import warnings


def ignore() -> None:
    """Leave them out from now on."""
    warnings.filterwarnings(
        "ignore", r"[a-z ]+ encountered in ", RuntimeWarning, r"lucid(\.(backends|autograd|ops)|_kernels\.cpu)\b"
    )


def pytest_runtest_setup() -> None:
    """Leave them out of a test and its fixtures: pytest restores the filters after each."""
    ignore()
