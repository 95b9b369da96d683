"""Losses with their gradients."""
