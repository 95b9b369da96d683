"""Models of PyTorch's libraries, small ones, with inputs drawn by NumPy: by library and name a function that makes both."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

Case = Callable[[np.random.RandomState], tuple[Any, list[Any]]]
MODELS: dict[str, dict[str, Case]] = {}


def images(r: np.random.RandomState, size: int = 32, batch: int = 2) -> list[Any]:
    return [torch.from_numpy(r.standard_normal((batch, 3, size, size)))]


def tokens(r: np.random.RandomState, length: int = 7, batch: int = 2, count: int = 40) -> list[Any]:
    return [torch.from_numpy(r.randint(3, count, (batch, length)))]


class Run(nn.Module):
    """A program whose results count, as a model without parameters."""

    def __init__(self, program: Callable[..., Any]) -> None:
        super().__init__()
        self.program = program

    def forward(self, *inputs: Any) -> Any:
        return self.program(*inputs)


def drawn(r: np.random.RandomState, *layers: Any) -> Any:
    """A small model in float64 whose parameters NumPy draws."""
    made = nn.Sequential(*layers).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.from_numpy(np.asarray(r.standard_normal(tuple(parameter.shape)) * 0.3)))
    return made


def model(library: str, name: str) -> Callable[[Case], Case]:
    def add(case: Case) -> Case:
        MODELS.setdefault(library, {})[name] = case
        return case

    return add


def torchvision() -> None:
    from torchvision import models
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
    from torchvision.ops import MLP, FrozenBatchNorm2d

    for name in ("resnet18 mobilenet_v2 mobilenet_v3_small shufflenet_v2_x0_5 squeezenet1_1 regnet_y_400mf mnasnet0_5 "
                 "efficientnet_b0").split():
        size = 64 if name == "squeezenet1_1" else 32
        model("torchvision", name)(lambda r, name=name, size=size: (
            models.get_model(name, weights=None, num_classes=5), images(r, size, 4)))
    model("torchvision", "vision_transformer")(lambda r: (models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5), images(r)))
    model("torchvision", "swin_v1")(lambda r: (models.SwinTransformer([4, 4], 8, [1, 1], [1, 2], [4, 4], num_classes=5), images(r)))
    model("torchvision", "fpn")(lambda r: (nn.Sequential(
        resnet_fpn_backbone(backbone_name="resnet18", weights=None, norm_layer=FrozenBatchNorm2d)), images(r, 64, 1)))
    def features(r: np.random.RandomState, x: Any) -> Any:
        from torchvision.models.feature_extraction import create_feature_extractor, get_graph_node_names

        made = drawn(r, models.SwinTransformer([4, 4], 8, [1, 1], [1, 2], [4, 4], num_classes=5, stochastic_depth_prob=0.0))
        names = [torch.tensor([len(name) for name in each]) for each in get_graph_node_names(made)]
        found = create_feature_extractor(made, {"0.features.1": "first", "0.features.3.0.attn": "attention", "0.permute": "last"})
        losses = [each.square().mean() for each in found(x).values()]
        sum(losses).backward()
        return [*names, *losses, sum(p.grad.square().sum() for p in found.parameters()), *found.eval()(x).values()]

    model("torchvision", "features")(lambda r: (Run(lambda x: features(r, x)), images(r, 16)))
    model("torchvision", "mlp")(lambda r: (nn.Sequential(nn.Flatten(), MLP(48, [8, 4], norm_layer=nn.LayerNorm)), images(r, 4)))


def timm() -> None:
    import timm as library

    for name in ("resnet10t", "test_efficientnet", "test_vit", "test_convnext", "test_resnet", "test_nfnet", "test_byobnet"):
        model("timm", name)(lambda r, name=name: (library.create_model(name, num_classes=5), images(r, 160, 1)))
    for name in ("lcnet_035", "tinynet_e", "mobilenetv3_small_050", "ghostnet_050", "rexnet_100"):
        model("timm", name)(lambda r, name=name: (library.create_model(name, num_classes=5), images(r, 64)))

    model("timm", "features")(lambda r: (Run(lambda x: drawn(r, library.create_model(
        "test_byobnet", features_only=True, feature_cls="fx")).eval()(x)), images(r, 64)))

    def training(r: np.random.RandomState, x: Any) -> Any:
        from timm.data import Mixup
        from timm.loss import SoftTargetCrossEntropy
        from timm.optim import create_optimizer_v2
        from timm.scheduler import create_scheduler_v2
        from timm.utils import ModelEmaV3, dispatch_clip_grad

        made = library.create_model("test_vit", num_classes=5, img_size=32).double()
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.copy_(torch.from_numpy(np.asarray(r.standard_normal(tuple(parameter.shape)) * 0.1)))
        optimizer = create_optimizer_v2(made, opt="lookahead_momentum", lr=0.01, weight_decay=0.05, layer_decay=0.7)
        scheduler, _ = create_scheduler_v2(optimizer, sched="cosine", num_epochs=4, warmup_epochs=1, warmup_lr=1e-4)
        average, mixup, losses = ModelEmaV3(made, decay=0.9, use_warmup=True), Mixup(0.8, 1.0, num_classes=5), []
        np.random.seed(0)
        for step in range(4):
            mixed, target = mixup(x.clone(), torch.arange(4))
            loss = SoftTargetCrossEntropy()(made(mixed), target)
            optimizer.zero_grad()
            loss.backward()
            dispatch_clip_grad(made.parameters(), 0.02, "agc")
            optimizer.step()
            average.update(made, step=step)
            scheduler.step(step)
            losses += [loss, torch.tensor([group["lr"] for group in optimizer.param_groups])]
        return [*losses, *average.module.state_dict().values()]

    model("timm", "training")(lambda r: (Run(lambda x: training(r, x)), images(r, 32, 4)))


def transformers() -> None:
    import transformers as library

    sizes = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
             "max_position_embeddings": 32}

    def language(name: str, config: str, **options: Any) -> None:
        def case(r: np.random.RandomState) -> tuple[Any, list[Any]]:
            made = getattr(library, name)(getattr(library, config)(**options))
            return Labelled(made), tokens(r)

        model("transformers", name)(case)

    language("BertForMaskedLM", "BertConfig", **sizes)
    language("RobertaForMaskedLM", "RobertaConfig", **sizes)
    language("GPT2LMHeadModel", "GPT2Config", vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    language("LlamaForCausalLM", "LlamaConfig", **sizes, num_key_value_heads=1)
    language("Qwen3ForCausalLM", "Qwen3Config", **sizes, num_key_value_heads=1, head_dim=8)
    language("MixtralForCausalLM", "MixtralConfig", **sizes, num_key_value_heads=1, num_local_experts=3,
             experts_implementation="eager")
    language("MambaForCausalLM", "MambaConfig", vocab_size=40, hidden_size=16, num_hidden_layers=2, state_size=4)
    language("T5ForConditionalGeneration", "T5Config", vocab_size=40, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
             decoder_start_token_id=0)
    model("transformers", "ViTForImageClassification")(lambda r: (library.ViTForImageClassification(library.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8)), images(r)))
    model("transformers", "ResNetForImageClassification")(lambda r: (library.ResNetForImageClassification(library.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")), images(r)))

    def trained(r: np.random.RandomState) -> list[Any]:
        import tempfile

        class Trainer(library.Trainer):
            """One that takes the examples in their order."""

            def _get_train_sampler(self, *arguments: Any) -> Any:
                return torch.utils.data.SequentialSampler(self.train_dataset)

        made = library.BertForSequenceClassification(library.BertConfig(
            **sizes, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)).double()
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.copy_(torch.from_numpy(np.asarray(r.standard_normal(tuple(parameter.shape)) * 0.1)))
        data = [{"input_ids": ids, "labels": ids[0] % 2} for ids in torch.from_numpy(r.randint(3, 40, (12, 7)))]
        with tempfile.TemporaryDirectory() as folder:
            options = {"per_device_train_batch_size": 3, "gradient_accumulation_steps": 2, "learning_rate": 0.1, "save_steps": 2,
                       "logging_steps": 1, "report_to": [], "use_cpu": True, "disable_tqdm": True, "warmup_steps": 1,
                       "optim": "sgd", "max_grad_norm": 0.5, "label_smoothing_factor": 0.1}
            first = Trainer(made, library.TrainingArguments(folder, max_steps=3, **options), train_dataset=data)
            first.train()
            again = library.BertForSequenceClassification.from_pretrained(f"{folder}/checkpoint-2").double()
            second = Trainer(again, library.TrainingArguments(folder, max_steps=4, **options), train_dataset=data)
            second.train(resume_from_checkpoint=f"{folder}/checkpoint-2")
            found = second.evaluate(data)
        rates = [float(line["learning_rate"]) for trainer in (first, second) for line in trainer.state.log_history
                 if "learning_rate" in line]
        return [torch.tensor([found["eval_loss"], second.state.global_step, *rates]), *made.parameters(), *again.parameters()]

    model("transformers", "Trainer")(lambda r: (Run(lambda x: trained(r)), [torch.zeros(1)]))


class Labelled(nn.Module):
    """A language model with its own loss."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Any) -> Any:
        found = self.model(input_ids=ids, labels=ids)
        return found.loss, found.logits


