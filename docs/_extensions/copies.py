"""Pages of the site that stand elsewhere in the repository: copied, with links as they are from here."""
from __future__ import annotations

import pathlib
import re
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: The file, and its page.
PAGES = {"CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "kernels/README.md": "kernels"}


def _linked(text: str, folder: pathlib.Path) -> str:
    """Links to pages of the site lead there; the names of other files stay without a link."""
    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if "//" in target or target.startswith("#"):
            return match[0]
        path = (folder / target.partition("#")[0]).resolve().relative_to(ROOT).as_posix()
        if path in PAGES:
            return f"[{words}]({PAGES[path]}.md)"
        if re.fullmatch(r"docs/\w+\.md", path):
            return f"[{'' if words == path else words}]({path.removeprefix('docs/')})"  # without words it gets the title
        return words

    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", link, text)


def write() -> None:
    """Write the copies that have changed."""
    for file, name in PAGES.items():
        source, page = ROOT / file, ROOT / "docs" / f"{name}.md"
        text = _linked(source.read_text(encoding="utf-8"), source.parent)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write them before Sphinx looks for pages."""
    app.connect("config-inited", lambda *_: write())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
