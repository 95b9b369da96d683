"""setuptools' build backend, whose editable installs put the two folders with packages on Python's path.

Its own finder of modules comes after the path, where the clone itself, named `lucid`, would be found first from the folder above:
a namespace package with nothing in it. A package on the path comes before one without files.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import zipfile
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403 - the other hooks

ROOTS = (".", "kernels")


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    """Build setuptools' wheel, with a `.pth` file in the place of its finder."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    path = pathlib.Path(wheel_directory, name)
    with zipfile.ZipFile(path) as wheel:
        kept = {entry: wheel.read(entry) for entry in wheel.namelist() if ".dist-info/" in entry}
    record = next(entry for entry in kept if entry.endswith(".dist-info/RECORD"))
    del kept[record]
    folders = [os.path.abspath(root) for root in ROOTS]
    kept["__editable__.lucid_xp.pth"] = "".join(f"{folder}\n" for folder in folders).encode()
    kept[record] = "".join([*(_line(*entry) for entry in kept.items()), f"{record},,\n"]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for entry, contents in kept.items():
            wheel.writestr(entry, contents)
    return name


def _line(entry: str, contents: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(contents).digest()).rstrip(b"=").decode()
    return f"{entry},sha256={digest},{len(contents)}\n"
