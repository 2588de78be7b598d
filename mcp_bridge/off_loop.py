"""Work that takes too long for a loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")


async def off_loop(function: Callable[_Taken, _Given], *args: _Taken.args, **kwargs: _Taken.kwargs) -> _Given:
    """Run a function on a thread of the loop, or here if the system gives us no thread.

    Better a short halt than a session lost. It must be safe to run it twice: a pool that could not
    start a thread keeps the work for the next that is free.
    """
    try:
        return await asyncio.to_thread(function, *args, **kwargs)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        return function(*args, **kwargs)
