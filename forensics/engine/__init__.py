"""From evidence to findings: read, observe, match, explain, judge."""
