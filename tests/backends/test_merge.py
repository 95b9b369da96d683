"""Joined tables hold every operation once."""
from __future__ import annotations

import pytest

from lucid.backends.merge import merge


def test_all_operations_of_all_tables() -> None:
    assert merge({"add": min}, {}, {"sub": max}) == {"add": min, "sub": max}


def test_an_operation_that_stands_in_two_tables_is_refused() -> None:
    with pytest.raises(ValueError, match="'mul' has two entries"):
        merge({"mul": min, "add": min}, {"sub": max}, {"mul": min})
