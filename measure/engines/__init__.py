"""Engines that several measurements use, each started with the same settings wherever it runs."""
