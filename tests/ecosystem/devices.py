"""Models of three libraries on a GPU, or the simulated one: the numbers of the CPU, a step of training, and checkpoints."""
from __future__ import annotations

import io
import os
import warnings
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")

import torch  # noqa: E402
import torchvision  # noqa: E402
import transformers  # noqa: E402
from einops.layers.torch import Rearrange, Reduce  # noqa: E402
from torch import nn  # noqa: E402


def logits(model: Any, x: Any) -> Any:
    found = model(x)
    return found if isinstance(found, torch.Tensor) else found.logits


def check(model: Any, x: Any) -> None:
    """Both devices give the same, before and after a step."""
    made = model.double().train()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.3)
    wanted = logits(made, x)
    wanted.square().mean().backward()
    gradients = [None if p.grad is None else p.grad.clone() for p in made.parameters()]
    made.zero_grad()
    made.to("cuda")
    assert {p.device.type for p in made.parameters()} == {"cuda"}
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    found = logits(made, x.to("cuda"))
    found.square().mean().backward()
    torch.testing.assert_close(found.cpu(), wanted)
    for parameter, gradient in zip(made.parameters(), gradients, strict=True):
        if gradient is not None:
            torch.testing.assert_close(parameter.grad.cpu(), gradient)
    optimizer.step()
    file = io.BytesIO()
    torch.save(made.state_dict(), file)
    file.seek(0)
    read = torch.load(file)
    assert {str(each.device) for each in read.values()} == {"cuda:0"}
    file.seek(0)
    made.cpu().load_state_dict(torch.load(file, map_location="cpu"))
    with torch.no_grad():
        assert not torch.equal(logits(made, x), wanted)


check(torchvision.models.VisionTransformer(8, 4, 1, 1, 4, 8, num_classes=3, dropout=0.0), torch.rand(2, 3, 8, 8, dtype=torch.float64))
check(transformers.BertForMaskedLM(transformers.BertConfig(
    vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, max_position_embeddings=8,
    hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)), torch.arange(10).view(2, 5))
check(nn.Sequential(torchvision.ops.Conv2dNormActivation(3, 4, stride=2), Rearrange("b c h w -> b (h w) c"), nn.Linear(4, 3),
                    Reduce("b t c -> b c", "mean")), torch.rand(2, 3, 6, 6, dtype=torch.float64))
print("done")
