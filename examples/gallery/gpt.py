"""A GPT that writes text, character by character: python examples/gallery/gpt.py [--steps 600] [--device cpu|gpu]

It learns from the help texts of Python's statements, which Python ships (pydoc's topics), and goes on from a first word.
Attention is causal and one kernel: `scaled_dot_product_attention(is_causal=True)`. Source: Radford et al., 2019.
"""
from __future__ import annotations

import argparse
import pathlib
import textwrap

import lucid
from lucid import Tensor, nn
from lucid.nn import functional as F

CONTEXT, WIDTH, HEADS, LAYERS = 64, 96, 4, 3


def text() -> str:
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in ("for", "if", "while", "try", "with", "function", "class", "import", "assignment"))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        query, key, value = self.attend(self.before(x)).reshape(n, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True).transpose(1, 2).reshape(n, length, WIDTH)
        x = x + self.project(seen)
        result: Tensor = x + self.feed(self.after(x))
        return result


class GPT(nn.Module):
    """Logits (N, T, characters) of the next characters of (N, T)."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)], nn.LayerNorm(WIDTH))
        self.out = nn.Linear(WIDTH, characters, bias=False)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, 0, 0.05)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.out(self.blocks(self.token(x) + self.place.weight[:x.shape[1]]))
        return logits

    @lucid.no_grad()
    def write(self, start: Tensor, length: int) -> Tensor:
        """`start` (T,) and `length` more, drawn at temperature 0.6."""
        for _ in range(length):
            chances = (self(start[None, -CONTEXT:])[0, -1] / 0.6).softmax(0)
            start = lucid.cat([start, lucid.multinomial(chances, 1)])
        return start


def main(steps: int = 600, device: str = "cpu", output: pathlib.Path | None = None) -> float:
    """Train, write, and return the mean loss of the last tenth of the steps, in nats a character."""
    from tqdm import trange

    lucid.manual_seed(0)
    source = text()
    alphabet = sorted(set(source))
    data = lucid.tensor([alphabet.index(c) for c in source], device=device)
    model = GPT(len(alphabet)).to(device)
    optimizer = lucid.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = lucid.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=max(steps, 2))

    @lucid.compile
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    losses = []
    for _ in trange(steps, disable=None):
        places = lucid.randint(0, len(data) - CONTEXT, (32, 1), device=device) + lucid.arange(CONTEXT, device=device)
        losses.append(step(data[places], data[places + 1]).item())
        schedule.step()
    last = losses[-max(steps // 10, 1):]
    start = lucid.tensor([alphabet.index(c) for c in "The "], device=device)
    written = "".join(alphabet[c] for c in model.write(start, 300 if output else 10).tolist())
    print(written)
    print(f"loss {sum(last) / len(last):.3f} nats a character")
    if output:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3))
        left.plot(losses)
        left.set(xlabel="step", ylabel="nats a character")
        lines = [part for line in written.splitlines() for part in textwrap.wrap(line, 44)]
        right.text(0, 1, "\n".join(lines), va="top", family="monospace", fontsize=9)
        right.set_axis_off()
        figure.tight_layout()
        figure.savefig(output, dpi=70)
    return float(sum(last) / len(last))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("gpt.png"))
    options = parser.parse_args()
    main(options.steps, options.device, options.output)
