"""The switches of PyTorch's backends: those of lucid, and others, which have no effect on a number and keep their values."""
from __future__ import annotations

import platform
from types import ModuleType
from typing import Any

import lucid


class _Switches(ModuleType):
    """A module of switches, which are attributes."""

    def __init__(self, name: str, **switches: Any) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__dict__.update(switches)

    def __getattr__(self, name: str) -> Any:
        from .. import inert
        found = inert.value(self.__name__, name)
        if found is inert.NONE:
            raise AttributeError(f"lucid has no {self.__name__}.{name}", name=name, obj=self)
        return found


class _Forwarded(ModuleType):
    """A module of lucid, whose switches are read and written through it."""

    def __init__(self, name: str, own: ModuleType) -> None:
        super().__init__(name)
        self.__dict__.update(__path__=[], _own=own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:
            setattr(self._own, name, value)


def get_cpu_capability() -> str:
    """The vectors that PyTorch's kernels use on such a processor. torchvision chooses by it how it rounds images."""
    return "AVX2" if platform.machine().lower() in ("x86_64", "amd64") else "DEFAULT"


def _show() -> str:
    return f"lucid {lucid.__version__}, Python {platform.python_version()}"


cudnn = _Forwarded("torch.backends.cudnn", lucid.backends.cudnn)
cuda = _Forwarded("torch.backends.cuda", lucid.backends.cuda)
mkldnn = _Switches("torch.backends.mkldnn", enabled=False, verbose=0)
config = _Switches("torch.__config__", show=_show, parallel_info=_show)
symbolic_opset11 = _Switches("torch.onnx.symbolic_opset11")
