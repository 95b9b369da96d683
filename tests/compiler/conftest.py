"""Plans whose kernels are chained at once, so that few calls of each program test that too."""
from __future__ import annotations

import pytest

from lucid.compiler import plan


@pytest.fixture(autouse=True)
def _chained_at_once(monkeypatch):
    monkeypatch.setattr(plan, "CHAINED_AFTER", 1)
