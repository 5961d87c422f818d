"""Facts: every number of an edition, as plain arithmetic over samples."""
