"""What a config.json of Hugging Face says about a language model."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import lucid
from lucid.nn import functional as F

#: Activations by their names in a configuration.
ACTIVATIONS: dict[str, Callable[[lucid.Tensor], lucid.Tensor]] = {
    "gelu": F.gelu, "relu": F.relu, "silu": F.silu, "swish": F.silu, "tanh": lucid.tanh,
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), lambda x: F.gelu(x, approximate="tanh")),
}


@dataclasses.dataclass
class Configuration:
    """The entries that a model is made by. Subclasses name them as Hugging Face does, with its defaults."""

    model_type: ClassVar[str]
    only: ClassVar[dict[str, Any]]  # entries that may have this value alone

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """The configuration of a config.json. Raises ValueError for what the models here do not do."""
        for name, value in cls.only.items():
            if entries.get(name, value) != value:
                raise ValueError(f"{cls.model_type}: {name}={entries[name]!r} is not supported, only {value!r}")
        return cls(**{field.name: entries[field.name] for field in dataclasses.fields(cls) if field.name in entries})

    def to_dict(self) -> dict[str, Any]:
        """The entries of a config.json."""
        return {"model_type": self.model_type, **dataclasses.asdict(self)}

    def __post_init__(self) -> None:
        name = next(field.name for field in dataclasses.fields(self) if field.name in ("hidden_act", "activation_function"))
        if getattr(self, name) not in ACTIVATIONS:
            raise ValueError(f"{self.model_type}: {name}={getattr(self, name)!r} is none of {sorted(ACTIVATIONS)}")
