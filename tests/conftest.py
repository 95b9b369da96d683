"""Fixtures for the whole suite. Without a GPU the device 'gpu' is the simulator, so every device-generic test runs on both."""
from __future__ import annotations

import gc
import importlib.util
import os
import pathlib
import shutil
import sys
from collections.abc import Iterator

import pytest

# NumPy's OpenBLAS: its threads look for the next product for 2**26 cycles before they sleep, on the processors that the other
# worker of pytest needs. With 2**4 the same threads compute the same.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
os.environ.setdefault("LUCID_VERBOSE", "0")  # what compiles for long depends on the other processes of the machine
# Both workers and some 150 processes that they start import lucid: 0.3 s of a processor each, 0.7 s without bytecode that is kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "kernels")]

from lucid_kernels.numpy_warnings import pytest_runtest_setup  # noqa: E402, F401 - a hook; twice where lucid is installed

_TORCH = importlib.util.find_spec("torch") is not None


def _real_gpu() -> bool:
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # CuPy is missing, or its driver is, in one of several classes
        return False


if "LUCID_GPU" not in os.environ and not _real_gpu():
    from lucid_kernels import simulator

    if simulator.available():
        os.environ["LUCID_GPU"] = "simulated"


class _OfTorch(pytest.Item):
    """All variants of a test with the mark `torch` where PyTorch is missing."""

    def runtest(self) -> None:
        pytest.importorskip("torch")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> pytest.Item | None:
    """A test with the mark `torch` is skipped as one: to collect, skip and report 10,000 of them took 30 s of the processor."""
    if _TORCH or all(mark.name != "torch" for mark in getattr(obj, "pytestmark", ())):
        return None
    return _OfTorch.from_parent(collector, name=name)


#: Files that take 10 s of a processor and more, in the order in which they begin: so both workers of pytest end at about the same time.
#: Two that need the same kernels do not stand side by side: both workers would compile them.
_LONG = """
parity/test_op_samples ops/table/test_table ops/test_fuse nn/modules/test_sequential_fusion ops/elementwise/test_large kernels/cpu/runtime/test_cache
backends/test_threads kernels/cpu/elementwise/test_fused kernels/bench/test_targets backends/cpu/test_elementwise kernels/cpu/convolution/test_conv2d
backends/meta/test_meta kernels/cpu/attention/test_attention test_warmup ops/nn/test_grid_sampling examples/test_digits kernels/cuda/elementwise/test_fused
kernels/cpu/elementwise/test_ternary kernels/cpu/fft/test_fft kernels/bench/test_bench optim/test_composed kernels/cpu/matmul/test_blocked
kernels/cuda/attention/test_flash_attention parity/distributions/test_families func/test_table parity/test_autocast
"""


def pytest_collection() -> None:
    """The collector would look through the tests again and again while there become more of them."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long files first. pytest-xdist would begin with those of the most tests."""
    folder = pathlib.Path(__file__).parent
    places = {folder / f"{name}.py": place for place, name in enumerate(_LONG.split())}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def pytest_collection_finish() -> None:
    """The 20,000 tests live until the end: a `gc.collect()` in a test, which looks through them, would take 0.3 s and more."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeds() -> None:
    """Every test starts from the same random numbers: one that passes once passes always."""
    import lucid

    lucid.manual_seed(0)
    if "torch" in sys.modules:  # `torch.manual_seed` also notes, with its stack, what to do once there is a GPU: 1 ms
        sys.modules["torch"].default_generator.manual_seed(0)
        sys.modules["torch"].set_num_threads(1)  # two would wait for each other, on processors that the other worker needs


@pytest.fixture(autouse=True)
def no_default_remains() -> Iterator[None]:
    """A test that sets the default device or dtype, and fails or sets another one than there was, changes no test after it."""
    import lucid

    yield
    lucid.set_default_device(None)
    lucid.set_default_dtype(lucid.float32)


@pytest.fixture(autouse=True)
def exact_convolutions() -> Iterator[None]:
    """Convolutions of float32 are exact on a GPU too, so that the same tolerances serve both devices; TF32 has tests of its own."""
    from lucid.backends import cudnn

    with cudnn.flags(allow_tf32=False):
        yield


@pytest.fixture(autouse=True)
def few_objects(request: pytest.FixtureRequest) -> None:
    """The collector passes over what previous tests have left, in files that call it: it took 1 s each time, 14 s in all."""
    if "gc" in vars(request.module):
        gc.freeze()


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage of earlier tests is freed in the test: statistics of memory tell what the test itself does."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=["cpu", "gpu"])
def device(request: pytest.FixtureRequest) -> str:
    """Each device in turn; 'gpu' is skipped only where neither a GPU nor the simulator (g++, CUDA headers) is there."""
    if request.param == "gpu":
        from lucid.backends.gpu_probe import gpu_problem

        problem = gpu_problem()
        if problem is not None:
            pytest.skip(problem)
    return str(request.param)


@pytest.fixture(autouse=True)
def no_pending_error() -> Iterator[None]:
    """A test that leaves an unread index error on a GPU fails itself, and not the next test that waits."""
    yield
    launch = sys.modules.get("lucid_kernels.cuda.runtime.launch")
    if launch is not None:
        launch.raise_pending()


@pytest.fixture(autouse=True)
def no_overrides_remain() -> Iterator[None]:
    """The classes that a test derives from Tensor go with it: while there is one, every call is looked at."""
    yield
    switching = sys.modules.get("lucid.overrides.switching")
    for generation in range(3):
        if switching is not None and switching._on:
            gc.collect(generation)
            switching.use(0)


@pytest.fixture(scope="session")
def gxx() -> str:
    """The path of g++, or a skip."""
    path = shutil.which("g++")
    if path is None:
        pytest.skip("g++ is not installed")
    return path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the tests that were skipped for want of PyTorch to the file LUCID_TORCH_TESTS, to be run with it afterwards."""
    path = os.environ.get("LUCID_TORCH_TESTS")
    if path and not hasattr(terminalreporter.config, "workerinput"):
        skipped = [r.nodeid for r in terminalreporter.stats.get("skipped", []) if "'torch'" in str(r.longrepr)]
        pathlib.Path(path).write_text("\n".join(skipped) + "\n")
