"""Modules that several files of this folder use, made with either library."""
from __future__ import annotations

from typing import Any


def small(torch: Any) -> Any:
    """A module with a parameter `w`, a buffer `b` and a linear layer `c`."""
    class Small(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("b", torch.zeros(2))
            self.c = torch.nn.Linear(2, 2, bias=False)

        def forward(self, x: Any) -> Any:
            return self.c(x * self.w) + self.b

    return Small()


def tied(torch: Any) -> Any:
    """A `small` whose layer, parameter and buffer each have a second name."""
    module = small(torch)
    module.d = module.c
    module.w2 = module.w
    module.register_buffer("b2", module.b)
    return module


def raised(call: Any) -> Any:
    """The exception of ``call()``, None without one."""
    try:
        call()
    except Exception as error:
        return error
    return None


def names(pairs: Any) -> list[str]:
    """The names of pairs (name, object)."""
    return [name for name, _ in pairs]


def stateful(torch: Any) -> Any:
    """A parameter, a buffer, one that is not saved, a None slot and a submodule."""

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.zeros(2))
            self.w = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("scratch", torch.zeros(1), persistent=False)
            self.register_buffer("slot", None)
            self.c = torch.nn.Linear(2, 1)

    return Small()


def message(load: Any) -> str:
    """The error of a call, with its class."""
    try:
        load()
    except Exception as error:
        return type(error).__name__ + ": " + str(error)
    return "no error"
