"""A report for each of its audiences: one file per format, none of which knows another."""
