"""From where on which implementation is faster: the thresholds of the lists (`implementations.py`), in one table.

Measured on Zen 3 (AVX2), Zen 4 and Zen 5 (AVX-512), interleaved with what computes the problem otherwise;
`kernels/bench/results` has the environments. Where they differ, a value is a table by the bytes of a vector: 32 or 64.
"0.8 of the time" is that of the implementation over that of the next one. How an implementation cuts its work stands with it.

A constant begins with the name of its implementation, and is read as ``tuning.NAME`` when an implementation is chosen.
"""
from __future__ import annotations

import math

# ---- convolution -----------------------------------------------------------------------------------------------------

# Products of a convolution, some 20 us: below, what large convolutions do saves nothing.
CONVOLUTION_LEAST_PRODUCTS = 1 << 17

# With fewer channels, or fewer pairs of them, Winograd's transforms take longer than the products that they save: 1.0 to 1.7 of
# the time of direct convolution for 8 -> 32, 0.85 to 1.15 for 16 -> 16, 0.7 to 0.95 for 16 -> 32, 0.55 to 0.85 for 32 -> 32.
WINOGRAD_LEAST_CHANNELS = 16
WINOGRAD_LEAST_PAIRS = 512
# With fewer tiles the weight's transform is not paid back: 64 channels take 0.5 to 1.1 of the time with 16 tiles.
WINOGRAD_LEAST_TILES = 16
# Bytes of the largest transformed weight, 1.8 times the weight itself.
WINOGRAD_WEIGHT_BYTES = 1 << 26
# In the forward pass direct convolution, which reads the weight once and where it lies, takes 0.5 to 1.0 of the time for at
# most so many positions of all images; of a large weight, which leaves the L2 cache when it is transformed, 0.65 to 0.9.
WINOGRAD_FEW_POSITIONS, WINOGRAD_FEW_POSITIONS_OF_LARGE_WEIGHT = 49, 100

# The largest share of the products of direct convolution, without rows of taps that meet only padding, that those of Winograd may
# be, which compute tiles that are partly empty: with 0.74 they take 0.93 of the time (phases of 5x5 pixels), with 0.94 1.2 (3x3).
WINOGRAD_DILATED_MOST_PRODUCTS = 0.75
# With fewer channels it takes longer to deal and to gather than is saved: 32 -> 32 takes 0.9 to 1.1 of the time, 64 -> 64 0.7.
WINOGRAD_DILATED_LEAST_CHANNELS = 32

# The largest share of the products that bands leave: each is a convolution of its own, which packs its part of the weight. And
# positions that a band has at least, two register blocks.
DILATION_BANDS_MOST_PRODUCTS, DILATION_BANDS_LEAST_POSITIONS = 0.85, 96

# Columns of a patch from which on forward pass and weight gradient take 0.6 to 0.9 of the time of direct convolution, and the
# input gradient no more; with 4 columns 1.05 to 1.2.
PATCH_EMBEDDING_LEAST_COLUMNS = 6

# Bytes of the transposed planes of both arrays, where `planes` has a microkernel: half of an L2 cache of 1 MiB. Where it has
# none, larger ones take 0.6 to 1.2 of the time of direct convolution, their weight gradient 0.3, until they leave the L3 cache.
DEPTHWISE_CHANNELS_MOST_BYTES = 512 << 10
DEPTHWISE_CHANNELS_MOST_BYTES_WITHOUT_PLANES = 4 << 20
# How wide results may be, in vectors, by the rows of taps, where `planes` has a microkernel: that takes 1.1 to 2.8 times as
# long up to there, and 0.6 to 0.9 of the time beyond, where more of each vector is used. The width of a spread gradient is that
# of what it is made of.
DEPTHWISE_CHANNELS_WIDEST_FILTERED: dict[int, dict[int, float]] = {
    32: {3: 2, 5: math.inf, 7: math.inf}, 64: {3: 1.25, 5: 4, 7: math.inf}}
DEPTHWISE_CHANNELS_WIDEST_SPREAD: dict[int, dict[int, float]] = {32: {3: 2, 4: 2, 5: 2}, 64: {3: 1.25, 4: 0.75, 5: 0.75}}
DEPTHWISE_CHANNELS_WIDEST_CORRELATED = {32: 1.25, 64: 0.75}
# The least of these for several slices, whose sums `planes` takes from memory.
DEPTHWISE_CHANNELS_WIDEST_SLICES = 2

