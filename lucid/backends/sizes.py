"""The thresholds of dispatch in one table: from which sizes on our own kernels take the place of NumPy's functions.

A kernel takes some microseconds to be called, and the first one imports Numba. Sizes are elements, or bytes where the name says
BYTES; rows are those of the last dimension. The thresholds of elementwise operations stand in their rows (`elementwise/`), those
between kernels in `lucid_kernels/cpu/runtime/tuning.py`.
"""
from __future__ import annotations

from typing import Any

# NumPy and CuPy compute small arrays and mixed dtypes: a call costs 0.1 us less than through Python. Ours compute at least LARGE
# elements, or MIDDLE of half precision, which NumPy converts one by one.
LARGE, MIDDLE = 1 << 16, 1 << 11
# Elements from which other kernels are used, of functions at which NumPy is slow: it takes 1 to 15 ns for each, and a kernel some
# microseconds to be called. Numba is imported with the first array of as many.
MANY = 1 << 12
# Up to CHAINED elements a plan calls NumPy's loops without NumPy: of more the calls take no time that counts, and a chain lets go
# of its arrays at its end.
CHAINED = 1 << 14

# ---- copies and conversions --------------------------------------------------------------------------------------------

# Of whole rows that are written somewhere, NumPy's copies are as fast up to COPY_ROWS_BYTES. Kernels choose by these, too, and by
# HALVES_CONVERTED_FROM: their table has the same.
COPY_BYTES, COPY_ROWS_BYTES = 1 << 17, 1 << 20
# Of half precision: NumPy's conversion takes 8 to 20 times as long.
HALVES_CONVERTED_FROM = 1 << 12
# From here on other conversions are not NumPy's.
CAST_FROM = 1 << 16
# From here on threads share an array that is filled.
FILL_BYTES = 1 << 19
# Results of fewer elements are filled with zeros in less time than it takes to see whether one part is all of them.
ASSEMBLE_FROM = 1 << 12
# Arrays that are joined, or runs of theirs that are one after the other in the result, from which on NumPy takes longer.
JOIN_BYTES, JOIN_RUNS = 1 << 18, 1 << 10
# An array, or runs of it, for which the microsecond pays that a kernel needs for each array.
JOIN_BYTES_OF_EACH, JOIN_RUNS_OF_EACH = 1 << 11, 1 << 7
# Arrays with gaps of so few bytes, in runs of so many, are joined by NumPy: a kernel for each takes twice as long.
JOIN_BY_NUMPY_BYTES, JOIN_BY_NUMPY_RUN = 1 << 20, 1 << 10
# A padded result, and its rows, from which on the kernel takes 0.5 to 0.9 of the time of pieces.
PAD_FROM, PAD_LEAST_ROWS = 1 << 15, 64
# The ends of rows that are shorter take longer to write than all of a result that stays in the cache.
PAD_SHORT_ROW, PAD_IN_CACHE = 256, 1 << 21

# ---- elementwise -------------------------------------------------------------------------------------------------------

# An operand from which on NumPy's own loops take less time on all threads: a call takes 3 us.
UFUNC_LOOPS_BYTES = 1 << 19
# For 1,280 elements of a formula that is interpreted a kernel takes 0.4 to 0.8 of the time.
INTERPRETER_FROM = 1 << 10

# ---- reductions --------------------------------------------------------------------------------------------------------

