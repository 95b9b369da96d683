"""Devices: their names, equality, errors, the default one, and what is said when 'gpu' cannot be used."""
from __future__ import annotations

import contextvars
import copy
import os
import pathlib
import pickle
import subprocess
import sys
from collections.abc import Iterator

import pytest

import lucid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Makes `import cupy` fail in a fresh interpreter, whether or not it is installed.
HIDE_CUPY = """
import importlib.abc, sys
class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("cupy", "cupyx", "cupy_backends"):
            raise ModuleNotFoundError(name)
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "cupy" else find(name, package)
sys.meta_path.insert(0, Hide())
"""


def run(code: str, **variables: str) -> str:
    """What `code` prints in a fresh interpreter, without this process's LUCID_ variables."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCID_")} | variables
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def default_device() -> Iterator[None]:
    """Puts the default device back."""
    yield
    lucid.set_default_device(None)


class TestNames:
    @pytest.mark.parametrize(("name", "kind", "index"), [
        ("cpu", "cpu", None), ("gpu", "gpu", 0), ("gpu:0", "gpu", 0), ("gpu:1", "gpu", 1), ("cuda", "gpu", 0),
        ("cuda:2", "gpu", 2), ("cpu:0", "cpu", None)])
    def test_strings(self, name: str, kind: str, index: int | None) -> None:
        device = lucid.device(name)
        assert (device.type, device.index) == (kind, index)

    def test_type_and_index(self) -> None:
        assert lucid.device("cuda", 1) == "gpu:1"
        assert lucid.device(1) == "gpu:1"
        assert lucid.device(lucid.device("gpu:1")) == "gpu:1"

    @pytest.mark.parametrize("name", ["tpu", "gpu:x", "gpu:-1", "", "gpu:1:2", "cpu:1"])
    def test_unknown_devices_raise_runtime_error(self, name: str) -> None:
        with pytest.raises(RuntimeError):
            lucid.device(name)

    def test_an_index_given_twice(self) -> None:
        with pytest.raises(RuntimeError, match="must not include an index"):
            lucid.device("gpu:1", 1)

    @pytest.mark.parametrize("name", [None, 1.5, [], True])
    def test_other_types_raise_type_error(self, name: object) -> None:
        with pytest.raises(TypeError, match="must be a string"):
            lucid.device(name)

    def test_str_and_repr(self) -> None:
        assert str(lucid.device("cpu")) == "cpu"
        assert str(lucid.device("cuda")) == "gpu:0"
        assert repr(lucid.device("gpu:1")) == "device(type='gpu', index=1)"
        assert repr(lucid.device("cpu")) == "device(type='cpu')"


class TestEquality:
    def test_equal_to_its_names(self) -> None:
        for name in ("gpu", "gpu:0", "cuda", "cuda:0", lucid.device("cuda")):
            assert lucid.device("gpu") == name
        for other in ("gpu:1", "cpu", "nonsense", None, 0):
            assert lucid.device("gpu") != other

    def test_hash(self) -> None:
        assert len({lucid.device("gpu"), lucid.device("cuda:0"), lucid.device("cpu")}) == 2

    def test_copies(self) -> None:
        device = lucid.device("gpu:1")
        assert pickle.loads(pickle.dumps(device)) == copy.deepcopy(device) == device


class TestDefault:
    def test_set_and_reset(self, device: str, default_device: None) -> None:
        lucid.set_default_device(device)
        assert lucid.get_default_device() == device
        assert lucid.zeros(2).device == device
        assert lucid.tensor([1.0]).device == device
        lucid.set_default_device(None)
        assert lucid.get_default_device() == (os.environ.get("LUCID_DEVICE") or "cpu")

    def test_it_is_local_to_a_context(self) -> None:
        context = contextvars.copy_context()
        context.run(lucid.set_default_device, "gpu")
        assert context.run(lucid.get_default_device) == "gpu"
        assert lucid.get_default_device() != "gpu"

    def test_unknown(self) -> None:
        with pytest.raises(RuntimeError, match="tpu"):
            lucid.set_default_device("tpu")

    def test_variable(self, device: str) -> None:
        simulated = {"LUCID_GPU": os.environ["LUCID_GPU"]} if "LUCID_GPU" in os.environ else {}
        code = "import lucid; print(lucid.get_default_device(), lucid.ones(2).device.type)"
        assert run(code, LUCID_DEVICE=device, **simulated).split()[1] == device

    def test_wrong_variable(self) -> None:
        code = ("import lucid\n"
                "try:\n    lucid.ones(2)\n"
                "except RuntimeError as error:\n    print(error)")
        assert "tpu" in run(code, LUCID_DEVICE="tpu")


class TestProbe:
    def test_without_cupy(self) -> None:
        code = HIDE_CUPY + ("import lucid\n"
                            "print(lucid.gpu.is_available(), lucid.gpu.device_count())\n"
                            "print(lucid.gpu.why_unavailable())\n"
                            "try:\n    lucid.ones(2, device='gpu')\n"
                            "except RuntimeError as error:\n    print(error)")
        available, reason, error = run(code).splitlines()
        assert available == "False 0"
        assert reason == error
        for advice in ("needs CuPy", f'pip install -e "{ROOT}[cuda13]"', "[cuda12]", "LUCID_GPU=simulated"):
            assert advice in reason

    def test_the_simulator_does_not_need_cupy(self, gxx: str) -> None:
        from lucid_kernels import simulator

        if not simulator.available():
            pytest.skip("needs the CUDA headers")
        code = HIDE_CUPY.replace("sys.meta_path.insert", "pass #") + (
            "import lucid\nprint(lucid.gpu.is_available(), lucid.gpu.is_simulated(), lucid.ones(2, device='gpu').is_cuda)")
        assert run(code, LUCID_GPU="simulated") == "True True True"

    def test_simulator_without_a_compiler(self, tmp_path: pathlib.Path) -> None:
        code = "import lucid; print(lucid.gpu.why_unavailable())"
        message = run(code, LUCID_GPU="simulated", PATH=str(tmp_path))
        assert "g++" in message
        assert f'pip install -e "{ROOT}[simulator]"' in message

    def test_unknown_value(self) -> None:
        code = ("import lucid\n"
                "try:\n    lucid.gpu.is_available()\n"
                "except RuntimeError as error:\n    print(error)")
        assert "'simulated'" in run(code, LUCID_GPU="yes")

    def test_a_gpu_that_is_not_there(self, device: str) -> None:
        if device == "cpu":
            pytest.skip("the CPU has no index")
        with pytest.raises(RuntimeError, match="does not exist"):
            lucid.ones(2, device=f"gpu:{lucid.gpu.device_count()}")


def test_names_of_the_first_argument() -> None:
    assert lucid.device(type="cpu") == lucid.device(device="cpu") == "cpu" and lucid.device(device=lucid.device("meta")) == "meta"
    assert eval(repr(lucid.device("cpu")), {"device": lucid.device}) == "cpu"
    with pytest.raises(TypeError, match="not float"):
        lucid.device(type=1.5)  # type: ignore[arg-type]


def test_tensor_device_flags(device: str) -> None:
    x = lucid.ones(2, device=device)
    assert x.device == device
    assert x.is_cuda == x.is_gpu == (device == "gpu")
