"""The REST operations, one file per family; `operations.ALL` is the whole list."""
