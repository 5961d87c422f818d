"""Render results.json into pages: facts, claims, charts and prose in three languages."""
