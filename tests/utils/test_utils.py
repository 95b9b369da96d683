"""The small modules of lucid.utils, and lucid.hub."""
from __future__ import annotations

import hashlib
import pathlib
import subprocess
import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

import lucid


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    script = "import lucid, sys; print([n for n in sys.modules if n.startswith(('lucid.utils', 'lucid.hub', 'lucid.amp'))])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    script = "import lucid; print(lucid.utils.data.DataLoader is lucid.data.DataLoader, lucid.utils.checkpoint.checkpoint.__name__)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "True checkpoint\n"


def test_data_is_lucid_data() -> None:
    from lucid.utils.data._utils.collate import default_collate
    from lucid.utils.data.dataloader import get_worker_info
    from lucid.utils.data.dataset import Dataset as same
    from lucid.utils.data.distributed import DistributedSampler

    from lucid.utils.data import DataLoader, Dataset

    assert default_collate is lucid.data.default_collate is lucid.utils.data._utils.collate.default_collate
    assert get_worker_info() is None and not hasattr(lucid.utils.data, "collate")
    assert DataLoader is lucid.data.DataLoader and Dataset is same is lucid.data.Dataset
    assert DistributedSampler is lucid.data.DistributedSampler


def test_dlpack() -> None:
    tensor = lucid.arange(3)
    array = np.from_dlpack(tensor)
    assert lucid.utils.dlpack.from_dlpack(array).data_ptr() == tensor.data_ptr()
    assert "dltensor" in repr(lucid.utils.dlpack.to_dlpack(tensor)) and lucid.utils.dlpack.DLDeviceType.kDLCUDA == 2


def test_hooks() -> None:
    tensor = lucid.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lucid.utils.hooks.warn_if_has_hooks(tensor)
        tensor.register_hook(lucid.utils.hooks.unserializable_hook(lambda g: None))
        lucid.utils.hooks.warn_if_has_hooks(tensor)
    tensor.register_hook(lambda g: None)
    with pytest.warns(UserWarning, match="will not be serialized"):
        lucid.utils.hooks.warn_if_has_hooks(tensor)


def test_hub_reads_files_that_are_there(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUCID_HOME", str(tmp_path))
    assert lucid.hub.get_dir() == str(tmp_path / "hub")
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    lucid.save({"weight": lucid.arange(3)}, folder / "plain.pth")
    data = (folder / "plain.pth").read_bytes()
    name = f"net-{hashlib.sha256(data).hexdigest()[:8]}.pth"
    (folder / name).write_bytes(data)
    load = lucid.hub.load_state_dict_from_url
    assert load(f"https://host/models/{name}?x=1", check_hash=True)["weight"].tolist() == [0, 1, 2]
    assert lucid.utils.model_zoo.load_url("https://host/other", file_name="plain.pth")["weight"].tolist() == [0, 1, 2]
    with pytest.raises(FileNotFoundError, match="downloads nothing"):
        load("https://host/absent.pth")
    with pytest.raises(RuntimeError, match="holds no hash"):
        load("https://host/plain.pth", check_hash=True)
    (folder / "net-00000000.pth").write_bytes(data)
    with pytest.raises(RuntimeError, match="invalid hash value"):
        load("https://host/net-00000000.pth", check_hash=True)
    monkeypatch.setattr("lucid.hub._chosen", None)
    lucid.hub.set_dir(tmp_path)
    assert lucid.hub.get_dir() == str(tmp_path)
    assert load("https://host/plain.pth", model_dir=folder)["weight"].tolist() == [0, 1, 2]


def test_tensorboard_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        from lucid.utils.tensorboard import SummaryWriter  # noqa: F401
    assert not hasattr(lucid.utils.tensorboard, "other")


def test_tensorboard_gets_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Writer:
        def __init__(self, logdir: str, *others: Any) -> None:
            self.logdir = logdir

        def add_scalar(self, tag: str, value: Any, global_step: int | None = None, walltime: float | None = None) -> None:
            seen.append((tag, value, global_step))

        def add_scalars(self, tag: str, values: Any) -> None:
            seen.append(values)

    module: Any = types.ModuleType("tensorboardX")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "tensorboardX", module)
    from lucid.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(log_dir=pathlib.Path("runs"))
    writer.add_scalar("loss", lucid.tensor(2.0, requires_grad=True), global_step=3)
    writer.add_scalars("both", {"a": lucid.ones(1)})
    assert seen[0][0::2] == ("loss", 3) and isinstance(seen[0][1], np.ndarray) and isinstance(seen[1]["a"], np.ndarray)
    assert writer.get_logdir() == writer.log_dir == "runs"
    with pytest.raises(NotImplementedError, match="add_graph"):
        writer.add_graph(None)


def test_tensorboard_writes_files(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("tensorboardX")
    from lucid.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter

    assert FileWriter and RecordWriter
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", lucid.ones(1), 1, new_style=True, double_precision=True)
        writer.add_tensor("weights", lucid.ones(2, 3))
        writer.add_histogram("bf16", lucid.rand(10).bfloat16())
        writer.add_image_with_boxes("boxes", lucid.rand(3, 8, 8), lucid.tensor([[1.0, 1, 5, 5]]), rescale=2)
        writer.add_hparams({"lr": 0.1}, {"loss": lucid.ones(())}, {"lr": [0.1, 0.2]}, run_name="first")
        with pytest.raises(TypeError, match="same type"):
            writer.add_hparams({"lr": 0.1}, {}, {"lr": ["fast"]})
        with pytest.raises(TypeError, match="dictionary"):
            writer.add_hparams([], {})
        with pytest.raises(ValueError, match="reshape"):
            writer.add_scalar("loss", lucid.ones(2), new_style=True)
    assert len(list(tmp_path.glob("events*"))) == len(list((tmp_path / "first").glob("events*"))) == 1
