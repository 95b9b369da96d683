"""The models against numbers of torchvision and transformers, their names and their folders."""
from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import models, nn

from . import cases

Path = pathlib.Path
NUMBERS = json.loads(cases.NUMBERS.read_text())


def test_keys_and_shapes_are_those_of_the_libraries() -> None:
    with lucid.device("meta"):
        for name in ("alexnet", "vgg11", "vgg16_bn", "resnet18", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "mobilenet_v2",
                     "vit_b_32", "gpt2", "bert_base"):
            digest = NUMBERS["keys"][name]
            assert cases.digest(models.create_model(name)) == digest, name
    assert set(models.list_models()) - NUMBERS["keys"].keys() == {"bert_large", "gpt2_large", "gpt2_medium", "gpt2_xl", "lenet_5",
                                                                 "unet"}


@pytest.mark.parametrize("name", [name for name in cases.CASES if name != "vgg11_bn"])
def test_outputs(name: str) -> None:
    model = cases.fill(cases.ours(name), lucid.from_numpy).eval()
    with lucid.no_grad():
        output = model(lucid.from_numpy(cases.inputs(cases.CASES[name][2]))).numpy().astype(np.float64).ravel()
    expected = NUMBERS["outputs"][name]
    some = output[:: max(1, len(output) // 12)][:12]
    scale = np.abs(output).max()
    assert np.allclose([output.sum() / len(output), np.abs(output).sum() / len(output), *some],
                       [expected[0] / len(output), expected[1] / len(output), *expected[2:]], atol=1e-5 * scale, rtol=1e-5)


def test_a_step_learns() -> None:
    model = cases.ours("gpt2")
    tokens = lucid.from_numpy(cases.inputs("tokens"))
    optimizer = lucid.optim.SGD(model.parameters(), lr=0.1)

    def loss() -> lucid.Tensor:
        return nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    before = loss()
    before.backward()
    optimizer.step()
    assert loss() < before


def test_names() -> None:
    assert models.list_models("resnet*") == ["resnet101", "resnet152", "resnet18", "resnet34", "resnet50"]
    with pytest.raises(ValueError, match=r"no model 'resnet_18'; did you mean 'resnet18'"):
        models.create_model("resnet_18")

    @models.register_model
    def small_net(num_classes: int = 3) -> nn.Linear:
        return nn.Linear(2, num_classes)

    try:
        assert models.create_model("small_net", num_classes=4).out_features == 4
        with pytest.raises(ValueError, match="there is a model 'small_net' already"):
            @models.register_model
            def small_net(num_classes: int = 3) -> nn.Linear:
                return nn.Linear(2, num_classes)
    finally:
        models.registry._builders.pop("small_net")


def same(a: nn.Module, b: nn.Module) -> bool:
    theirs = b.state_dict()
    return a.state_dict().keys() == theirs.keys() and all(lucid.equal(v, theirs[k]) for k, v in a.state_dict().items())


def test_folders(tmp_path: Path) -> None:
    model = models.create_model("unet", width=2)
    models.save_pretrained(model, tmp_path, max_shard_size="20KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    loaded = models.from_pretrained(tmp_path)
    assert same(loaded, model) and not loaded.training and type(loaded) is type(model)
    assert same(models.create_model("unet", width=2, weights=tmp_path), model)
    with pytest.raises(RuntimeError, match="size mismatch"):
        models.create_model("unet", width=4, weights=tmp_path)
    with pytest.raises(TypeError, match="Linear that create_model has not made"):
        models.save_pretrained(nn.Linear(2, 2), tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        models.from_pretrained(tmp_path / "other")


def test_folders_of_language_models(tmp_path: Path) -> None:
    model = cases.ours("gpt2")
    models.save_pretrained(model, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == "gpt2" and config["architectures"] == ["GPT2LMHeadModel"] and config["n_embd"] == 16
    loaded = models.from_pretrained(tmp_path)
    assert same(loaded, model) and loaded.lm_head.weight is loaded.transformer.wte.weight
    assert same(models.from_pretrained(tmp_path, "GPT2Model"), model.transformer)
    # Published files: without the prefix and the tied weight, with masks.
    state = {f"{key}": value for key, value in model.transformer.state_dict().items()}
    lucid.save({**state, "h.0.attn.bias": lucid.ones(1, 1, 4, 4)}, tmp_path, max_shard_size="5GB")
    assert same(models.from_pretrained(tmp_path), model)
    state.pop("ln_f.bias")
    lucid.save({**state, "extra": lucid.ones(1)}, tmp_path, max_shard_size="5GB")
    with pytest.raises(RuntimeError, match=r"(?s)transformer\.ln_f\.bias.*extra"):
        models.from_pretrained(tmp_path)
    with pytest.warns(UserWarning, match=r"ln_f\.bias.*extra"):
        models.from_pretrained(tmp_path, strict=False)
    for entries, message in (({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True"),
                             ({"activation_function": "mish"}, "mish"), ({"architectures": ["LlamaForCausalLM"]}, "Llama"),
                             ({"model_type": "bert"}, "which GPT2LMHeadModel is not")):
        (tmp_path / "config.json").write_text(json.dumps(config | entries))
        with pytest.raises(ValueError, match=message):
            models.from_pretrained(tmp_path)


def test_old_names_of_keys(tmp_path: Path) -> None:
    bert = cases.ours("bert")
    state: dict[str, Any] = {}
    for key, value in bert.state_dict().items():
        if not key.startswith("cls.predictions.decoder"):
            state[key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")] = value
    models.save_pretrained(bert, tmp_path)
    lucid.save({**state, "bert.pooler.dense.bias": lucid.ones(1), "cls.seq_relationship.bias": lucid.ones(2)}, tmp_path,
               max_shard_size="5GB", format="pytorch")
    assert same(models.from_pretrained(tmp_path), bert)
    vit = cases.ours("vit")
    old = {key.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): v for key, v in vit.state_dict().items()}
    other = cases.ours("vit")
    other.load_state_dict(old)
    assert same(other, vit)


def test_masks() -> None:
    tokens = lucid.from_numpy(cases.inputs("tokens"))
    mask = lucid.tensor([[0, 0, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 0, 0]])
    gpt2 = cases.fill(cases.ours("gpt2"), lucid.from_numpy).eval()
    positions = (mask.cumsum(1) - 1).clamp(0)
    masked = gpt2(tokens, mask, positions)
    assert lucid.isfinite(masked).all()
    assert lucid.allclose(masked[0, 2:], gpt2(tokens[:1, 2:])[0], atol=1e-5)
    assert lucid.allclose(masked[1, :5], gpt2(tokens[1:, :5])[0], atol=1e-5)
    bert = cases.fill(cases.ours("bert"), lucid.from_numpy).eval()
    assert lucid.allclose(bert(tokens, mask)[1, :5], bert(tokens[1:, :5])[0], atol=1e-5)
