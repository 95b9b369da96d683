"""Every row of the table of targets is there by name, has its target, and computes the right result."""
from __future__ import annotations

import importlib
import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench import gpu_rows, run
from bench.case import Case, Side, fastest, largest_error, load
from bench.gpu_targets import large_models
from bench.gpu_targets.bounds import gpu_bound
from bench.library import Library, target
from bench.report import row, status, target_table
from bench.targets import adam, models
from bench.targets.training import training_step
from lucid.backends.gpu_probe import gpu_problem

SQUARE = ("3x3 64@56", "3x3 128@28", "3x3 256@14", "3x3 512@7")
OTHERS = ("1x1 64->256@56", "7x7 stem 3->64@224", "depthwise 3x3 64@56", "3x3 1->32@28")
#: The table: name -> target.
TABLE = {
    "20-op chain, 8 floats, forward + backward": 0.55, "20-op chain, 10,000 floats, forward + backward": 0.70,
    **{f"{name} 4M floats": 0.55 for name in ("exp", "tanh", "gelu", "gelu, tanh", "silu", "dropout", "a*b + c*tanh(d)")},
    "a*b + c*tanh(d) 4M floats, fused": 0.55,
    "relu 4M floats": 1.0,
    **{f"softmax {shape} {way}": bound for shape in ("4096x1000", "16384x128")
       for way, bound in (("forward", 0.75), ("backward", 0.95))},
    **{f"cross entropy {shape} forward + backward": 0.35 for shape in ("4096x1000", "1024x50257")},
    **{f"{norm} {shape} {way}": bound for norm in ("layer norm", "RMS norm") for shape in ("8192x768", "1024x256")
       for way, bound in (("forward", 0.9), ("backward", 0.95))},
    "batch norm 32x64x56x56 forward": 0.25, "batch norm 32x64x56x56 backward": 0.75,
    "batch norm + ReLU 32x64x56x56 forward": 0.2, "batch norm + ReLU 32x64x56x56 backward": 0.6,
    **{f"{pool} {way}": bound for pool in ("max pool 2x2", "max pool 3x3 s2", "avg pool 2x2")
       for way, bound in (("forward", 0.2), ("backward", 0.8))},
    **{f"{name} over axis {axis}, 2048x4096": 1.0 for name in ("sum", "mean", "var") for axis in (0, 1)},
    **{f"Adam 11.5M parameters, {how}": 0.95 for how in ("1 tensor", "62 tensors", "62 tensors in flat storage")},
    **{f"conv {layer} {way}": bound for layer in SQUARE
       for way, bound in (("forward", 1.0), ("input gradient", 1.05), ("weight gradient", 1.05))},
    **{f"conv {layer} {way}": 1.05 for layer in OTHERS for way in ("forward", "input gradient", "weight gradient")},
    **{f"attention {shape}{causal} forward + backward": 0.5 for shape in ("8x8x256x64", "8x8x1024x64")
       for causal in ("", " causal")},
    "training step MLP 784-256-10, batch 64": 0.75, "training step digits CNN, batch 64": 0.6,
    "training step 28x28 CNN, batch 64": 0.5, "training step ResNet-18 CIFAR, batch 64": 0.9,
    "training step GPT 4x256, context 128, batch 8": 0.5,
}


@pytest.fixture(scope="module")
def rows() -> dict[str, dict[str, float | None]]:
    """The targets on a CPU of all rows by family: the side of NumPy prepares nothing, so the full sizes cost little."""
    return {family: {case.name: case.target for case in load(family, Side("numpy"))}
            for family in (*run.TARGETS, *run.GPU_TARGETS)}


def test_every_row_of_the_table_is_there(rows: dict[str, dict[str, float | None]]) -> None:
    found = {name: bound for family in run.TARGETS for name, bound in rows[family].items()}
    assert {name: bound for name, bound in found.items() if bound is not None} == TABLE


