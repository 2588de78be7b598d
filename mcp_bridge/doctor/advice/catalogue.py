"""All that is known to go wrong, by the name of the case."""

from __future__ import annotations

from collections.abc import Mapping

from .advice import Advice
from .local import LOCAL
from .protocol import PROTOCOL
from .remote import REMOTE

CASEBOOK: Mapping[str, Advice] = {**LOCAL, **REMOTE, **PROTOCOL}