def vit_pytorch() -> None:
    import importlib

    options = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 16, "depth": 2, "heads": 2, "mlp_dim": 32}
    for module, name in (("vit", "ViT"), ("simple_vit", "SimpleViT"), ("deepvit", "DeepViT"), ("simple_vit_with_register_tokens", "SimpleViT")):
        model("vit_pytorch", f"{module}.{name}")(lambda r, module=module, name=name: (
            getattr(importlib.import_module(f"vit_pytorch.{module}"), name)(**options), images(r)))


def x_transformers() -> None:
    import x_transformers as library

    options = {"dim": 16, "depth": 2, "heads": 2, "attn_dim_head": 8}
    for name, more in (("plain", {}), ("rotary", {"rotary_pos_emb": True, "ff_glu": True, "use_rmsnorm": True}),
                       ("alibi", {"alibi_pos_bias": True, "alibi_num_heads": 2, "attn_qk_norm": True})):
        model("x_transformers", name)(lambda r, more=more: (library.TransformerWrapper(
            num_tokens=40, max_seq_len=16, attn_layers=library.Decoder(**options, **more)), tokens(r)))


def einops() -> None:
    from einops.layers.torch import EinMix, Rearrange, Reduce

    model("einops", "layers")(lambda r: (nn.Sequential(
        Rearrange("b c (h i) (w j) -> b (h w) (c i j)", i=8, j=8),
        EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=192, d=8),
        nn.GELU(), Reduce("b t d -> b d", "mean")), images(r)))


