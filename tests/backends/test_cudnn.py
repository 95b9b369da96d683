"""`lucid.backends.cudnn`: the switch of TF32."""
from __future__ import annotations

import subprocess
import sys

import pytest
from lucid_kernels import tf32

import lucid


def test_tf32_is_allowed_by_default() -> None:
    code = "import lucid; assert lucid.backends.cudnn.allow_tf32 is True; lucid.backends.cudnn.allow_tf32 = False"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_switch() -> None:
    cudnn = lucid.backends.cudnn
    with cudnn.flags(allow_tf32=True):
        assert cudnn.allow_tf32 is True
        cudnn.allow_tf32 = False
        assert cudnn.allow_tf32 is False and tf32.convolutions is False
        with pytest.raises(RuntimeError, match="expects a bool, but got int"):
            cudnn.allow_tf32 = 1  # type: ignore[assignment]
        with pytest.raises(ValueError, match="inside"), cudnn.flags():
            assert cudnn.allow_tf32
            raise ValueError("inside")
        assert cudnn.allow_tf32 is False
