"""The documentation site: ``python -m sphinx -W -b html docs docs/_build/html``, with the extra `docs`."""
from __future__ import annotations

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "kernels"), str(ROOT / "docs"), str(ROOT / "docs" / "_extensions")]

import lucid  # noqa: E402

project = "lucid"
author = "the lucid developers"
version = release = lucid.__version__
extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "copies", "reference"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["_build", "_extensions", "__pycache__"]
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = f"lucid {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["sidebar.js"]
html_favicon = "_static/lucid.svg"
html_use_index = False  # nothing would be in it: pages are written as text, not by directives
html_show_copyright = False
html_copy_source = html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# `python -m sphinx -b linkcheck docs docs/_build/links`: asks for every address outside of the site, and so needs a network.
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_ignore = [r"https://example\.org/", r"https://doi\.org/"]  # no page; journals refuse programs