def torchmetrics() -> None:
    import torchmetrics as library

    def case(r: np.random.RandomState) -> tuple[Any, list[Any]]:
        options = {"task": "multiclass", "num_classes": 4}
        made = library.MetricCollection({"f1": library.F1Score(**options), "auroc": library.AUROC(**options),
                                         "error": library.CalibrationError(**options)})
        return made, [torch.from_numpy(r.random_sample((12, 4))).softmax(1), torch.from_numpy(r.randint(0, 4, 12))]

    model("torchmetrics", "multiclass")(case)


def kornia() -> None:
    import kornia as library
    from kornia import color, enhance, feature, filters, geometry, losses

    class Pipeline(nn.Module):
        """Filters, colours and warps behind a layer with parameters."""

        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 3, 1)

        def forward(self, x: Any) -> Any:
            x = self.first(x).sigmoid()
            turn = torch.tensor([[[0.9, -0.2, 2.0], [0.2, 1.1, -1.0]]] * 2).to(x)
            return [filters.gaussian_blur2d(x, (5, 3), (1.2, 0.7)), filters.sobel(x), filters.bilateral_blur(x, 3, 0.1, (1.0, 1.0)),
                    color.rgb_to_lab(x), color.rgb_to_hsv(x), enhance.adjust_gamma(x, 1.3), enhance.equalize_clahe(x, grid_size=(2, 2)),
                    geometry.warp_affine(x, turn, (12, 14)), geometry.resize(x, (10, 8), antialias=True),
                    library.morphology.dilation(x, torch.ones(3, 3).to(x)), losses.ssim_loss(x, x.flip(3), 5),
                    feature.harris_response(x.mean(1, True))]

    model("kornia", "pipeline")(lambda r: (Pipeline(), images(r, 16)))
    model("kornia", "HardNet")(lambda r: (feature.HardNet(False), [torch.from_numpy(r.random_sample((2, 1, 32, 32)))]))
    model("kornia", "homography")(lambda r: (Run(lambda a, b: [
        geometry.find_homography_dlt(a, b), geometry.axis_angle_to_rotation_matrix(a[0, :, :1].expand(-1, 3)),
        geometry.liegroup.So3.exp(b[0, :, :1].expand(-1, 3)).matrix()]),
        [torch.from_numpy(r.standard_normal((1, 6, 2))) for _ in range(2)]))


def diffusers() -> None:
    import diffusers as library

    sizes = {"block_out_channels": (8, 16), "norm_num_groups": 4, "layers_per_block": 1}

    def steps(r: np.random.RandomState) -> list[Any]:
        return [torch.from_numpy(r.randint(0, 900, 2))]

    class Sample(nn.Module):
        """A model of diffusers, and of what it returns the tensor."""

        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return self.model(*inputs).sample

    model("diffusers", "UNet2DModel")(lambda r: (Sample(library.UNet2DModel(
        sample_size=16, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4, **sizes)), images(r, 16) + steps(r)))
    model("diffusers", "UNet2DConditionModel")(lambda r: (Sample(library.UNet2DConditionModel(
        sample_size=8, cross_attention_dim=8, attention_head_dim=2, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"), **sizes)),
        [torch.from_numpy(r.standard_normal((2, 4, 8, 8))), *steps(r), torch.from_numpy(r.standard_normal((2, 5, 8)))]))
    model("diffusers", "AutoencoderKL")(lambda r: (Sample(library.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, **sizes)), images(r, 16)))

    def schedulers(x: Any) -> Any:
        found = []
        for name in ("DDPMScheduler", "DDIMScheduler", "EulerDiscreteScheduler", "DPMSolverMultistepScheduler", "PNDMScheduler"):
            scheduler = getattr(library, name)()
            scheduler.set_timesteps(5)
            y = x * scheduler.init_noise_sigma
            for t in scheduler.timesteps[:-1]:  # the last steps of some draw numbers
                options = {"variance_noise": x} if name.startswith("DPM") else {}
                found_noise = scheduler.scale_model_input(y, t).sin() * 0.3
                if name == "DDPMScheduler":
                    found.append(scheduler._get_variance(t))
                    continue
                y = scheduler.step(found_noise, t, y, **options).prev_sample
            found.append(y.mean())
        return found

    model("diffusers", "schedulers")(lambda r: (Run(schedulers), [torch.from_numpy(r.standard_normal((2, 3, 4, 4)))]))


def _batches(r: np.random.RandomState) -> Any:
    x = torch.from_numpy(r.standard_normal((24, 4)))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True).sin()), 8)


