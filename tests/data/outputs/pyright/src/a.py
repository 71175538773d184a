import os


def size(x: str | None) -> int:
    return x.upper()


size(3)
print(os.nothing)
