"""Shapes, views, joining, splitting, order of elements."""
