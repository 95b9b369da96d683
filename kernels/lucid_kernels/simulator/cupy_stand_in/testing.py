"""``cupy.testing``: NumPy's assertions about arrays of the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import lacking
from .creation import asnumpy


def _of_device(assertion: Callable[..., None]) -> Callable[..., None]:
    def check(actual: Any, desired: Any, *args: Any, **kwargs: Any) -> None:
        assertion(asnumpy(actual), asnumpy(desired), *args, **kwargs)

    check.__name__ = assertion.__name__
    check.__doc__ = f"``numpy.testing.{assertion.__name__}`` of device arrays."
    return check


assert_allclose = _of_device(np.testing.assert_allclose)
assert_array_equal = _of_device(np.testing.assert_array_equal)
assert_array_almost_equal = _of_device(np.testing.assert_array_almost_equal)
assert_array_less = _of_device(np.testing.assert_array_less)
__getattr__ = lacking.attributes("cupy.testing")
