"""Sequence to sequence: dates as people write them into ISO form: python examples/gallery/seq2seq.py [--steps 400]

"7 march 1984" becomes "1984-03-07". A GRU reads the characters, another one writes, looking at what was read by attention; the
picture shows where it looked. Source of the attention: Bahdanau et al., 2015.
"""
from __future__ import annotations

import argparse
import datetime
import pathlib
import random

import lucid
from lucid import Tensor, nn
from lucid.nn import functional as F

MONTHS = "january february march april may june july august september october november december".split()
READ, WRITE, LENGTH = " abcdefghijklmnopqrstuvwxyz0123456789,", "0123456789-", 20


def pair(source: random.Random) -> tuple[str, str]:
    day = datetime.date(1900, 1, 1) + datetime.timedelta(days=source.randrange(60_000))
    month = MONTHS[day.month - 1]
    written = [f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", f"{month[:3]} {day.day} {day.year}"]
    return source.choice(written), str(day)


def batch(count: int, source: random.Random) -> tuple[Tensor, Tensor]:
    """Characters (count, 20) and (count, 10) as numbers."""
    pairs = [pair(source) for _ in range(count)]
    return (lucid.tensor([[READ.index(c) for c in text.ljust(LENGTH)] for text, _ in pairs]),
            lucid.tensor([[WRITE.index(c) for c in iso] for _, iso in pairs]))


class Translator(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.read, self.wrote = nn.Embedding(len(READ), width), nn.Embedding(len(WRITE) + 1, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.decoder = nn.GRUCell(3 * width, 2 * width)
        self.query, self.out = nn.Linear(2 * width, 2 * width), nn.Linear(4 * width, len(WRITE))

    def forward(self, x: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits (N, 10, 11) and attention (N, 10, 20); each character is given the one before of `y`, or its own."""
        memory, last = self.encoder(self.read(x))
        state = last.transpose(0, 1).flatten(1)
        before = lucid.full((len(x),), len(WRITE), device=x.device)
        logits, looks = [], []
        for place in range(10):
            look = (memory @ self.query(state)[:, :, None]).squeeze(-1).div(memory.shape[-1] ** 0.5).softmax(-1)
            seen = (look[:, None] @ memory).squeeze(1)
            state = self.decoder(lucid.cat([self.wrote(before), seen], 1), state)
            logits.append(self.out(lucid.cat([state, seen], 1)))
            looks.append(look)
            before = y[:, place] if y is not None else logits[-1].argmax(-1)
        return lucid.stack(logits, 1), lucid.stack(looks, 1)


def main(steps: int = 400, device: str = "cpu", output: pathlib.Path | None = None) -> float:
    """Train, and return the share of 500 new dates that are right."""
    from tqdm import trange

    lucid.manual_seed(0)
    source = random.Random(0)
    model = Translator().to(device)
    optimizer = lucid.optim.Adam(model.parameters(), lr=3e-3)

    @lucid.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, y)[0].flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    for _ in trange(steps, disable=None):
        x, y = batch(64, source)
        step(x.to(device), y.to(device))
    x, y = batch(500, source)
    with lucid.no_grad():
        logits, looks = model(x.to(device))
    written = logits.argmax(-1).cpu()
    right = (written == y).all(1).float().mean().item()
    print(f"{right:.1%} of 500 new dates are right")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axis = pyplot.subplots(figsize=(6, 3.4))
        axis.imshow(looks[0].cpu().numpy(), cmap="viridis", aspect="auto")
        axis.set_xticks(range(LENGTH), [READ[c] for c in x[0].tolist()])
        axis.set_yticks(range(10), [WRITE[c] for c in written[0].tolist()])
        axis.set(xlabel="read", ylabel="written")
        figure.tight_layout()
        figure.savefig(output, dpi=70)
    return float(right)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("seq2seq.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output)
