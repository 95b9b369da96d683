"""The current GPU and what GPUs are."""
from __future__ import annotations

import subprocess
import sys

import pytest

import lucid
from lucid.backends.device import set_current_gpu

pytestmark = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")


def test_properties() -> None:
    properties = lucid.gpu.get_device_properties()
    assert properties == lucid.gpu.get_device_properties("cuda:0") == lucid.gpu.get_device_properties(lucid.device("gpu"))
    assert lucid.gpu.get_device_name() == properties.name and lucid.gpu.get_device_name(0)
    assert lucid.gpu.get_device_capability() == (properties.major, properties.minor) >= (6, 0)
    assert properties.warp_size == 32 and properties.multi_processor_count > 0
    assert 0 < properties.shared_memory_per_block <= properties.shared_memory_per_multiprocessor
    free, total = lucid.gpu.mem_get_info()
    assert 0 < free <= total and total <= properties.total_memory
    assert lucid.gpu.is_bf16_supported()
    if lucid.gpu.is_simulated():
        assert properties.name == "simulated"


def test_the_current_device() -> None:
    assert lucid.gpu.current_device() == 0
    with lucid.gpu.device("gpu:0"), lucid.gpu.device(-1), lucid.gpu.device(None):
        assert lucid.ones(2, device="gpu").device == "gpu:0"
    lucid.gpu.set_device(-1)
    lucid.gpu.set_device("cuda:0")
    assert lucid.gpu.current_device() == 0
    count = lucid.gpu.device_count()
    for wrong in (lucid.gpu.set_device, lucid.gpu.get_device_properties, lucid.gpu.synchronize):
        with pytest.raises(RuntimeError, match="does not exist"):
            wrong(count)
        with pytest.raises(ValueError, match="Expected a gpu device"):
            wrong("cpu")
    assert lucid.gpu.current_device() == 0


def test_gpu_without_a_number_is_the_current_one() -> None:
    try:
        set_current_gpu(1)
        assert lucid.device("gpu").index == 1 == lucid.device("cuda").index and lucid.device("gpu:0").index == 0
    finally:
        set_current_gpu(0)


def test_imported_with_the_first_use() -> None:
    code = ("import lucid\n"
            "assert not lucid.gpu.is_initialized() and not lucid.gpu.is_current_stream_capturing()\n"
            "lucid.gpu.synchronize(); lucid.gpu.manual_seed_all(3); assert not lucid.gpu.is_initialized()\n"
            "lucid.gpu.init(); assert lucid.gpu.is_initialized()\n")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_seeds() -> None:
    lucid.gpu.manual_seed_all(5)
    state = lucid.gpu.get_rng_state()
    first = lucid.rand(4, device="gpu")
    assert lucid.gpu.initial_seed() == 5 and len(lucid.gpu.get_rng_state_all()) == lucid.gpu.device_count()
    lucid.gpu.set_rng_state_all([state])
    assert lucid.equal(lucid.rand(4, device="gpu"), first)
    lucid.gpu.manual_seed(5)
    assert lucid.equal(lucid.rand(4).gpu(), first)
    lucid.gpu.seed_all()
    assert lucid.gpu.initial_seed() != 5
