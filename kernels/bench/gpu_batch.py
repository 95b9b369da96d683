"""Everything that a machine with a GPU has to show, in one command of nine minutes; most valuable first, saved after each part.

    python kernels/bench/gpu_batch.py                       # all parts, into kernels/bench/results/
    python kernels/bench/gpu_batch.py --seconds 240 --parts gate rows
    python kernels/bench/gpu_batch.py --output FOLDER       # also a copy of the tuning table there
    python kernels/bench/gpu_batch.py --dry                 # without a GPU: each part on the simulator, in small
    python kernels/bench/gpu_batch.py --stub                # without a GPU: the real CuPy on a CUDA that computes nothing

    compilation  every kernel, on all processors, into CuPy's cache
    gate         the tests of the CUDA kernels and of each configuration against float64, in memory full of NaN
    ceilings     bandwidth of copies; cuBLAS's products in float32, TF32, bfloat16 and float16; the shortest launch
    host         the host's time of operations and training steps, beside PyTorch's
    tuning       configurations of convolutions and attention; writes kernels/lucid_kernels/cuda/tuning/sm_XY.json
    rows         the targets and training steps beside PyTorch, with the device's own time
    compile      training steps of lucid.compile beside PyTorch's, eager and as CUDA graphs: bits, times, recordings, nodes
    kernels      the time of the kernels alone, by events
    tests        the tests that use the device, as far as the time allows, with the names of those that fail

It needs lucid's packages (numpy, numba, ml_dtypes, safetensors) and cupy-cuda13x or cupy-cuda12x, with cuBLAS, NVRTC and CUDA's
headers (`cupy-cuda13x[ctk]`, or a toolkit); pytest for the gate and the tests, better with pytest-xdist and pytest-timeout;
PyTorch with CUDA for the ratios; tqdm for the bar. Where something is missing it says what to install, and does the rest. Nothing
is downloaded.

Exit status: 2 if nothing can run here, 1 if a part or a check failed. With `--dry` and `--stub` times are made up, results are
marked, and neither a tuning table nor anything in kernels/bench/results/ is written: they go to `--output`, or are printed only.
"""

from __future__ import annotations

import os
import sys

# As a script this folder is on the path, where its files would hide others' of the same names.
_KERNELS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[0:1] = [_KERNELS, os.path.dirname(_KERNELS)]

import argparse  # noqa: E402
import pathlib  # noqa: E402
import signal  # noqa: E402
import tempfile  # noqa: E402

from bench.gpu.batch import SHARES, Batch  # noqa: E402
from bench.gpu.place import GPU, SIMULATOR, STUB  # noqa: E402


def main() -> int:
    """Run the batch; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=540, help="for all parts together (default: %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=SHARES, default=[*SHARES], metavar="PART", help="only these")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER", help="instead of kernels/bench/results")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--dry", dest="place", action="store_const", const=SIMULATOR, default=GPU)
    where.add_argument("--stub", dest="place", action="store_const", const=STUB)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what has been found is saved first
    chosen = [part for part in SHARES if part in options.parts]
    with tempfile.TemporaryDirectory() as folder:
        batch = Batch(options.seconds, chosen, options.place)
        if options.output is not None:
            batch.folder = options.output.resolve()
            if options.place != GPU and batch.folder == Batch.folder:
                parser.error("what is not measured on a GPU is not written among the results")
        elif options.place != GPU:
            batch.folder = pathlib.Path(folder)
        return batch.run()


if __name__ == "__main__":
    sys.exit(main())