# The sum of as many by a kernel takes 0.4 us, by NumPy 1.
SUM_OF_ALL_FROM = 1 << 8
# From as many on it is part of the kernel that computes the elements, in a plan: (x - y) ** 2 of float32 and its sum take 0.9 of
# the time, of four million elements 0.7; of 65,536 1.04 times as long.
TOTALS_FUSED_FROM = 1 << 18
# Contiguous elements from which on our kernels reduce some of the axes: sums and norms of rows, logarithms of sums, variances. Of
# 6,000 rows of ten elements they take 0.1 to 0.2 of the time, of 128 of 64 0.7 to 0.95.
SUM_FROM, LOGSUMEXP_FROM, VARIANCE_FROM = 1 << 13, 1 << 12, 1 << 11
# Of fewer a sum in float64 takes less time than several of float32.
SUM_IN_HALVES_FROM = 1 << 13
# Elements of half precision along a row that are widened where they are folded, not all before.
SUM_LEAST_ROW_OF_HALF_PRECISION = 64
# Rows for whose sums NumPy takes three times as long as ours.
SUM_SHORT_ROW = 32
# Of fewer integers NumPy takes no longer, of as many in rows of 8 or of 64 it takes 5 times as long.
SUM_OF_INTEGERS_FROM = 1 << 13
# Of fewer NumPy finds the largest of all in 0.3 to 0.8 of the time.
EXTREME_OF_ALL_FROM = 1 << 20
# Contiguous elements from which on our kernels find the extremes of rows, and of columns.
EXTREMES_OF_ROWS_FROM, EXTREMES_OF_COLUMNS_FROM = 1 << 13, 1 << 15
# Rows whose largest NumPy takes up to 3 times as long to find.
EXTREMES_SHORTEST_ROW, EXTREMES_LONGEST_ROW = 4, 24
# Integers from which on NumPy finds the largest and the smallest in half of the time that it asks each whether it is 0.
ANY_OF_INTEGERS_FROM = 1 << 10
# Bytes of a row, and rows: of 16 float32 the transposed matrix takes 0.6 to 0.7 of the time, of 32 up to 1.4 times.
NARROW_ROW_BYTES, NARROW_LEAST_ROWS = 64, 128
# From here on cumulative sums and products are a kernel's: NumPy's take 1.6 to 7 times as long, and convert the elements twice.
SCAN_FROM = 1 << 9

# ---- indexing, sorting -------------------------------------------------------------------------------------------------

# As MANY, for elements of arrays of several dimensions that are read, and combined: NumPy gets an index for each dimension.
GATHER_FROM, COMBINE_FROM = 1 << 10, 1 << 8
# The same for elements of vectors, at which NumPy's `take` is good.
GATHER_OF_VECTOR_FROM = 1 << 13
# Bytes of slices that are selected, and of one of them.
SELECT_BYTES, SELECT_SLICE_BYTES = 1 << 19, 1 << 5
# As MANY, for elements in slices that are added: of a thousand slices of 8 elements `add.at` takes six times as long.
ADD_AT_FROM = 1 << 10
# The same for elements of vectors, at which `add.at` is good.
ADD_AT_OF_VECTOR_FROM = 1 << 15
# Elements in rows of bags: of 128 rows of 16 NumPy's sums take ten times as long.
EMBEDDING_BAG_FROM = 1 << 8
# As MANY, for a long row, and for the largest of all: NumPy takes 1.1 to 2.5 times as long. Rows of a hundred it sorts as fast.
SORT_LONG_ROW = 1000
# Fewer are sorted in less time than the largest are found and sorted.
PARTITION_FROM = 512
# Counts that stay in the L2 cache, four times over.
COUNT_FEW = 1 << 14
# Rows to search in, a call of NumPy's for each.
SEARCH_FEW_ROWS = 16

# Elements of which a GPU divides and repeats the gradient of a mean in one launch: to write more takes as long as a launch, and
# the next kernel can read a view of one number. Reasoned, not measured.
REPEATED_AT_ONCE = 1 << 20

# ---- linear algebra, Fourier transforms --------------------------------------------------------------------------------

# A vector that NumPy handles as fast as a kernel, once Numba is imported.
VECTOR_FROM = 1 << 6
# An inner product that takes less time by our kernel than a call of NumPy's.
INNER_PRODUCT_FROM = 1 << 8
# Matrices for which NumPy, which computes in float64, takes longer than a kernel. OpenBLAS starts no threads for fewer.
LAPACK_FROM = 1 << 9
# Rows of matrices of which several are eliminated at a time; LAPACK is faster with more.
ELIMINATION_MOST_ROWS = 8
# Rows of matrices for our loops, and of those that are faster than LAPACK for stacks of more elements too.
MATRIX_MOST_ROWS, MATRIX_FEW_ROWS, MATRIX_FEW_ELEMENTS = 32, 16, 1 << 11
# From here on a kernel transforms the last dimension. Others, which are transposed, take MANY.
FFT_FROM = 1 << 8
# From here on NumPy's conversions are avoided.
FFT_CONVERTED_FROM = 1 << 7
# From here on threads share a transform: starting one takes 80 us, 2^17 elements 250 us.
FFT_SHARED_FROM = 1 << 17


def are_few(x: Any) -> bool:
    """Whether NumPy computes the real array `x` as well as a kernel of elementwise arithmetic does."""
    size: int = x.size
    return size < MIDDLE or (size < LARGE and x.itemsize > 2)
# Bytes of the weights of convolutions that are kept on a GPU as its tensor cores read them, and how many are looked at.
PACKED_WEIGHTS, PACKED_WEIGHTS_SEEN = 1 << 28, 1 << 10
