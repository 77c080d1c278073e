"""Before and after a run: hazards of a launch, and changes to mend it."""
