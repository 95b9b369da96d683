"""Four buffers: running statistics, causal mask, key-value cache, moving average. Usage: examples/buffers.py [cpu|gpu]"""
import sys

import lucid
from lucid import nn
from lucid.optim.swa_utils import AveragedModel, get_ema_avg_fn


class Predictor(nn.Module):
    """One attention layer that predicts the next value of a signal (N, T) from all values so far."""
    def __init__(self, width: int = 32, length: int = 32) -> None:
        super().__init__()
        self.mean, self.std = nn.Buffer(0.0, ema="average"), nn.Buffer(1.0, ema="average")  # saved and moved, not trained
        self.future = nn.Buffer(init=lambda: lucid.ones(length, length).triu(1) > 0, persistent=False)  # not worth saving
        self.register_buffer("cache", None, persistent=False)  # grows with every step of generation
        self.embed, self.place = nn.Linear(1, width), nn.Embedding(length, width)
        self.query, self.key_value, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, 1)

    def forward(self, x: lucid.Tensor, generate: bool = False) -> lucid.Tensor:
        if self.training:  # what is assigned to a buffer becomes its content, without the graph that computed it
            self.mean, self.std = self.mean.lerp(x.mean(), 0.1), self.std.lerp(x.std(), 0.1)
        start = self.cache.shape[1] if generate and self.cache is not None else 0
        now = slice(start, start + x.shape[1])
        h = self.embed(((x - self.mean) / self.std).unsqueeze(-1)) + self.place.weight[now]
        key_value = self.key_value(h)
        if generate:
            key_value = self.cache = key_value if self.cache is None else lucid.cat([self.cache, key_value], 1)
        key, value = key_value.chunk(2, -1)
        scores = (self.query(h) @ key.mT / key.shape[-1] ** 0.5).masked_fill(self.future[now, : now.stop], -float("inf"))
        return self.out((h + scores.softmax(-1) @ value).tanh()).squeeze(-1) * self.std + self.mean


def signals(count: int = 16) -> lucid.Tensor:
    phase, pace = 6 * lucid.rand(count, 1), 0.2 + lucid.rand(count, 1)
    return 20 + 3 * lucid.sin(phase + pace * lucid.arange(33)) + 0.3 * lucid.randn(count, 33)


def main(device: str = "cpu", *, steps: int = 400) -> None:
    model, mse = Predictor(), nn.MSELoss()
    average, optimizer = AveragedModel(model, avg_fn=get_ema_avg_fn(0.95)), lucid.optim.Adam(model.parameters(), lr=1e-2)
    model.to(device), average.to(device), lucid.set_default_device(device)  # the optimizer's parameters have moved too
    for _step in range(steps):
        x = signals()
        mse(model(x[:, :-1]), x[:, 1:]).backward()
        optimizer.step(), optimizer.zero_grad()
        average.update_parameters(model)
    print(model.eval())
    with lucid.no_grad():
        x = signals(1000)
        print(f"running statistics: mean {model.mean.item():.2f}, std {model.std.item():.2f} of signals around 20")
        fresh = Predictor().to("meta").to_empty(device=device).future
        print(f"mask: computed again in a model that got memory without content: {(fresh == model.future).all().item()}")
        parts, whole = lucid.cat([model(x[:, [t]], generate=True) for t in range(32)], 1), model(x[:, :-1])
        print(f"cache {tuple(model.cache.shape)}: step by step or at once, outputs differ by {(parts - whole).abs().max():.0e}")
        print(f"error: model {mse(whole, x[:, 1:]):.3f}, its moving average {mse(average.eval()(x[:, :-1]), x[:, 1:]):.3f}")


if __name__ == "__main__":
    lucid.manual_seed(0)
    main(*sys.argv[1:2])
