"""How kernels are compiled, cached on disk and run on threads, and where their memory comes from; knows no operation.
Begin with `jit`.

`jit`: the decorators that every kernel uses, with flags and reasons.
`compiler`: compiles a kernel with the functions that it calls.
`parallel_loop`: `prange` loops.
`llvm_passes`: LLVM's optimisation on a thread of its own.
`patches`: what is changed in other libraries, and why.
`implementations`, `tuning`: lists of implementations by preference, and the thresholds in them.
`intrinsic`: functions that write LLVM's instructions.
`numba_import`, `signals`: Ctrl-C waits until an import or a compilation has ended.
`cache`: where compiled kernels are kept.
`object_code`: a kernel as it is kept.
`sources`: the files that a kernel depends on; an edit of one makes it stale.
`thread_pool`: the threads that share a loop.
`threads`: how many there are.
`fork`: locks that stay usable in a forked process.
`allocator`, `free_list`: memory for large arrays, and the free parts of it.
`numpy_allocator`: NumPy arrays in that memory.
`malloc`: how the C library keeps memory.

Functions that only kernels call are free: they are linked in, and have no machine code of their own. Small ones are inlined,
a larger one is optimised once. Closures in them are not inlined, and nothing handles `with`: those passes of Numba are left
out. One that Python calls as well is compiled twice.

A `prange` loop at the top level of a kernel, the only one, that assigns to no name outside of it (arrays it may write)
becomes a function that each thread calls for its share. Other forms take three to five times as long to compile. With one
iteration or one thread nothing is launched, so a kernel whose chunks are large enough needs no serial twin. The loop gets
arrays that own nothing: threads that count references to the same array wait for each other. A kernel that makes no arrays, and
gets none from what it calls, is compiled with `allocates=False`: nothing counts references, as in generated ones.

Loops are not unrolled for a number of iterations that is known at run time only: that saves a twentieth of the time to
compile. `jit_unrolled` allows it, for loops over elements at indices that are read; `jit_interleaved` works on four vectors
in turn, for loops that compute much for each element: 0.86 to 0.96 of the time, `mish` 0.6.

Each combination of dtypes, layouts and Python types is compiled: pass contiguous arrays and the same kinds of scalars
always. `NUMBA_DISABLE_JIT=1` does not change these kernels, which use what exists in compiled code only. A process that
finds all kernels on disk never prepares the compiler, and reaches the end of the first step of the digits net in 0.8 s, of
which 0.16 s are Numba's import (PyTorch: 3.6 s). The first epoch on an empty cache takes 12 to 16 s of processor time, 10 to
13 s on two processors.
"""
