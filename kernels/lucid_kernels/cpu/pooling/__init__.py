"""Pooling and its gradients; `pool2d` chooses the algorithm."""
