"""The steps of SGD and Adam on one large parameter, against PyTorch's fused ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.case import Case, Side, normal


def cases(side: Side) -> Iterator[Case]:
    """As many parameters as ResNet-18 has."""
    size = 500_000 if side.quick else 11_500_000
    k, torch = side.kernels("optimizer"), side.torch
    start, slope = normal(size), normal(size, seed=1)
    p, g = side.array(start.copy()), side.array(slope)
    zeros = np.zeros(size, np.float32)
    m, v, buffer = (side.array(zeros.copy()) for _ in range(3))
    sgd = {"lr": 1e-6, "momentum": 0.9, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False}
    adam = {"lr": 1e-6, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0, "step": 10,
            "decoupled_weight_decay": False, "amsgrad": False, "maximize": False}
    steps = {}
    if torch is not None:
        p.requires_grad_()
        p.grad = g
        steps = {"sgd": torch.optim.SGD([p], lr=1e-6, momentum=0.9, fused=True),
                 "adam": torch.optim.Adam([p], lr=1e-6, fused=True)}

    def numpy_adam() -> None:
        m[...] = 0.9 * m + 0.1 * g
        v[...] = 0.999 * v + 0.001 * g * g
        p[...] -= 1e-6 * (m / (1 - 0.9**10)) / (side.xp.sqrt(v / (1 - 0.999**10)) + 1e-8)

    yield side.case(
        f"SGD with momentum, {size:,} parameters", ours=lambda: k.sgd(p, g, buffer, **sgd, out=(p, buffer)),
        torch=lambda: steps["sgd"].step(), bytes=5 * 4 * size)
    yield side.case(
        f"Adam, {size:,} parameters", ours=lambda: k.adam(p, g, m, v, None, **adam, out=(p, m, v, None)),
        torch=lambda: steps["adam"].step(), numpy=numpy_adam, bytes=7 * 4 * size)
