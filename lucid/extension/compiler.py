"""`jit`: the compiler of lucid's own CPU kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any


def jit(function: Callable[..., Any] | None = None, *, parallel: bool = False, exact: bool = False, inline: bool = False
        ) -> Callable[..., Any]:
    """Compile a function of NumPy arrays and numbers with Numba, as lucid's own kernels are: a decorator.

    - Machine code is kept on disk (LUCID_CACHE_DIR), keyed by the source of the function and of all that it calls.
    - Division by zero gives inf or NaN, as in NumPy; the GIL is released; indices are not checked.
    - Sums may be reassociated, so that loops over them are vectorised; NaN and inf stay right. With `exact` the order of
      operations stays; what other kernels call for each element is best compiled so, or with `inline` so that loops vectorise.
    - `parallel`: a single ``numba.prange`` loop at the top level of the function runs on lucid's threads. Give each iteration a
      whole chunk, such as a row, and let it assign to no name outside of the loop; arrays it may write.

    `lucid.extension.math` has exp, tanh and others that are vectorised inside of such loops, where Numba calls the C library.

    >>> from lucid import extension as ext
    >>> @ext.jit
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(x.size):
    ...         s += x[i]
    ...     return s
    >>> total(np.ones(3))
    3.0
    """
    if function is None:
        return lambda inner: jit(inner, parallel=parallel, exact=exact, inline=inline)
    if parallel and (exact or inline):
        raise ValueError("jit: a parallel kernel is neither exact nor inline; its loop calls functions that are")
    from lucid_kernels.cpu.runtime import jit as compilers

    if inline:
        return compilers.jit_inline(function)
    if parallel:
        return compilers.jit_parallel(function)
    return compilers.jit_exact(function) if exact else compilers.jit(function)
