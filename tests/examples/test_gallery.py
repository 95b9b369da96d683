"""The programs of the gallery learn, in a short form, and are as short as they say."""
from __future__ import annotations

import pathlib
import re
import runpy
import warnings

import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "gallery"
#: The steps, and between which results they lead: an error that has fallen, or a share that has risen far above chance.
SHORT = {"diffusion": (250, 0.0, 0.5), "gpt": (12, 0.0, 3.6), "graph": (60, 0.9, 1.0), "ppo": (5, 0.0, 0.6), "resnet": (40, 0.5, 1.0),
         "seq2seq": (60, 0.5, 1.0), "vae": (60, 0.0, 31.0)}


def test_all_are_here():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_it_learns(name, capsys):
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    steps, low, high = SHORT[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # that a step is not replayed
        result = runpy.run_path(str(FOLDER / f"{name}.py"))["main"](steps)
    assert low <= result <= high
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", SHORT)
def test_it_is_short_and_on_the_page(name):
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) < 150
    page = (FOLDER.parents[1] / "docs" / "gallery.md").read_text()
    assert f"`python examples/gallery/{name}.py`" in page
    for picture in re.findall(r"\((gallery/\w+\.png)\)", page):
        assert (FOLDER.parents[1] / "docs" / picture).stat().st_size < 200_000
