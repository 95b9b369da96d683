from __future__ import annotations

from collections.abc import Iterator

import pytest

from lucid.overrides import switching


@pytest.fixture(autouse=True)
def calls_are_looked_at_no_longer(no_overrides_remain: None) -> Iterator[None]:
    """Nothing is left when a test begins: those before have taken their classes along."""
    assert not switching._on
    yield
