"""Arrays as kernels take them: contiguous, broadcast, in pieces for the threads, of half precision."""
