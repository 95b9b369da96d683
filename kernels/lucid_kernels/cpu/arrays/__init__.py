"""Arrays as kernels take them.

`layout`: contiguous inputs, results and `out`, chunks for the threads.
`half_precision`: conversions to and from float16 and bfloat16; `upcast_half` computes in float32 and rounds once.
`loops`: elementwise loops over chunks on all threads (`Chunked`).
`broadcast`: expanded arrays, of which only the elements in memory are computed.
`strided_copy`: copies between any strides.
`tensor_list`: the elements of many arrays walked by one loop (multi-tensor apply).
`window`: the positions that a sliding window reaches.

Results and large temporaries come from `layout.result` or `runtime.allocator.empty`, which reuse freed pages from 2 MiB on;
`np.empty` is for small arrays and for compiled code, where `simd.aligned.aligned_empty` begins at a whole vector.

A loop is compiled in five kinds under one name: over chunks, over rows of a larger array, with scalars for arrays, into one
of its arguments, and with non-temporal stores. Parts of larger arrays are computed row by row where they lie: relu of half
of 256 rows of 512 elements took 36 us with a copy, and takes 9.
"""
