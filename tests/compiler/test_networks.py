"""The networks of the bench, on three samples: compiled steps against eager ones, bit for bit."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from bench.library import Library
from bench.networks.images import IMAGES
from bench.networks.others import OTHERS
from bench.networks.sequences import SEQUENCES
from bench.targets.models import MODELS

NETWORKS = {**SEQUENCES, **IMAGES, **OTHERS, **MODELS}
# One of each kind: the others take longer, and run no other kernels.
CHOSEN = ("LSTM classifier", "GRU tagger", "transformer encoder", "autoencoder", "discriminator", "generator",
          "tabular embeddings", "PointNet", "temporal convolution", "NeRF", "MLP 784-256-10, batch 64", "digits CNN, batch 64",
          "28x28 CNN, batch 64")


@pytest.mark.parametrize("name", CHOSEN)
def test_a_network_of_the_bench(name):
    network, library = NETWORKS[name], Library("lucid", "cpu")
    inputs, goals = network.data()
    per_sample = len(goals) // len(inputs)
    x, t = lucid.tensor(inputs[:3]), lucid.tensor(goals[:3 * per_sample])

    def run(compiled):
        lucid.manual_seed(0)
        module, criterion = network.build(library), getattr(lucid.nn, network.criterion)()
        optimizer = lucid.optim.Adam(module.parameters(), lr=1e-3)

        def step(x, t):
            optimizer.zero_grad()
            loss = criterion(module(x), t)
            loss.backward()
            optimizer.step()
            return loss

        if compiled:
            step = lucid.compile(step, fullgraph=True)
        losses = [step(x, t).item() for _ in range(5)]
        if compiled:
            (plan,) = step.plans
            assert plan.memory <= plan.recorder.peak  # of an eager call, also with chains
        return losses, [value.numpy() for value in module.state_dict().values()]

    (losses, state), (found, other) = run(False), run(True)
    assert found == losses
    for a, b in zip(state, other, strict=True):
        np.testing.assert_array_equal(b, a)
