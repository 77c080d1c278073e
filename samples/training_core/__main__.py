"""`python -m training_core`, with `samples/` on the path."""

from training_core.train import main

if __name__ == "__main__":
    raise SystemExit(main())
