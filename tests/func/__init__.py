"""Tests of lucid.func."""
