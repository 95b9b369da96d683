"""Every candidate of a case computes the case, and what is saved is chosen."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from lucid.backends import cudnn
from tests.kernels.cuda.convolution.test_tensor_cores import TOLERANCE, reference

CASE = ((1, 16, 6, 6), (24, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1)


@pytest.fixture
def tuner(cp):
    from lucid_kernels.cuda.convolution import tensor_cores, tuner

    if int(tensor_cores.capability()) < 80:
        pytest.skip("needs a GPU of compute capability 8.0 or later")
    return tuner


@pytest.mark.parametrize(("kind", "dtype", "last"), [("exact", np.float32, False), ("bfloat16", ml_dtypes.bfloat16, True)])
@pytest.mark.parametrize("sort", [0, 1, 2], ids=["forward", "input", "weight"])
def test_every_candidate_is_right(cp, tuner, sort, kind, dtype, last):
    with cudnn.flags(allow_tf32=False):
        case = tuner.Case(tuner.SORTS[sort], *CASE, dtype, last)
        names = tuner.candidates(case)
        assert (tuner.SIMT in names) == (kind == "exact") and len(names) == len(set(names)) >= 4
        a, b = tuner.operands(case)
        wide_a, wide_b = (each.get().astype(np.float64) for each in (a, b))
        x = wide_a if sort == 0 else wide_b if sort == 2 else np.zeros(CASE[0])
        weight = np.zeros(CASE[1]) if sort == 2 else wide_b
        g = np.zeros(case.output_shape) if sort == 0 else wide_a
        wanted = reference(x, weight, None, g, "float64", stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1)[sort]
        for name in names if sort == 0 else (names[-1], names[-2]):
            got = tuner.run(case, name, a, b).get().astype(np.float64)
            assert np.abs(got - wanted).max() < TOLERANCE[kind] * np.abs(wanted).max(), name


def test_what_is_saved_is_chosen(cp, tuner, tmp_path, monkeypatch):
    from lucid_kernels.cuda.convolution import configurations, tensor_cores
    from lucid_kernels.cuda.runtime import tuning

    monkeypatch.setattr(tuning, "FOLDER", tmp_path)
    tuning.table.cache_clear()
    try:
        with cudnn.flags(allow_tf32=False):
            case = tuner.Case("forward", *CASE, np.float32, False)
            for name, chosen in (("tile 2 in 1 slices", (configurations.TILES[2], 1)), (tuner.SIMT, None)):
                tuning.write(tensor_cores.capability(), {tuner.key(case): tuner.entry(name)})
                assert tensor_cores.choose(case.problem) == chosen
        tuning.write(tensor_cores.capability(), {"another 1x1x1x1": [0, 1]})
        assert len(tuning.table(tensor_cores.capability())) == 2
        with pytest.raises(ValueError, match="is not the name of a configuration"):
            tuner.entry("tile 2")
    finally:
        tuning.table.cache_clear()
