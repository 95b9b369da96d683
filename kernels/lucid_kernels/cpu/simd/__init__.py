"""SIMD vectors in LLVM IR, of which microkernels are made; knows no operation. Begin with `ir`.

`ir`: loads, stores and arithmetic, masked where a row ends.
`lanes`: vectors of integers, and steps along a plane.
`pointer`: pointers to elements.
`address`: addresses of the elements of an array, so that one kernel takes all layouts.
`aligned`: temporaries that begin at a whole vector.
`cpu_features`: the instructions and vector width of this processor.
`nontemporal`: stores that bypass the caches.
`prefetch`: lines loaded ahead of use.
`reduce`: sums and maxima of contiguous elements.
`dot`: inner products of several rows with several others.
`copy_rows`, `strided`: copies of rows, and of tiles of a transposition.
`transpose`, `transpose_planes`: tiles and planes transposed in registers.

Results have non-temporal stores where a kernel moves nearly as much as the last-level cache holds (`nontemporal.streams`): their
lines are not read first, which takes a fifth to a third off relu, softmax and layer norm. Such a store must alternate with
other work: a burst of them stops the processor. Short rows that end within a line are stored as usual, and so is what is
read again.
"""
from ..runtime import numba_import as numba_import
