"""The advice on every known failure, by its id."""

from __future__ import annotations

from collections.abc import Mapping

from .advice import Advice
from .local import LOCAL
from .protocol import PROTOCOL
from .remote import REMOTE

ADVICE: Mapping[str, Advice] = {**LOCAL, **REMOTE, **PROTOCOL}
