"""A user asks the bot something, and the bot answers with the help of a tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .chat import RealChat
from .scripted_llm import Reply, ScriptedLLM, ToolCall, offered_tools, text_of, tool_results

ADD = "mcp_calculator_add"


class Calculating:
    """A model that adds with the tool, replies with what the tool said, and then rests.

    MaiBot asks it in two roles: as planner, with tools, of which `reply` starts an answer; and as
    replyer, without tools, for the text of that answer. Whatever else the bot asks gets a short text.
    """

    def __init__(self) -> None:
        """Begin with nothing calculated."""
        self.sum = ""
        self.replied = False

    def __call__(self, request: dict[str, Any]) -> Reply:
        """Answer one request."""
        tools = offered_tools(request)
        if "reply" not in tools:
            return Reply(f"5加3等于{self.sum}")
        if self.replied:
            return Reply(calls=(ToolCall("stop", {}),))
        if results := tool_results(request, ADD):
            self.sum = results[-1].strip()
            self.replied = True
            reply = {"msg_id": asked_in(request), "reply_reference": self.sum}
            return Reply(calls=(ToolCall("reply", reply),))
        if ADD in tools:
            return Reply(calls=(ToolCall(ADD, {"a": 5, "b": 3}),))
        # The bot reads what is typed before every server has started: look again a little later.
        return Reply(calls=(ToolCall("wait", {"seconds": 1}),))


def asked_in(request: dict[str, Any]) -> str:
    """Return the id of the newest chat message a planner is shown."""
    shown = "\n".join(text_of(message) for message in request["messages"])
    return str(re.findall(r'<message msg_id="(\w+)"', shown)[-1])


def test_5加3等于几_is_answered_with_the_number_from_the_calculator(
    blank_instance: Callable[[], Path], calculator: str
) -> None:
    """The model is offered the tool, calls it, and the user reads the result."""
    with ScriptedLLM(Calculating()) as llm, RealChat(blank_instance(), calculator, llm.base_url) as chat:
        typed = chat.type("5加3等于几")
        answer = chat.wait_for_text("5加3等于8", after=typed)

        assert re.search(r"│\s*5加3等于8(\.0)?\s*│", answer), "the answer is not in the bot's message box"
        assert llm.failures == []
        offered = [tools[ADD] for tools in map(offered_tools, llm.requests) if ADD in tools]
        schema = offered[0]["parameters"]
        assert schema["type"] == "object"
        assert set(schema["properties"]) == {"a", "b"}
