"""Log and crash forensics for training runs: a folder in, a verdict with evidence out."""

__version__ = "0.1.0"