# With fewer channels or results most of a vector or of a block is empty, or what is transposed is not paid back.
OUTER_GRAD_WEIGHT_LEAST_CHANNELS, OUTER_GRAD_WEIGHT_LEAST_OUTPUTS = 16, 16
# Positions of an image at most: of more, dot products have few sums to add up. This takes 0.75 of their time for 14x14, 0.82 for
# 17x17, and 1.1 times as long for 56x56.
OUTER_GRAD_WEIGHT_MOST_POSITIONS = 512

# Positions of a slice of the result from which on the weight gradient of volumes by dot products takes no longer than copies of
# slices and `outer_grad_weight`: 0.95 of the time for 196 of 64 channels, 1.03 for 100, 1.3 for 49 of 128, but 0.5 to 0.75 for
# 2x2x2 taps.
DIRECT_VOLUMES_LEAST_POSITIONS = 100

# ---- products of matrices, by multiply-adds unless something else is said ----------------------------------------------

# OpenBLAS uses threads from here on.
OPENBLAS_THREADS_FROM = 1 << 18
# From here on our own products take 0.5 to 0.85 of the time on two threads. Below, up to 14 us of work, they gain little, and
# small nets need not compile them (1.3 s with no cache).
SHARED_FROM = 1 << 20
# The same where the columns of the right operand are contiguous, as in linear layers: OpenBLAS takes 1.2 to 2 times as long, for
# few rows 2 to 8 times. It is as fast where those of the left one are contiguous too.
SHARED_TURNED_FROM, SHARED_FEW_ROWS = 1 << 18, 8
# Rows or columns of a product that threads share.
SHARED_LEAST_SIDE = 32
# Results of a few products each, as of a layer with two inputs: OpenBLAS takes 2 to 4 times as long where the columns are
# contiguous, and a multiplication twice as long for one product each, unless it writes large results with non-temporal stores.
FEW_STEPS, FEW_STEPS_FROM, FEW_STEPS_PAST_CACHES_FROM, FEW_STEPS_SHORTEST_ROW = 8, 1 << 15, 1 << 19, 64
# Sums of one product each: from here on BLAS takes 3 to 5 times as long as a multiplication.
OUTER_FROM = 1 << 10
# Products of integers: NumPy's own loops take 12 times as long for matrices of 100 rows and columns, 40 times for those of 500.
INTEGERS_FROM = 1 << 12
# Of more rows, and of steps fewer than so many for each row, it pays to turn the matrix.
SKINNY_MOST_ROWS, SKINNY_STEPS_OF_A_ROW = 12, 16
# Columns of contiguous rows; OpenBLAS takes 0.7 of the time for four.
BLOCKED_FEWEST_COLUMNS = 5
# Elements of a stack of small matrices, and multiply-adds of one for which OpenBLAS is called on all threads: 8 matrices of 64x64
# take 0.8 of the time, 128 products of 128x64 and 64x128, attention by hand, 0.3.
STACKS_FROM, STACKS_WORK = 1 << 10, 1 << 21
# The same for complex numbers, of which a multiply-add is four: 64 products of 16x16 take 0.6 of the time.
STACKS_COMPLEX_WORK = 1 << 18
# Matrices of a stack for each thread, from which on none is cut into tiles.
STACKS_MATRICES_OF_A_THREAD = 4
# Elements of a complex matrix from which on OpenBLAS uses threads for its product with a vector: 2.4 us become 8 ms where another
# process has one of the cores.
COMPLEX_VECTORS_FROM = 1 << 12
# Most multiply-adds of a matrix, and fewest matrices: 512 of 16x16 take 0.7 of NumPy's time, and 0.35 of it if the right ones
# are transposed.
BATCHED_SMALL_MOST_WORK, BATCHED_SMALL_LEAST_COUNT = 1 << 12, 1 << 9
# The same with AVX-512, and the fewest multiply-adds of such a stack; a long sum one by one has larger errors than BLAS's. With
# AVX2, where sums and masks need more registers than there are, these blocks take twice the time of BLAS.
BATCHED_SMALL_MOST_LARGE_WORK, BATCHED_SMALL_LEAST_LARGE_COUNT, BATCHED_SMALL_MOST_DEPTH = 1 << 22, 4, 1 << 9
BATCHED_SMALL_LEAST_STACK, BATCHED_SMALL_LEAST_TURNED_STACK = 1 << 20, 1 << 19
# The share of the lanes that has columns of the result, below which BLAS is faster, unless matrices are turned: of 33 or 49.
BATCHED_SMALL_LEAST_FILLED = 0.85
