"""The adapter to the model's provider, and what its models cost."""
