"""`torch.utils.tensorboard`, which cannot be imported without the package that writes the files."""
from __future__ import annotations

from types import ModuleType

from lucid.utils import tensorboard


def __getattr__(name: str) -> ModuleType:
    if name != "module":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    module = ModuleType("torch.utils.tensorboard")
    module.__path__ = []
    vars(module).update({each: getattr(tensorboard, each) for each in tensorboard.__all__})
    return module
