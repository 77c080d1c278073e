"""Tests that need a GPU; `pytest -m gpu tests/gpu` on a machine that has one."""
