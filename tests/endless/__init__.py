"""A measurement that never ends, to be killed while it measures and saves."""
