"""The model's tools, each a function of the bench and its checked arguments."""