def accelerate() -> None:
    import tempfile

    from accelerate import Accelerator

    def train(data: Any, made: Any) -> Any:
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
        optimizer = torch.optim.AdamW(made.parameters(), lr=0.05)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
        made, optimizer, data, scheduler = accelerator.prepare(made, optimizer, data, scheduler)
        losses = []
        with tempfile.TemporaryDirectory() as folder:
            for epoch in range(3):
                for x, y in data:
                    with accelerator.accumulate(made):
                        loss = nn.functional.mse_loss(made(x), y)
                        accelerator.backward(loss)
                        if accelerator.sync_gradients:
                            accelerator.clip_grad_norm_(made.parameters(), 1.0)
                        optimizer.step()
                        scheduler.step()
                        optimizer.zero_grad()
                    losses.append(accelerator.gather(loss.detach()))
                if epoch == 0:
                    accelerator.save_state(folder)
                if epoch == 1:
                    accelerator.load_state(folder)  # so that the third is the second again
        return [*losses, torch.tensor(scheduler.get_last_lr())]

    model("accelerate", "training")(lambda r: (Run(lambda x: train(
        _batches(r), drawn(r, nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))), [torch.zeros(1)]))


def lightning() -> None:
    import logging
    import tempfile

    import lightning as library
    from lightning.pytorch.callbacks import ModelCheckpoint

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Regression(library.LightningModule):
        """A model as it is written for the Trainer."""

        def __init__(self, hidden: int = 8, lr: float = 0.05) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.net = drawn(np.random.RandomState(3), nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, 1))

        def training_step(self, batch: Any, number: int) -> Any:
            loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
            self.log("train", loss, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, number: int) -> None:
            self.log("validation", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]

    def fit(data: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            best = ModelCheckpoint(folder, monitor="validation", save_last=True)
            options = {"logger": False, "enable_progress_bar": False, "accelerator": "cpu", "default_root_dir": folder}
            trainer = library.Trainer(max_epochs=2, gradient_clip_val=1.0, callbacks=[best], **options)
            trainer.fit(Regression(), data, data)
            read = Regression.load_from_checkpoint(best.best_model_path)
            again = library.Trainer(max_epochs=3, enable_checkpointing=False, enable_model_summary=False, **options)
            again.fit(Regression(), data, data, ckpt_path=best.last_model_path)
        return [*trainer.callback_metrics.values(), best.best_model_score, *again.callback_metrics.values(),
                *(parameter.sum() for parameter in read.parameters()), torch.tensor([float(trainer.global_step), read.hparams.lr])]

    def fabric(data: Any, made: Any) -> Any:
        chosen = library.Fabric(accelerator="cpu", devices=1)
        made, optimizer = chosen.setup(made, torch.optim.SGD(made.parameters(), lr=0.1))
        for x, y in chosen.setup_dataloaders(data):
            loss = nn.functional.mse_loss(made(x), y)
            chosen.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        with tempfile.TemporaryDirectory() as folder:
            chosen.save(f"{folder}/x.ckpt", {"model": made, "optimizer": optimizer, "step": 3})
            with torch.no_grad():
                next(made.parameters()).zero_()
            rest = chosen.load(f"{folder}/x.ckpt", {"model": made, "optimizer": optimizer})
        return [loss, next(made.parameters()).sum(), torch.tensor(float(rest["step"]))]

    model("lightning", "Trainer")(lambda r: (Run(lambda x: fit(_batches(r))), [torch.zeros(1)]))
    model("lightning", "Fabric")(lambda r: (Run(lambda x: fabric(
        _batches(r), drawn(r, nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))), [torch.zeros(1)]))


LIBRARIES = {each.__name__: each for each in (torchvision, timm, transformers, vit_pytorch, x_transformers, einops, torchmetrics,
                                              kornia, diffusers, accelerate, lightning)}