@pytest.mark.parametrize("family", ["targets.chain", "targets.reductions", "targets.softmax_rows"])
def test_cases_on_a_gpu(family: str) -> None:
    """The same cases on a GPU, here the simulator: on its arrays, right, and with a GPU's targets."""
    problem = gpu_problem()
    if problem is not None:
        pytest.skip(problem)
    importlib.import_module("lucid.backends.gpu.backend")  # the simulator takes CuPy's place
    here, seen = Side("ours", "gpu", quick=True), 0
    for case in load(family, here):
        assert not case.failure and not case.missing and case.target == gpu_bound(case.name)
        if case.call is not None:
            result = case.call()
            assert (result[0] if isinstance(result, tuple) else result).is_gpu
            error = largest_error(here, case)
            assert error is None or error < 1e-3
            seen += 1
    assert seen > 2


@pytest.mark.parametrize("side", ["ours", "torch"])
@pytest.mark.parametrize("family", [*run.TARGETS, *run.SHAPES, *run.GPU_TARGETS])
def test_every_target_computes_the_right_result(family: str, side: str) -> None:
    if side == "torch":
        pytest.importorskip("torch")
    here = Side(side, quick=True)
    seen = 0
    for case in load(family, here):
        seen += 1
        assert not case.failure, (case.name, case.failure)
        assert not case.missing or side == "ours", case.name
        if case.call is None:
            assert case.missing
            continue
        case.call()
        error = largest_error(here, case)
        assert error is None or error < 1e-3, case.name
    assert seen


def build(library: Library) -> Callable[[], Any]:
    x = library.tensor(np.ones(3, np.float32))
    return lambda: x + x


def test_what_lucid_lacks_is_listed() -> None:
    case = target(Side("ours"), "x", 1.0, build, needs=("nn.functional.relu", "nn.Nonsense", "nonsense"))
    assert case.call is None
    assert case.missing == "lucid.nn.Nonsense, nonsense"


def test_a_failure_stays_with_its_case() -> None:
    def broken(library: Library) -> Callable[[], Any]:
        raise ValueError("broken")

    case = target(Side("ours"), "x", 1.0, broken)
    assert (case.call, case.failure) == (None, "ValueError: broken")


def test_the_fastest_variant_counts() -> None:
    slow = np.ones((300, 300))
    calls = {"slow": lambda: slow @ slow @ slow, "fast": lambda: None}
    assert fastest(calls, lambda: None, 0.005) == "fast"
    case = target(Side("ours"), "x", 1.0, lambda library: calls)
    assert case.variant == "fast"
    assert case.call is calls["fast"]


def test_layouts_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    library = Library("torch")
    assert library.layouts() == ("NCHW", "channels_last")
    leaf = library.tensor(np.ones((2, 3, 4, 5), np.float32), grad=True)
    other = library.in_layout(leaf, "channels_last")
    assert other.is_contiguous(memory_format=torch.channels_last)
    assert other.is_leaf and other.requires_grad


def test_the_sizes_of_adam_add_up() -> None:
    for total in (500_000, adam.SIZE):
        sizes = adam.mixed_sizes(total)
        assert (len(sizes), sum(sizes)) == (adam.TENSORS, total)
        assert min(sizes) > 0


def test_the_page_of_rows_that_no_gpu_has_run_has_them_all(rows: dict[str, dict[str, float | None]]) -> None:
    """`python kernels/bench/gpu_rows.py` writes it anew; with `--drop` it takes out those that a GPU has run since."""
    names = [line.split("|")[1].strip() for line in gpu_rows.PAGE.read_text().splitlines() if line.startswith("| ")][2:]
    run = gpu_rows.measured()
    assert len(run) > 100
    assert sorted(names) == sorted(name for family in rows.values() for name in family if name not in run)


