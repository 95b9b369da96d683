"""``python -m lucid.torch script.py arguments``: see `command`."""
from __future__ import annotations

from .command import main

if __name__ == "__main__":
    main()
