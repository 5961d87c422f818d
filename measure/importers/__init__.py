"""Readers of the files that other benchmarks write, one file a format; what they say is never guessed at."""
