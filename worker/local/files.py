"""A file that a person named: its bytes, or one sentence that says why there are none."""

from __future__ import annotations

from pathlib import Path


class Unreadable(ValueError):
    """The file cannot be read; the text says which, why, and what to do."""


def read_file(path: Path, what: str, cure: str, most: int = -1) -> bytes:
    """The file's bytes, at most `most` (-1: all). `what` is what it should hold ("bundle"), `cure`
    says where such a file comes from, as a clause. Raises `Unreadable`."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except FileNotFoundError:
        raise Unreadable(f"There is no {what} {path}: {cure}.") from None
    except IsADirectoryError:
        raise Unreadable(f"{path} is a folder, not a {what}: name the file in it.") from None
    except PermissionError:
        raise Unreadable(f"This user may not read the {what} {path}: see to its mode.") from None
    except OSError as error:
        raise Unreadable(f"The {what} {path} cannot be read ({error.strerror}): {cure}.") from None
