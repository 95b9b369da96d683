"""Decompositions, systems and products of vectors."""
