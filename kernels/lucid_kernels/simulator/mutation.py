"""Mutation tests for CUDA kernels: plant a bug, and see whether the kernel's check notices it on the simulator.

The planted bugs of the kernels stand in files `tests/kernels/cuda/mutations_*.py`, each of which defines a list:

    from lucid_kernels.simulator.mutation import Mutation

    def check_softmax():
        import cupy
        from lucid_kernels.cuda import softmax
        x = np.random.default_rng(0).standard_normal((5, 200), dtype=np.float32)
        y = softmax.softmax(cupy.asarray(x), dim=1).get()
        np.testing.assert_allclose(y, reference(x), atol=2e-6)

    MUTATIONS = [
        Mutation("softmax.cu", "drop a barrier", r"__syncthreads\\(\\);", ";", check_softmax),
        Mutation("softmax.cu", "half a warp", r"0xffffffffu", "0x0000ffffu", check_softmax, inside="common.cuh"),
    ]

Rules:

- `check` takes no argument, calls the launchers of `lucid_kernels.cuda.<family>` and asserts with NumPy. The stand-in is
  installed while it runs: import `cupy` and the launchers inside the function.
- `pattern` is a regular expression, `replacement` its substitute (`\\1` and `\\g<name>` work, as in `re.sub`). It is
  applied to the text of `file` itself, without the headers it includes; `inside` names an included header instead.
- Every place that matches is one planted bug: each is tried alone and each must be noticed. A pattern that matches
  nowhere is an error, and so is a replacement that does not compile.
- A bug is noticed when `check` raises AssertionError, SimulatorError, IndexError or another RuntimeError under at least
  one of the `SCHEDULES`.
- Every `.cu` file needs at least one mutation; plant one in each of its kernels.

`python kernels/mutate.py [family ...]` runs them all; a pytest test can call `run`.
"""
