"""Measuring the machines of a Ray cluster, each into a run of its own."""