def test_rows_that_a_gpu_has_run(tmp_path: pathlib.Path) -> None:
    rows = [{"name": "good", "ours": {}, "failure": ""}, {"name": "broken", "ours": {}, "failure": "ValueError"}, {"name": "missing"}]
    for name, real in (("a-batch", True), ("b-batch", False), ("other", True)):
        rows[0]["name"] = f"good {name}"
        (tmp_path / f"{name}.json").write_text(json.dumps({"measured_on_a_gpu": real, "parts": {"rows": {"rows": rows}}}))
    (tmp_path / "c-batch.json").write_text(json.dumps({"measured_on_a_gpu": True, "parts": {}}))
    assert gpu_rows.measured(tmp_path) == {"good a-batch"}
    page = "# Rows\n\n| row | us |\n| --- | --- |\n| good a-batch | 1 |\n| good | 2 |\n"
    assert gpu_rows.without(page, {"good a-batch"}) == page.replace("| good a-batch | 1 |\n", "")


def test_the_bounds_on_a_gpu(rows: dict[str, dict[str, float | None]]) -> None:
    """The table of what lucid must reach on a GPU, beside PyTorch."""
    table = {
        "training step MLP 784-256-10, batch 64": 0.8, "training step digits CNN, batch 64": 0.85,
        "training step 28x28 CNN, batch 64": 0.5, "training step ResNet-18 CIFAR, batch 64": 1.0,
        "training step GPT 4x256, context 128, batch 8": 1.0,
        "training step ResNet-50 224x224, batch 64, channels_last, bfloat16": 1.25,
        "training step GPT-2 12x768, context 1024, batch 4, bfloat16": 1.15,
        "conv 3x3 64@56 weight gradient": 1.8, "attention 8x8x256x64 causal forward + backward": 1.0,
        "bfloat16 attention 8x8x1024x64 forward + backward": 1.3, "exp 4M floats": 1.0, "cat 16384x1024 float32": 1.0,
        "Adam 11.5M parameters, 62 tensors": 0.6, "20-op chain, 8 floats, forward + backward": 0.8,
    }
    names = {name for family in rows.values() for name in family}
    assert table.keys() <= names
    assert {name: gpu_bound(name) for name in table} == table


def test_the_sizes_of_resnet_50() -> None:
    network = large_models.resnet50(Library("lucid"))
    assert sum(parameter.numel() for parameter in network.parameters()) == 25_557_032  # as torchvision's
    assert sum(large_models.layers(large_models.DEPTHS, 224)) == 4_089_184_256


MODELS = models.MODELS | {f"small {name}": model for name, model in large_models.QUICK.items()}


@pytest.mark.parametrize("name", models.MODELS)
def test_the_operations_of_a_model(name: str) -> None:
    """PyTorch counts the same multiplications in its layers (less those of attention, which are 4 % of GPT's)."""
    pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    model = models.MODELS[name]
    library = Library("torch")
    step = training_step(library, model)
    with FlopCounterMode(display=False) as counter:
        step()
    assert model.flops == pytest.approx(counter.get_total_flops(), rel=0.05)


@pytest.mark.parametrize("name", MODELS)
def test_the_models_are_the_same_on_both_libraries(name: str) -> None:
    pytest.importorskip("torch")
    import torch

    import lucid

    model = MODELS[name]
    ours, theirs = Library("lucid"), Library("torch")
    if ours.lacks(model.needs):
        pytest.skip(f"lucid lacks {ours.lacks(model.needs)}")
    mine, other = model.build(ours), model.build(theirs)
    state = {key: lucid.tensor(value.numpy()) for key, value in other.state_dict().items()}
    assert mine.load_state_dict(state)
    mine.eval(), other.eval()
    inputs = model.data()[0][:4]
    with lucid.no_grad(), torch.no_grad():
        np.testing.assert_allclose(mine(lucid.tensor(inputs)).numpy(), other(torch.tensor(inputs)).numpy(), atol=2e-4)


