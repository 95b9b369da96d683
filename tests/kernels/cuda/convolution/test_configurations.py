"""Which tile and how many slices a product gets, by what was measured or by the model, and what `explain` says of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cuda.convolution import configurations
from lucid_kernels.cuda.convolution.configurations import TILES, WARP_TILES
from lucid_kernels.cuda.convolution.problem import SHARED_MEMORY, geometry_of, problems
from lucid_kernels.cuda.runtime import tuning

from lucid.backends import cudnn
from tests.kernels.cuda.convolution import layers

LARGEST = max(TILES, key=lambda tile: tile.rows * tile.columns)


@pytest.fixture(autouse=True)
def forget():
    yield
    tuning.table.cache_clear()


def choose(rows, columns, slabs, products=1, others=math.inf):
    name = configurations.key("kernel", rows, columns, slabs, products)
    return configurations.choose("90", name, configurations.choices(rows, columns, slabs, products, 1), others)


def test_the_model():
    assert choose(100_000, 256, 36) == (LARGEST, 1)
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
    assert choose(100_000, 256, 37) == (LARGEST, 1)
    assert choose(100_000, 256, 36, others=1.0) == (TILES[2], 5)  # a model says nothing against what was measured
    assert tuning.table("80") == {}


def test_the_tables_are_sound():
    for path in tuning.FOLDER.glob("*.json"):
        for name, numbers in json.loads(path.read_text()).items():
            if name.startswith("flash_attention"):
                assert numbers[0] >= 0 and len(numbers) == 1, name
            else:
                tile, slices = numbers
                assert configurations.MEASURED_SIMT <= tile < len(TILES) and slices >= 1, name


def test_where_the_others_were_measured_as_faster(tmp_path, monkeypatch):
    name = configurations.key("kernel", 100_000, 256, 36, 1)
    (tmp_path / "sm_90.json").write_text(json.dumps({name: [configurations.MEASURED_SIMT, 1]}))
    monkeypatch.setattr(tuning, "FOLDER", tmp_path)
    tuning.table.cache_clear()
    assert choose(100_000, 256, 36, others=1e9) is None
    assert choose(100_000, 256, 36) == (LARGEST, 1)  # where there are no others


def of(shape, weight, dtype=np.float32, exact=True):
    geometry = geometry_of(shape, weight, (1, 1), (1, 1), (1, 1), 1)
    with cudnn.flags(allow_tf32=not exact):
        return problems(np.dtype(dtype), geometry)


def test_exact_float32_is_on_tensor_cores_where_that_is_faster_by_the_model():
    small, large = of((1, 8, 6, 6), (8, 8, 3, 3)), of((8, 64, 56, 56), (64, 64, 3, 3))
    assert [problem.choose("90", SHARED_MEMORY, False) for problem in small] == [None] * 3
    assert None not in [problem.choose("90", SHARED_MEMORY, False) for problem in large]
    for problem in of((1, 8, 6, 6), (8, 8, 3, 3), exact=False):
        assert problem.choose("90", SHARED_MEMORY, False) is not None
    for problem in large:  # the largest tile has no registers for the parts of float32
        assert problem.exact and problem.tiles(SHARED_MEMORY, True) == WARP_TILES[1:]


def test_tiles_that_fit():
    """Chips with 99 KiB of shared memory a block have no room for all tiles; those of warpgroups want wgmma."""
    shape, weight = (1, 64, 8, 8), (64, 64, 3, 3)
    *products, gradient = of(shape, weight, exact=False)
    for problem in products:
        assert problem.tiles(SHARED_MEMORY, False) == problem.tiles(99 << 10, False) == WARP_TILES
        assert problem.tiles(SHARED_MEMORY, True) == TILES
    assert gradient.tiles(99 << 10, False) == WARP_TILES[1:]
    assert gradient.tiles(SHARED_MEMORY, True) == WARP_TILES  # wgmma does not turn float
    for problem in of(shape, weight, ml_dtypes.bfloat16, exact=False):
        assert problem.tiles(SHARED_MEMORY, True) == TILES


def test_layers_are_computed_by_what_the_file_says():
    """`python -m tests.kernels.cuda.convolution.layers` accepts a change."""
    assert layers.PATH.read_text() == layers.HEADER + "".join(line + "\n" for line in layers.lines())


def test_explain_names_what_is_chosen_and_by_which_rule():
    command = [sys.executable, "-m", "lucid_kernels.cuda.convolution", "explain", "8x64x56x56", "3x3"]
    exact, tf32 = (subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout for more in (["--exact"], []))
    assert exact.count(": chosen, by the model") == tf32.count(": chosen, by the model") == 3
    assert exact.count("  conv2d.cu, about ") == 3 and "conv2d.cu" not in tf32
    assert "conv_product<Float32, 64, 64, 32, 32, 4> in 1 slices" in exact and "conv_product<Tf32, " in tf32
