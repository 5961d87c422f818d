"""What changed between two runs: samples, versions, and the claims of the article."""
