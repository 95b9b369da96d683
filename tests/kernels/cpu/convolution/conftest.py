from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lucid_kernels.cpu.convolution import conv2d, implementations
from lucid_kernels.cpu.runtime.implementations import Implementations


@pytest.fixture(autouse=True)
def forget_choices() -> Iterator[Callable[[], None]]:
    """Implementations are chosen anew in each test, which may change thresholds; calling it forgets them within a test."""
    def forget() -> None:
        conv2d._chosen.cache_clear()
        for some in vars(implementations).values():
            if isinstance(some, Implementations) and hasattr(some.choose, "cache_clear"):
                some.choose.cache_clear()

    forget()
    yield forget
    forget()
