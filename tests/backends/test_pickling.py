"""Pickles that were made when what is in `lucid.backends.pickling` was in other modules."""
from __future__ import annotations

import pickle

import pytest

import lucid


@pytest.mark.parametrize("module", ["sharing", "storage"])
def test_names_in_earlier_pickles_are_found(module: str) -> None:
    x = lucid.arange(6.0).reshape(2, 3)
    pickled = pickle.dumps({"slice": x[1], "state": lucid.get_rng_state()}, protocol=2)
    earlier = pickled
    for name in ("pickling", "storage"):
        earlier = earlier.replace(f"lucid.backends.{name}".encode(), f"lucid.backends.{module}".encode())
    assert b"lucid.backends.pickling" in pickled and b"lucid.backends.pickling" not in earlier
    loaded = pickle.loads(earlier)
    assert loaded["slice"].tolist() == [3, 4, 5]
    assert loaded["state"].equal(lucid.get_rng_state())
