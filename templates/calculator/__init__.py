"""The calculator: the article's formulas over a machine and a model that a reader chooses, evaluated in the page."""
