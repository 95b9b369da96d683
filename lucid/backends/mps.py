"""`lucid.backends.mps`: Apple's GPUs, which lucid does not use, by the names of torch.backends.mps.

>>> lucid.backends.mps.is_available()
False
"""
from __future__ import annotations

import platform

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_built() -> bool:
    """False: there is no code for them.

    >>> lucid.backends.mps.is_built()
    False
    """
    return False


def is_available() -> bool:
    """False: they are not used.

    >>> lucid.backends.mps.is_available()
    False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether the system is macOS of that version, or a later one.

    >>> lucid.backends.mps.is_macos_or_newer(999, 0)
    False
    """
    found = [int(part) for part in platform.mac_ver()[0].split(".")[:2] if part]
    return bool(found) and found >= [major, minor]


def is_macos13_or_newer(minor: int = 0) -> bool:
    """`is_macos_or_newer` of macOS 13.

    >>> lucid.backends.mps.is_macos13_or_newer() in (True, False)
    True
    """
    return is_macos_or_newer(13, minor)
