"""Writes the lists of names in docs/torch.md: ``python -m tests.torch.page``."""
from __future__ import annotations

import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "kernels")]

from lucid.torch.names import modules  # noqa: E402
from lucid.torch.page import grouped  # noqa: E402

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "torch.md"
HEAD = """
## Names

<!-- Written by `python -m tests.torch.page`: do not edit. -->

Every public name of PyTorch 2.13 by its module, and the private names that are adapters or inert. Modules that are not here are
refused as a whole, or absent.

"""


def text() -> str:
    """The section of the page."""
    parts = []
    for module in sorted(modules()):
        groups = {group: [name for name in names if not name.startswith("_") or group in ("adapter", "inert")]
                  for group, names in grouped(module).items() if group != "absent"}
        if any(groups.get(group) for group in ("lucid", "adapter", "inert")):
            parts.append(f"### {module}\n\n" + "\n".join(f"- {group}: {' '.join(f'`{name}`' for name in names)}"
                                                        for group, names in groups.items() if names) + "\n")
    return HEAD + "\n".join(parts)


def page() -> str:
    """The page, with the section as it should be."""
    return PAGE.read_text(encoding="utf-8").partition(HEAD)[0] + text()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
