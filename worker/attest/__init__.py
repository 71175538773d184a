"""Evidence as signed statements: made and signed by the desk, verified by anyone."""
