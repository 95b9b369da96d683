"""`from_pretrained` of folders on this machine: safetensors in one file and in shards, and PyTorch's files."""
from __future__ import annotations

import os
import pathlib
import tempfile
import warnings

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.simplefilter("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402

model = transformers.BertForMaskedLM(transformers.BertConfig(
    vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16))
ids = torch.arange(10).view(2, 5)
wanted = model.eval()(input_ids=ids).logits

for options in ({}, {"max_shard_size": "5KB"}):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, **options)
        assert any(path.suffix == ".safetensors" for path in pathlib.Path(folder).iterdir())
        read = transformers.AutoModelForMaskedLM.from_pretrained(folder)
        assert torch.equal(read(input_ids=ids).logits, wanted)
        half = transformers.BertForMaskedLM.from_pretrained(folder, dtype=torch.bfloat16)
        assert half.dtype is torch.bfloat16

with tempfile.TemporaryDirectory() as folder:
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), os.path.join(folder, "pytorch_model.bin"))
    read = transformers.BertForMaskedLM.from_pretrained(folder)
    assert torch.equal(read(input_ids=ids).logits, wanted)
    assert read.cls.predictions.decoder.weight is read.bert.embeddings.word_embeddings.weight
    loss = read.train()(input_ids=ids, labels=ids).loss
    loss.backward()
print("done")
