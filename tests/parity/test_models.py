"""The models against torchvision and transformers with equal weights: forward, gradients, one step with buffers, and files."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import models
from tests.models import cases

pytestmark = pytest.mark.torch


@pytest.fixture(name="torch")
def _torch() -> Any:
    return pytest.importorskip("torch")


def close(a: Any, b: Any, tolerance: float) -> bool:
    ours, theirs = a.detach().numpy(), b.detach().numpy()
    scale = max(1e-3, float(np.abs(theirs).max(initial=0.0)))
    return ours.shape == theirs.shape and ours.dtype == theirs.dtype and bool(np.allclose(ours, theirs, tolerance, tolerance * scale))


def pair(name: str, torch: Any) -> tuple[Any, Any]:
    kind = cases.CASES[name][2]
    if not cases.CASES[name][0].startswith(("lenet", "unet")):
        pytest.importorskip("transformers" if kind == "tokens" else "torchvision", exc_type=(ImportError, RuntimeError))
    return cases.fill(cases.ours(name), lucid.from_numpy), cases.fill(cases.reference(name), torch.from_numpy)


def test_keys_and_shapes(torch: Any) -> None:
    numbers = json.loads(cases.NUMBERS.read_text())["keys"]
    with lucid.device("meta"):
        for name, digest in numbers.items():
            assert cases.digest(models.create_model(name)) == digest, name


@pytest.mark.parametrize("name", list(cases.CASES))
def test_a_step(name: str, torch: Any) -> None:
    ours, theirs = pair(name, torch)
    assert dict(cases.entries(ours)) == dict(cases.entries(theirs))
    ours.double(), theirs.double()  # in float32 noise decides about what normalization of small maps returns
    data = cases.inputs(cases.CASES[name][2])
    data = data.astype(np.float64) if data.dtype == np.float32 else data
    for training in (False, True):
        ours.train(training), theirs.train(training)
        outputs = cases.scores(ours(lucid.from_numpy(data))), cases.scores(theirs(torch.from_numpy(data)))
        assert close(*outputs, 1e-9)
    for module, model, output in zip((lucid, torch), (ours, theirs), outputs, strict=True):
        (output ** 2).mean().backward()
        module.optim.SGD(model.parameters(), lr=0.01).step()
    reference = dict(theirs.named_parameters())
    for key, parameter in ours.named_parameters():
        assert close(parameter.grad, reference[key].grad, 1e-6), key
    state = theirs.state_dict()
    for key, value in ours.state_dict().items():
        assert close(value, state[key], 1e-8), key


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_folders_go_both_ways(name: str, torch: Any, tmp_path: pathlib.Path) -> None:
    transformers = pytest.importorskip("transformers")
    ours, theirs = pair(name, torch)
    theirs.save_pretrained(tmp_path / "theirs", max_shard_size="10KB")
    loaded = models.from_pretrained(tmp_path / "theirs")
    data = cases.inputs("tokens")
    mask = np.array([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    expected = theirs.eval()(torch.from_numpy(data), attention_mask=torch.from_numpy(mask)).logits
    found = loaded(lucid.from_numpy(data), lucid.from_numpy(mask))
    for row in range(2):  # positions that are masked themselves compute what nobody reads
        seen = mask[row] != 0
        assert close(found[row][lucid.from_numpy(seen)], expected[row][torch.from_numpy(seen)], 1e-5)
    models.save_pretrained(ours, tmp_path / "ours", max_shard_size="10KB")
    again = type(theirs).from_pretrained(tmp_path / "ours").eval()
    assert torch.equal(again(torch.from_numpy(data)).logits, theirs(torch.from_numpy(data)).logits)
    assert transformers.AutoConfig.from_pretrained(tmp_path / "ours").model_type == name
