"""Linear algebra, for stacks of matrices.

`matmul`: products of vectors and matrices.
`products`: products of several, `outer`, `kron`, `tensordot`.
`addmm`: a tensor plus a product.
`einsum`: Einstein's summation.
`bilinear`: bilinear forms.
`norm`, `vector_norms`, `matrix_norms`: norms, `dist`, `renorm`.
`distances`: `cdist`, `pdist`, cosine similarity.
`solve`: systems and inverses.
`triangular`: triangular systems and Cholesky factors.
`lu`: LU factorization and systems solved by it.
`ldl`: factors of symmetric matrices that are not definite, and systems solved by them.
`qr_svd`: QR and singular value decompositions.
`eig`: eigenvalues and eigenvectors.
`lobpcg`: some eigenvalues of large symmetric matrices.
`older_names`: norms and products that stand in PyTorch's own namespace only.
`lowrank`: the largest singular values by random projections.
`lstsq_pinv`: least squares, pseudoinverses, ranks.
`det`: determinants.
`matrix_exp`: the exponential.
`adjoint`: the conjugate transpose.
`matrices`: checks and reports that they share.
"""
