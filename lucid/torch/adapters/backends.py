"""The switches of PyTorch's backends: those of lucid, and those without effect on a number here, which keep their values."""
from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import lucid.backends.cuda
import lucid.backends.cudnn


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


class _Cudnn(_Switches):
    """`torch.backends.cudnn`. lucid does not use cuDNN; `allow_tf32` is lucid's, and algorithms are always deterministic."""

    @property
    def allow_tf32(self) -> bool:
        """Whether convolutions of float32 on a GPU may be TF32."""
        return bool(lucid.backends.cudnn.allow_tf32)  # type: ignore[attr-defined]

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        lucid.backends.cudnn.allow_tf32 = value  # type: ignore[attr-defined]


@contextlib.contextmanager
def _flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
           allow_tf32: bool = True, fp32_precision: str = "none", **others: Any) -> Iterator[None]:
    with lucid.backends.cudnn.flags(allow_tf32=allow_tf32):
        yield


def get_cpu_capability() -> str:
    """The vectors that PyTorch's own kernels would use: lucid's are compiled for the processor, so the name of none."""
    return "DEFAULT"


def _no_version() -> None:
    """The version of cuDNN: None, as where it is missing."""


def _is_available() -> bool:
    return False


def _is_acceptable(tensor: Any) -> bool:
    return False


def _show() -> str:
    return f"lucid {lucid.__version__}, Python {platform.python_version()}"


cudnn = _Cudnn("torch.backends.cudnn", benchmark=False, benchmark_limit=10, deterministic=False, enabled=True, flags=_flags,
               version=_no_version, is_available=_is_available, is_acceptable=_is_acceptable)
cuda = _Switches("torch.backends.cuda", matmul=lucid.backends.cuda.matmul)
mkldnn = _Switches("torch.backends.mkldnn", enabled=False, verbose=0)
config = _Switches("torch.__config__", show=_show, parallel_info=_show)
symbolic_opset11 = _Switches("torch.onnx.symbolic_opset11")
