"""Which tile and how many slices a product gets."""

from __future__ import annotations

import json

import pytest
from lucid_kernels.cuda.convolution import configurations
from lucid_kernels.cuda.convolution.configurations import TILES


@pytest.fixture(autouse=True)
def forget():
    yield
    configurations.table.cache_clear()
    configurations.choose.cache_clear()


def choose(rows, columns, slabs, products=1):
    return configurations.choose("90", "kernel", rows, columns, slabs, products, 1)


def test_the_model():
    assert choose(100_000, 256, 36) == (TILES[0], 1)
    tile, slices = choose(64, 64, 400)
    assert tile == TILES[-1] and slices > 8  # few results with a long sum
    assert choose(64, 64, 4) == (TILES[-1], 1)
    assert choose(1_000_000, 3, 25)[0] == TILES[2]  # the input gradient of a stem
    assert choose(1, 1, 0)[1] == 1
    for slabs in range(1, 300):  # no slice is empty
        slices = choose(64, 64, slabs)[1]
        assert (slices - 1) * -(-slabs // slices) < slabs


def test_what_was_measured_comes_first(tmp_path, monkeypatch):
    name = configurations.key("kernel", 100_000, 256, 36, 1)
    (tmp_path / "sm_90.json").write_text(json.dumps({name: [2, 5]}))
    monkeypatch.setattr(configurations, "_TUNING", tmp_path)
    configurations.table.cache_clear()
    assert choose(100_000, 256, 36) == (TILES[2], 5)
    assert choose(100_000, 256, 37) == (TILES[0], 1)
    assert configurations.table("80") == {}


def test_the_tables_are_sound():
    for path in configurations._TUNING.glob("*.json"):
        for tile, slices in json.loads(path.read_text()).values():
            assert 0 <= tile < len(TILES) and slices >= 1
