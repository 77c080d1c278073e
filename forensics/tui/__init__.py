"""The browser: a run on a screen, its evidence beside the verdict. textual is imported here and nowhere else."""
