"""``python -m tests.ecosystem.program timm``: the numbers of the models of a library as JSON, with whatever `import torch` gives.

In float64, with parameters drawn by NumPy: the loss in evaluation, the loss and the norm of all gradients in training, the losses
after one and two steps, and the sum of the buffers then.
"""
from __future__ import annotations

import json
import os
import sys
import warnings
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402

from tests.ecosystem import models  # noqa: E402


def leaves(x: Any) -> list[Any]:
    """The tensors of a result, in its order."""
    if isinstance(x, torch.Tensor):
        return [x]
    if hasattr(x, "values"):
        return [leaf for each in x.values() for leaf in leaves(each)]
    return [leaf for each in x for leaf in leaves(each)] if isinstance(x, list | tuple) else []


def loss_of(result: Any) -> Any:
    """A weighted mean of all elements that are floating-point numbers."""
    total: Any = 0.0
    for number, leaf in enumerate(leaf for leaf in leaves(result) if leaf.is_floating_point()):
        weights = np.random.RandomState(number).uniform(0.5, 1.5, tuple(leaf.shape))
        total = total + (leaf * torch.from_numpy(np.asarray(weights))).mean()
    return total


def prepare(module: Any) -> Any:
    """Draw the parameters, and switch off what draws numbers itself."""
    module = module.double()
    r = np.random.RandomState(1)
    with torch.no_grad():
        for parameter in module.parameters():
            shape = tuple(parameter.shape)
            drawn = r.standard_normal(shape) * (0.1 if len(shape) < 2 else 1 / np.sqrt(np.prod(shape[1:])))
            parameter.copy_(torch.from_numpy(np.asarray(drawn)) + (1 if len(shape) == 1 and parameter.mean() > 0.5 else 0))
    for each in module.modules():
        for name in ("p", "drop_prob", "dropout", "attn_dropout", "drop_rate", "dropout_p"):
            if isinstance(vars(each).get(name), float) and (name != "p" or type(each).__name__.startswith(("Drop", "Stochastic"))):
                setattr(each, name, 0.0)
    return module


def numbers(case: models.Case) -> list[float]:
    """What a model computes."""
    module, inputs = case(np.random.RandomState(2))
    if not any(True for _ in module.parameters()):
        return [float(value.sum()) for value in leaves(module(*inputs))]
    module = prepare(module)
    with torch.no_grad():
        found = [loss_of(module.eval()(*inputs)).item()]
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-3, momentum=0.9)
    module.train()
    for step in range(3):
        loss = loss_of(module(*inputs))
        found.append(loss.item())
        if step == 2:
            break
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            found.append(sum(float((p.grad ** 2).sum()) for p in module.parameters() if p.grad is not None) ** 0.5)
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
    return [*found, sum(float(buffer.double().sum()) for buffer in module.buffers() if buffer.dtype != torch.bool)]


def main() -> None:
    """Print the numbers of the models of a library."""
    library = sys.argv[1]
    models.LIBRARIES[library]()
    print(json.dumps({name: numbers(case) for name, case in models.MODELS[library].items()}))


if __name__ == "__main__":
    main()
