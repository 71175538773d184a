"""Where things are, and how much there may be, when nobody says otherwise."""

from __future__ import annotations

API_URL = "https://api.github.com"
SERVER_URL = "https://github.com"
REDIS_URL = "redis://127.0.0.1:6379/0"
SANDBOX_SOCKET = "/run/patchwarrant/sandbox.sock"
STATE_FOLDER = "/var/lib/patchwarrant"
WORKERS = 256  # processes of one role at most
DAY = 86_400  # seconds
MIBS = 1 << 24  # 16 TiB
