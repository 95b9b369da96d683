"""How to install what lucid can do without: no package index has it by its name, and `lucid` there is another project."""

from __future__ import annotations

import pathlib


def command(extra: str) -> str:
    """The command that installs the packages of an extra of setup.cfg, such as 'cuda13': for a clone, or an installed wheel."""
    clone = pathlib.Path(__file__).resolve().parents[2]
    if (clone / "setup.cfg").is_file():
        return f'pip install -e "{clone}[{extra}]"'
    import importlib.metadata  # it imports some 30 modules, for an error only

    try:
        required = importlib.metadata.requires("lucid-xp") or []
    except importlib.metadata.PackageNotFoundError:  # copied, not installed
        return f'pip install ".[{extra}]" in a clone of lucid'
    lines = (line.partition(";") for line in required)
    packages = [name.strip() for name, _, condition in lines if f'extra == "{extra}"' in condition.replace("'", '"')]
    return " ".join(["pip install", *(f'"{package}"' for package in packages)])
