"""All that is known to go wrong, by the name of the case."""

from __future__ import annotations

from collections.abc import Mapping

from .advice import Advice
from .local_advice import LOCAL
from .protocol_advice import PROTOCOL
from .remote_advice import REMOTE

CASEBOOK: Mapping[str, Advice] = {**LOCAL, **REMOTE, **PROTOCOL}
