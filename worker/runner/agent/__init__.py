"""The conversation with the model: it proposes, trusted code in here answers and decides."""
