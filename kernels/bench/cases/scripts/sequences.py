"""Networks whose layers are written by hand: each function prepares a model and returns its training step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from bench.library import Library

Step = Callable[[], Any]


def _trained(library: Library, parameters: list[Any], loss_of: Callable[[], Any]) -> Step:
    """A step of Adam on what `loss_of` computes."""
    optimizer = library.optim.Adam(parameters, lr=1e-3)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def _weights(library: Library, *shapes: tuple[int, ...]) -> list[Any]:
    return [(library.lib.randn(*shape) / math.sqrt(shape[0])).requires_grad_() for shape in shapes]


def lstm_by_hand(library: Library) -> Step:
    """An LSTM over 30 steps, one product for each gate."""
    lib, hidden = library.lib, 32
    gates = [_weights(library, (16, hidden), (hidden, hidden), (hidden,)) for _ in range(4)]
    out, x, y = _weights(library, (hidden, 1))[0], lib.randn(30, 8, 16), lib.randn(8, 1)

    def loss() -> Any:
        h, c = lib.zeros(8, hidden), lib.zeros(8, hidden)
        for t in range(30):
            i, f, o, g = [x[t] @ w + h @ u + b for w, u, b in gates]
            c = lib.sigmoid(f) * c + lib.sigmoid(i) * lib.tanh(g)
            h = lib.sigmoid(o) * lib.tanh(c)
        return ((h @ out - y) ** 2).mean()

    return _trained(library, [*itertools.chain(*gates), out], loss)


def character_rnn(library: Library) -> Step:
    """One character at a time, as in the first tutorial of recurrent networks, with clipped gradients and plain descent."""
    lib, nn, F = library.lib, library.nn, library.F
    letters, hidden, length = 57, 64, 12
    mix, out = nn.Linear(letters + hidden, hidden), nn.Linear(letters + hidden, letters)
    parameters = [*mix.parameters(), *out.parameters()]
    text = lib.randint(0, letters, (length + 1,))

    def step() -> Any:
        h, loss = lib.zeros(1, hidden), 0
        for parameter in parameters:
            parameter.grad = None
        for t in range(length):
            letter = lib.zeros(1, letters)
            letter[0][text[t]] = 1
            joined = lib.cat((letter, h), 1)
            h = lib.tanh(mix(joined))
            loss = loss + F.nll_loss(F.log_softmax(out(joined), dim=1), text[t + 1].unsqueeze(0))
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        for parameter in parameters:
            parameter.data.add_(parameter.grad.data, alpha=-0.005)
        return loss.item() / length

    return step


def hyper_network(library: Library) -> Step:
    """A recurrent cell whose weights are scaled by a smaller cell."""
    lib, nn, F = library.lib, library.nn, library.F
    small, scale, shift = nn.GRUCell(24 + 16, 16), nn.Linear(16, 48), nn.Linear(16, 16)
    norm, (w, u) = nn.LayerNorm(48), _weights(library, (24, 48), (16, 48))
    x, y = lib.randn(10, 8, 24), lib.randn(8, 16)

    def loss() -> Any:
        h, state = lib.zeros(8, 16), lib.zeros(8, 16)
        for inputs in x:
            state = small(lib.cat([inputs, h], dim=-1), state)
            reset, update, new = norm(scale(state) * (inputs @ w + h @ u)).chunk(3, dim=-1)
            z = update.sigmoid()
            h = z * h + (1 - z) * lib.tanh(reset.sigmoid() * new + shift(state))
        return F.smooth_l1_loss(h, y)

    return _trained(library, [p for module in (small, scale, shift, norm) for p in module.parameters()] + [w, u], loss)


def autoregressive_flow(library: Library) -> Step:
    """Four masked autoregressive layers with reversals between them."""
    lib, F, size, hidden = library.lib, library.F, 6, 32
    degrees = lib.arange(hidden) % (size - 1)
    first = (degrees[None, :] >= lib.arange(size)[:, None]).to(lib.get_default_dtype())
    last = (lib.arange(size).repeat(2)[None, :] > degrees[:, None]).to(lib.get_default_dtype())
    layers = [_weights(library, (size, hidden), (hidden,), (hidden, 2 * size), (2 * size,)) for _ in range(4)]
    x = lib.randn(64, size)

    def loss() -> Any:
        z, total = x, lib.zeros(64)
        for w, b, v, c in layers:
            mean, log_scale = (F.relu(z @ (w * first) + b) @ (v * last) + c).chunk(2, dim=1)
            log_scale = log_scale.clamp(-3, 3)
            z = ((z - mean) * lib.exp(-log_scale)).flip(1)
            total = total - log_scale.sum(1)
        return -(total - 0.5 * (z ** 2).sum(1) - 0.5 * size * math.log(2 * math.pi)).mean()

    return _trained(library, list(itertools.chain(*layers)), loss)


def capsules(library: Library) -> Step:
    """Three rounds of routing between 32 and 10 capsules, and the margin loss."""
    lib, F = library.lib, library.F
    (weight,) = _weights(library, (1, 32, 10, 8, 4))
    x, labels = lib.randn(8, 32, 1, 1, 4), lib.arange(8)

    def squash(s: Any) -> Any:
        square = (s ** 2).sum(-1, keepdim=True)
        return square / (1 + square) * s / (lib.sqrt(square) + 1e-8)

    def loss() -> Any:
        votes = (weight * x).sum(-1)
        logits = lib.zeros(8, 32, 10)
        for _ in range(3):
            share = F.softmax(logits, dim=2).unsqueeze(-1)
            v = squash((share * votes).sum(dim=1))
            logits = logits + (votes * v.unsqueeze(1)).sum(-1)
        length, wanted = v.norm(dim=-1), F.one_hot(labels, 10).to(v.dtype)
        return (wanted * F.relu(0.9 - length) ** 2 + 0.5 * (1 - wanted) * F.relu(length - 0.1) ** 2).sum(1).mean()

    return _trained(library, [weight], loss)


def graph_attention(library: Library) -> Step:
    """Two layers of four attention heads over a graph of 60 nodes."""
    lib, F, nodes = library.lib, library.F, 60
    x, labels = lib.randn(nodes, 24), lib.randint(0, 5, (nodes,))
    edges = (lib.rand(nodes, nodes) < 0.1) | lib.eye(nodes, dtype=lib.bool)
    heads = [_weights(library, (24, 8), (8, 1), (8, 1)) for _ in range(4)]
    last = _weights(library, (32, 5), (5, 1), (5, 1))

    def attend(h: Any, w: Any, a: Any, b: Any) -> Any:
        h = h @ w
        scores = F.leaky_relu(h @ a + (h @ b).T, 0.2)
        weights = F.softmax(scores.masked_fill(~edges, -1e9), dim=1)
        return F.dropout(weights, 0.1) @ h

    def loss() -> Any:
        hidden = lib.cat([F.elu(attend(x, *head)) for head in heads], dim=1)
        return F.nll_loss(F.log_softmax(F.elu(attend(hidden, *last)), dim=1), labels)

    return _trained(library, [*itertools.chain(*heads), *last], loss)


PROGRAMS = {"LSTM by hand": lstm_by_hand, "character RNN": character_rnn, "hyper-network cell": hyper_network,
            "autoregressive flow": autoregressive_flow, "capsule routing": capsules, "graph attention": graph_attention}
