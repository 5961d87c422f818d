"""The notebook: one code and three languages of prose, executed when what it reads changes, its outputs committed."""


class NotebookError(Exception):
    """The notebook cannot be executed; the message names the error and the cure."""
