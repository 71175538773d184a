x: int = "a"
y: str = 3  # type: ignore
print(z)
