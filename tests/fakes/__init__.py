"""Measurements that measure nothing, to test what carries measurements out."""
