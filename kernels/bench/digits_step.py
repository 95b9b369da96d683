"""One training step of the network of examples/digits.py: the same code on lucid and on PyTorch."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side
from bench.environment import ROOT

BATCH = 64
BOUND = 1.0


def _example() -> Any:
    """The module examples/digits.py."""
    spec = importlib.util.spec_from_file_location("digits", ROOT / "examples" / "digits.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases(side: Side) -> Iterator[Case]:
    """Batch 64, Adam, cross entropy."""
    library = side.library()
    if library is None:
        yield side.case("digits training step, batch 64", ours=lambda: None)
        return
    nn = importlib.import_module(f"{library.__name__}.nn")
    optim = importlib.import_module(f"{library.__name__}.optim")
    library.manual_seed(0)
    model = _example().build_model(nn)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    rng = np.random.default_rng(0)
    images = library.tensor(rng.random((BATCH, 1, 8, 8), np.float32))
    labels = library.tensor(rng.integers(0, 10, BATCH))

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()

    yield side.case("digits training step, batch 64", ours=step, torch=step, limit=BOUND, title="digits training step")
