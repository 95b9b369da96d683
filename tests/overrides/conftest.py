from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lucid.overrides import switching


@pytest.fixture(autouse=True)
def calls_are_looked_at_no_longer() -> Iterator[None]:
    """The classes of a test go with it."""
    yield
    gc.collect()
    switching.use(0)
    assert not switching._on
