"""Which tile and how many slices a product gets."""

from __future__ import annotations

import json

import pytest
from lucid_kernels.cuda.convolution import configurations
from lucid_kernels.cuda.convolution.configurations import TILES
from lucid_kernels.cuda.runtime import tuning


@pytest.fixture(autouse=True)
def forget():
    yield
    tuning.table.cache_clear()
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
    monkeypatch.setattr(tuning, "FOLDER", tmp_path)
    tuning.table.cache_clear()
    path = tuning.write("90", {name: [2, 5]})
    assert json.loads(path.read_text()) == {name: [2, 5]} == tuning.table("90")
    tuning.write("90", {"another": [1]})
    assert tuning.table("90") == {name: [2, 5], "another": [1]}
    assert choose(100_000, 256, 36) == (TILES[2], 5)
    assert choose(100_000, 256, 37) == (TILES[0], 1)
    assert tuning.table("80") == {}


def test_the_tables_are_sound():
    for path in tuning.FOLDER.glob("*.json"):
        for name, numbers in json.loads(path.read_text()).items():
            if name.startswith("flash_attention"):
                assert numbers[0] >= 0 and len(numbers) == 1, name
            else:
                tile, slices = numbers
                assert 0 <= tile < len(TILES) and slices >= 1, name


def test_the_model_chooses_among_the_candidates():
    for slabs in (0, 1, 7, 8, 100, 301):
        found = list(configurations.candidates(slabs))
        assert choose(500, 64, slabs) in found and len(set(found)) == len(found)
