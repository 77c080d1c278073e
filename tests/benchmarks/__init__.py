"""What the program costs beside ripgrep with the same patterns: `make bench`."""
