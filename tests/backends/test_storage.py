"""Pickles that were made when `lucid.backends.storage` had another name."""
from __future__ import annotations

import pickle

import lucid


def test_names_in_earlier_pickles_are_found() -> None:
    x = lucid.arange(6.0).reshape(2, 3)
    earlier = pickle.dumps({"slice": x[1], "state": lucid.get_rng_state()}, protocol=2).replace(b"lucid.backends.storage", b"lucid.backends.sharing")
    assert b"lucid.backends.sharing" in earlier
    loaded = pickle.loads(earlier)
    assert loaded["slice"].tolist() == [3, 4, 5]
    assert loaded["state"].equal(lucid.get_rng_state())
