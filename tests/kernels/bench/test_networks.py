"""The networks of the bench learn on lucid what they learn on PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import lucid  # noqa: E402
from bench.library import Library  # noqa: E402
from bench.networks import INFERENCE, NETWORKS, QUICK, _inference  # noqa: E402


@pytest.mark.parametrize("name", NETWORKS)
def test_losses_and_gradients_match_pytorch(name: str) -> None:
    network = NETWORKS[name]
    ours, reference = network.build(Library("lucid")), network.build(Library("torch"))
    ours.load_state_dict({key: lucid.tensor(value.numpy()) for key, value in reference.state_dict().items()})
    inputs, goal = network.data()
    losses = []
    for library, module in ((lucid, ours), (torch, reference)):
        loss = getattr(library.nn, network.criterion)()(module(library.tensor(inputs)), library.tensor(goal))
        loss.backward()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    length = torch.nn.utils.get_total_norm([other.grad for other in reference.parameters()]).item()
    for (key, parameter), other in zip(ours.named_parameters(), reference.parameters(), strict=True):
        expected = other.grad.numpy()
        # By norms, as a rounding error may turn a ReLU or another maximum; that of a bias before a normalisation is rounding only.
        error = np.linalg.norm(parameter.grad.numpy() - expected)
        assert error < 1e-2 * max(np.linalg.norm(expected), 1e-3 * length), key


@pytest.mark.parametrize("name", NETWORKS)
def test_all_of_a_network_is_on_its_device(name: str) -> None:
    library = Library("lucid", "meta")  # where nothing is computed, and a tensor of the CPU is as wrong as on a GPU
    found = _inference(library, NETWORKS[name])()
    assert found.device == "meta" and found.shape[0] > 0


def test_what_is_measured_is_there() -> None:
    assert {*INFERENCE, *QUICK} <= NETWORKS.keys()
