"""What makes a configured server this one and no other: names its stored tools and approvals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .server_config import ServerConfig
from .text import redaction


def identity(raw: Mapping[str, Any], config: ServerConfig) -> str:
    """Describe the unexpanded entry without values of `env` and `headers`, userinfo and query."""
    kept: dict[str, Any] = {key: raw[key] for key in ("command", "args", "cwd", "transport") if key in raw}
    kept |= {key: sorted(map(str, raw[key])) for key in ("env", "headers") if raw.get(key)}
    kept["url"] = redaction.public_url(str(raw.get("url", "")))
    return json.dumps([config.name, kept, config.cwd], sort_keys=True, default=str)
