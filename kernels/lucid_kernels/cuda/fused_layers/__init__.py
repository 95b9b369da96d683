"""Layers that one kernel computes."""
