"""Streaming recognition: Nemotron in NeMo's own classes, stepped, counted and scored."""
