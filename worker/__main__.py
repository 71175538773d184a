"""One process, one role: `python -m worker desk|runner|sandbox`, or an operator's command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

from app.domain.errors import Halt, Stop, Unwelcome
from worker import logs
from worker.settings.door import Door, SettingsError
from worker.settings.environment import environment

# Imported only when asked for: each role loads its own libraries and nobody else's.
ROLES: dict[str, str] = {
    "desk": "worker.desk.role",
    "runner": "worker.runner.wiring",
    "sandbox": "worker.sandbox.wiring",
}
COMMANDS: dict[str, str] = {
    "pause": "worker.cli.pause",
    "resume": "worker.cli.resume",
    "cancel": "worker.cli.cancel",
    "status": "worker.cli.status",
    "watch": "worker.cli.watch",
    "key": "worker.cli.key",
    "evidence": "worker.cli.evidence",
    "replay": "worker.runner.replaying",
    "check": "worker.local.check",
    "parse": "worker.local.parse",
    "verify": "worker.local.verify",
    "config": "worker.cli.config",
    "register": "worker.cli.register",
    "doctor": "worker.desk.doctor",
    "selftest": "worker.sandbox.proving",
}


def main(arguments: list[str]) -> int:
    """Exit code: 0 done, 1 failed, 2 wrong words or settings."""
    logs.configure()
    word = arguments[0] if arguments else ""
    module = ROLES.get(word) or COMMANDS.get(word)
    if module is None:
        known = ", ".join([*ROLES, *COMMANDS])
        sys.stderr.write(f"patchwarrant: {word!r} is no command; known are {known}\n")
        return 2
    run: Callable[[Door, list[str]], int] = import_module(module).main
    try:
        return run(Door(environment()), arguments[1:])
    except SettingsError as error:
        sys.stderr.write(f"patchwarrant {word}: {error}\n")
        return 2
    except Halt as halt:
        sys.stderr.write(f"patchwarrant {word}: {halt.record.message} {halt.record.next_step}\n")
        return 2
    except Unwelcome as refused:
        sys.stderr.write(f"patchwarrant {word}: {refused}\n")
        return 2
    except Stop as stop:
        sys.stderr.write(f"patchwarrant {word}: {stop}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
