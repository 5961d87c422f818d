"""Measure this machine: hardware in, results.json out."""