def result(**changes: Any) -> dict[str, Any]:
    """A result as the driver gives it."""
    time = {"median": 2e-6, "error": 1e-7}
    return {"name": "a case", "target": 0.75, "ours": time, "torch": time, "missing": "", "failure": "", "undisturbed": True,
            "gigaflops": None, "gigabytes_per_second": 3.0, "floor_share": 0.5, "ratio_to_torch": 0.5512, "ratio_at_best": 0.5, "ratio_to_numpy": None
            } | changes


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, "met"), ({"target": 0.55}, "missed"), ({"missing": "lucid.x", "ratio_to_torch": None}, "missing: lucid.x"),
    ({"failure": "ours: bad"}, "FAILED: ours: bad"), ({"ratio_to_torch": None}, "no ratio: PyTorch is not installed"),
    ({"target": None}, ""),
])
def test_status(changes: dict[str, Any], expected: str) -> None:
    assert status(result(**changes)) == expected
    (*_, line) = [line for line in [*target_table([result(**changes)]), ""] if line.startswith("a case")] or [""]
    assert line.endswith(expected)
    assert bool(line) == (changes.get("target", 0.75) is not None)


def test_a_missing_row_is_shown() -> None:
    missing = result(missing="lucid.x", ratio_to_torch=None, floor_share=None)
    del missing["ours"]
    assert row(missing, ["ours", "torch"]).endswith("missing: lucid.x")
    assert target_table([result(), missing])[-1] == "1 met, 1 missing"


@pytest.mark.parametrize(("median", "best", "expected"), [
    (0.5, 0.6, "met"), (0.9, 0.8, "missed"), (0.5, 1.1, "unclear"), (1.1, 0.5, "unclear")])
def test_a_disturbed_row_needs_two_witnesses(median: float, best: float, expected: str) -> None:
    ratios = {"ratio_to_torch": median, "ratio_at_best": best}
    assert status(result(**ratios, undisturbed=False)) == expected
    assert status(result(**ratios)) == ("met" if median < 0.75 else "missed")


def test_a_disturbed_row_says_so() -> None:
    assert target_table([result(undisturbed=False)])[2].endswith("met  (disturbed)")


@pytest.mark.parametrize(("ours", "torch", "expected"), [
    (4e-7, 2e-7, ""), (5e-7, 2e-7, "error 2.5 times PyTorch's"), (1e-7, 1e-8, ""), (1e-6, 0.0, "error where PyTorch has none"),
    (None, 1e-7, ""), (1e-3, None, ""),
])
def test_an_error_beyond_pytorchs_is_named(ours: float | None, torch: float | None, expected: str) -> None:
    line = target_table([result(ours={"median": 1.0, "error": ours}, torch={"median": 1.0, "error": torch})])[2]
    assert line.endswith(expected or "met")


@pytest.mark.parametrize(("share", "ratio", "expected"), [
    (0.8, 1.0, "missed  the floor is 0.80 of PyTorch's time"), (0.7, 1.0, "missed"), (None, 1.0, "missed"), (0.99, 0.75, "met")])
def test_a_target_below_the_floor_is_marked(share: float | None, ratio: float, expected: str) -> None:
    line = target_table([result(floor_share=share, ratio_to_torch=ratio, ratio_at_best=ratio, target=0.75)])[2]
    assert line.endswith(expected)


def test_no_targets_no_table() -> None:
    assert target_table([result(target=None)]) == []


def test_a_case_that_fails_is_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import worker

    def raises() -> Any:
        raise RuntimeError("no")

    here = worker.Worker(Side("numpy"))
    here.cases = iter([Case("bad", raises), Case("good", lambda: np.ones(2))])
    bad, good = here.next(), here.next()
    assert (bad["failure"], bad["available"]) == ("RuntimeError: no", False)
    assert (good["failure"], good["available"]) == ("", True)
    assert here.next() == {"end": True}
