"""Pictures and sounds of a result, sent into the chat (`send_media = true`)."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Sequence
from typing import Any

from ..tools.result import Media

logger = logging.getLogger(__name__)

SEND_SECONDS = 20.0
"""How long the platform may take for one of them."""
MAX_SENT = 5
"""Most of one result: a chat is no gallery."""


async def send_media(send: Any, stream_id: str, media: Sequence[Media]) -> int:
    """Send what can be seen or heard through the host's `ctx.send`; return how many arrived."""
    wanted = [one for one in media if one.type in ("image", "audio")][:MAX_SENT]
    sent = 0
    for one in wanted if stream_id else ():
        data = base64.b64encode(one.data).decode("ascii")
        try:
            if one.type == "image":
                answer = await asyncio.wait_for(send.image(data, stream_id), SEND_SECONDS)
            else:
                answer = await asyncio.wait_for(send.custom("voice", data, stream_id), SEND_SECONDS)
        except Exception as error:  # whatever the platform's adapter raises, the model has its answer
            logger.warning("a result's %s could not be sent into the chat: %s", one.type, error or type(error).__name__)
            continue
        sent += answer is not False
    return sent
