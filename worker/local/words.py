"""The words of a person's own commands: a parser that keeps its texts' lines, and named options."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter

FILE = "FILE"


def parser(word: str, description: str, epilog: str, usage: str | None = None) -> ArgumentParser:
    """The parser of `patchwarrant WORD`; `usage` where argparse's own would say too little."""
    prog = f"patchwarrant {word}"
    return ArgumentParser(
        prog=prog,
        usage=f"{prog} {usage}" if usage else None,
        description=description,
        epilog=epilog,
        formatter_class=RawDescriptionHelpFormatter,
    )


def option(parser: ArgumentParser, name: str, shown: str, what: str, default: str = "") -> None:
    """`--name SHOWN`, a text; `default` without it."""
    parser.add_argument(f"--{name}", default=default, metavar=shown, help=what)
