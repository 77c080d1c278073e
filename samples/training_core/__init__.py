"""A small DFlash-style drafter training core that fails on request, for real."""
