"""Modules of PyTorch that lucid has under another name, or has not split off."""
from __future__ import annotations

import importlib
import sys

import pytest

import lucid
from lucid._namespace import pytorch_modules


def test_another_name_is_the_same_module() -> None:
    import lucid.cuda.amp
    from lucid.cuda.memory import memory_allocated

    assert sys.modules["lucid.cuda"] is lucid.gpu is lucid.cuda and lucid.cuda.amp is lucid.gpu.amp
    assert memory_allocated is lucid.gpu.memory_allocated
    assert lucid.gpu.__name__ == lucid.gpu.__spec__.name == "lucid.gpu" and lucid.gpu.amp.__spec__.name == "lucid.gpu.amp"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("lucid.cuda.nothing")


def test_what_is_not_split_off() -> None:
    from lucid.nn.modules.pixelshuffle import PixelShuffle
    from lucid.nn.parallel.distributed import DistributedDataParallel

    assert PixelShuffle is lucid.nn.PixelShuffle and DistributedDataParallel is lucid.nn.parallel.DistributedDataParallel
    for name in pytorch_modules.SPLIT:
        with pytest.raises(ImportError):
            exec(f"from {name} import nothing")
