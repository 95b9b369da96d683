"""The main job: accuracy, checkpoint, agreement of devices and with PyTorch, and memory."""
from __future__ import annotations

import gc
import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import lucid
from lucid.data import TensorDataset
from lucid.nn import functional as F

# Whether it is installed: its import takes a second, in each process that collects tests.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")
SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits():
    specification = importlib.util.spec_from_file_location("digits", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_accuracy_over_three_seeds(digits, tmp_path, capsys):
    accuracies = [digits.main(["--seed", str(seed), "--output", str(tmp_path), "--device", "cpu"]) for seed in range(3)]
    assert min(accuracies) >= 0.975 and sum(accuracies) / 3 >= 0.985
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("epoch") for line in lines) == 45
    # The reloaded buffers give the same accuracy; resetting them ruins it.
    reloaded, ruined = (float(part.split("%")[0].split()[-1]) for part in lines[-2].split(";"))
    assert reloaded == pytest.approx(100 * accuracies[-1], abs=0.01) and ruined < 70
    assert lines[-1] == f"test accuracy {accuracies[-1]:.2%}"
    assert {path.name for path in tmp_path.iterdir()} == {"digits.safetensors", "digits.png"}


def test_short_run_on_the_gpu(digits, tmp_path, capsys, device, monkeypatch):
    """The whole script on the GPU: one epoch of a whole batch and the rest of one, since the simulator takes a second a batch."""
    if device == "cpu":
        pytest.skip("the test of the accuracy runs it on the CPU")
    load_data = digits.load_data
    monkeypatch.setattr(digits, "load_data", lambda seed: [TensorDataset(*[tensor[:93] for tensor in part.tensors])
                                                           for part in load_data(seed)])
    digits.main(["--epochs", "1", "--device", device, "--output", str(tmp_path)])
    assert "on gpu:0" in capsys.readouterr().out and (tmp_path / "digits.png").stat().st_size > 10_000


def test_same_seed_same_numbers(digits, tmp_path, capsys):
    outputs = []
    for _ in range(2):
        digits.main(["--epochs", "1", "--seed", "3", "--output", str(tmp_path), "--device", "cpu"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_gpu_without_a_gpu_says_what_to_install(tmp_path):
    (tmp_path / "cupy.py").write_text("raise ImportError('no cupy here')")
    environment = {key: value for key, value in os.environ.items() if key not in ("LUCID_GPU", "LUCID_DEVICE")}
    root = SCRIPT.parents[1]
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), str(root), str(root / "kernels")])
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\nu.find_spec = lambda n, *a: None if n == 'cupy' else find(n, *a)\n")
    run = subprocess.run([sys.executable, str(SCRIPT), "--device", "gpu"], env=environment, capture_output=True, text=True,
                         check=False)
    assert run.returncode == 2
    assert f'pip install -e "{root}[cuda13]"' in run.stderr and "LUCID_GPU=simulated" in run.stderr
    assert "Traceback" not in run.stderr


def three_steps(library, functional, model, images, labels, move):
    """The losses of three steps with SGD, and the state after them, as NumPy arrays."""
    optimizer = library.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    losses = []
    for start in range(0, 96, 32):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(move(images[start:start + 32])), move(labels[start:start + 32]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.detach().cpu().numpy().copy() for name, value in model.state_dict().items()}


@pytest.fixture(scope="module")
def batch(digits):
    train, _ = digits.load_data(0)
    return [tensor[:96].numpy() for tensor in train.tensors]


def without_dropout(model):
    for module in model.modules():
        if hasattr(module, "p"):
            module.p = 0.0
    return model


def test_first_steps_agree_with_the_cpu(digits, batch, device):
    """Dropout included: its mask has the same bits on both devices."""
    results = []
    for where in ("cpu", device):
        lucid.manual_seed(0)
        model = digits.build_model(lucid.nn).to(where)
        results.append(three_steps(lucid, F, model, *batch, lambda a, where=where: lucid.tensor(a, device=where)))
    (losses, state), (other_losses, other_state) = results
    np.testing.assert_allclose(other_losses, losses, rtol=1e-5)
    for name, value in state.items():
        np.testing.assert_allclose(other_state[name], value, rtol=1e-3, atol=2e-5, err_msg=name)


def test_first_steps_agree_with_pytorch(digits, batch, device):
    torch = pytest.importorskip("torch")
    theirs = without_dropout(digits.build_model(torch.nn))
    ours = without_dropout(digits.build_model(lucid.nn))
    ours.load_state_dict({name: lucid.tensor(value.numpy()) for name, value in theirs.state_dict().items()})
    ours.to(device)
    losses, state = three_steps(lucid, F, ours, *batch, lambda a: lucid.tensor(a, device=device))
    expected_losses, expected = three_steps(torch, torch.nn.functional, theirs, *batch, torch.tensor)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    assert list(state) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-3, atol=2e-5, err_msg=name)


def test_memory_does_not_grow_without_the_garbage_collector(digits, batch):
    """2,000 training steps grow the process by less than 5 MB after warm-up: no reference cycle keeps a graph alive."""
    resource_page = os.sysconf("SC_PAGE_SIZE")

    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * resource_page

    model = digits.build_model(lucid.nn)
    optimizer = lucid.optim.Adam(model.parameters())
    images, labels = (lucid.tensor(array[:16]) for array in batch)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    for _ in range(200):
        step()
    gc.collect()
    gc.disable()
    try:
        before = resident()
        for _ in range(2000):
            step()
        assert resident() - before < 5e6
    finally:
        gc.enable()
