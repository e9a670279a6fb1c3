"""The search over the candidate supports of a working set."""
