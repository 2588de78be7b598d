"""Checks every result: that it answers this call, what its session has seen, and that a failure gives its cause."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from mcp_bridge.errors import BridgeError, CallTimeout, PermissionDenied, ServerUnavailable, ToolNotFound
from mcp_bridge.tools.result import ToolResult

from .fleet import Rules

KEPT_FAULTS = 50
KEPT_KINDS = 60
"""Most different texts that are kept: a run of days must not grow by its own counts."""
SHOWN_CHARS = 300
LEAST_CAUSE_CHARS = 8
TOKEN = re.compile(r"soak-[0-9a-f]+-\d+")
_ANSWERED = ("tell", "slow", "more", "help", "change")
_VAGUE = ("bridge is closed", "bridge is not running", "session was closed", "session is closed", "internal error")
"""Texts about our own internals, which must never reach a caller."""


@dataclass(frozen=True)
class Call:
    """One call as it was made; `rules` are those of the generation that took it."""

    server: str
    strategy: str
    tool: str
    chat: str
    token: str
    rules: Rules

    @property
    def refused_to(self) -> bool:
        """Whether the owner's rules refuse it."""
        private = ":private:" in self.chat
        return private and self.server in self.rules.closed

    @property
    def not_there(self) -> bool:
        """Whether the owner's rules hide the tool."""
        return (self.server, self.tool) in self.rules.denied


class Judge:
    """Counts the outcomes of calls, and collects faults."""

    def __init__(self, steady: Callable[[], bool] = lambda: True) -> None:
        self._steady = steady
        self.outcomes: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.faults: list[str] = []
        self.fault_count = 0
        self.not_judged = 0

    @property
    def calls(self) -> int:
        return sum(self.outcomes.values())

    def fault(self, text: str) -> None:
        """Record a fault."""
        self.fault_count += 1
        if len(self.faults) < KEPT_FAULTS:
            self.faults.append(text[:SHOWN_CHARS])

    def late(self, text: str) -> None:
        """Record a delay: a fault, unless the machine was too busy to judge."""
        if self._steady():
            self.fault(text)
        else:
            self.not_judged += 1

    def cancelled(self) -> None:
        self.outcomes["cancelled"] += 1

    def answered(self, call: Call, result: ToolResult) -> None:
        """Judge a result."""
        if call.refused_to or call.not_there or call.server in call.rules.disabled:
            self._blame(call, "was answered against the owner's rules", result.text)
        if foreign := set(TOKEN.findall(result.text)) - {call.token}:
            self._blame(call, f"got the answer to {foreign}", result.text)
        own = call.token in result.text
        if call.tool in ("fail", "refuse") and own:
            self.outcomes["error of the tool"] += 1
            if not result.is_error:
                self._blame(call, "took a failure for a success", result.text)
        elif result.is_error:
            self.outcomes["error of the tool" if own else "failure as a result"] += 1
            self._note(f"result: {result.text}")
            if not result.text.strip():
                self._blame(call, "failed without a word", result.text)
        else:
            self.outcomes["answered"] += 1
            self._check(call, result.text)

    def failed(self, call: Call, error: BaseException) -> None:
        """Judge an exception."""
        text = error.message if isinstance(error, BridgeError) else repr(error)
        self.outcomes[type(error).__name__] += 1
        self._note(f"{type(error).__name__}: {text}")
        match error:
            case PermissionDenied():
                if not call.refused_to:
                    self._blame(call, "was refused to a chat that may call it", text)
            case ToolNotFound():
                if call.tool != "more" and not call.not_there:
                    self._blame(call, "was reported as not existing", text)
            case CallTimeout() if call.tool == "die":
                self.late(f"{call.tool} of {call.server} waited for a server that was dead: {text}")
            case ServerUnavailable() | CallTimeout():
                self._check_cause(call, error, text)
            case _:
                self._blame(call, "raised something else than an error of ours", text)
        if isinstance(error, BridgeError) and (error.server != call.server or f"'{call.server}'" not in text):
            self._blame(call, "failed without the name of its server", text)
        if set(TOKEN.findall(text)) - {call.token}:
            self._blame(call, "failed with the words of another call", text)

    def _check_cause(self, call: Call, error: BridgeError, text: str) -> None:
        cause = text.rpartition(f"'{call.server}'")[2]
        if len(cause.strip(" :")) < LEAST_CAUSE_CHARS or any(words in text for words in _VAGUE):
            self._blame(call, "failed without a cause", text)

    def _check(self, call: Call, text: str) -> None:
        """Check the answer of a tool that succeeded."""
        if call.tool == "big":
            if not (text.startswith(f"{call.token} ") and text.endswith(f" {call.token}")):
                self._blame(call, "got another text than it asked for", text)
        elif call.tool not in _ANSWERED:
            self._blame(call, "was answered though its tool never answers", text)
        else:
            self._check_session(call, text)

    def _check_session(self, call: Call, text: str) -> None:
        try:
            answer = json.loads(text)
            token, calls, chats = answer["token"], answer["calls"], answer["chats"]
        except (ValueError, KeyError, TypeError):
            self._blame(call, "got something else than an answer", text)
            return
        if token != call.token:
            self._blame(call, "got no answer to its question", text)
        if call.strategy == "fresh" and calls != 1:
            self._blame(call, "got a session that another call had used", text)
        if call.strategy == "chat" and chats != [call.chat]:
            self._blame(call, "saw the state of another chat", text)

    def _note(self, text: str) -> None:
        """Count a text without what differs from one time to the next."""
        text = text.replace("\n", " ").partition("; near:")[0]
        kind = re.sub(r"\d+(\.\d+)*", "N", TOKEN.sub("TOKEN", text))
        kind = re.sub(r"'(fresh|shared|chat)_\w+'", "'S'", re.sub(r"tool '\w+'", "tool 'T'", kind))[:160]
        self.kinds[kind if kind in self.kinds or len(self.kinds) < KEPT_KINDS else "(others)"] += 1

    def _blame(self, call: Call, what: str, text: str) -> None:
        self.fault(f"{call.tool} of {call.server} for {call.chat} ({call.token}) {what}: {text}")
