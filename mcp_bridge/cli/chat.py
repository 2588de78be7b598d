"""`mcp-bridge chat`: a small chat in the terminal with any OpenAI-compatible model.

The bridge runs in a thread of its own, so that it keeps working while `input` blocks.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..bridge.thread import BridgeThread
from ..config.bridge_config import BridgeConfig
from ..errors import BridgeError, ServerUnavailable
from ..hosts.openai import Answer, StreamedMessage, collect, converse
from ..text.cleaning import clean_label, clean_text, truncate
from ..text.redaction import Redactor
from ..transport.http.failure import is_loopback
from .options import UsageError
from .report import Report

if TYPE_CHECKING:
    from openai import AsyncOpenAI

KEY_VARIABLE = "OPENAI_API_KEY"
NO_KEY = "none"
"""Sent if no key is configured: the client requires one, and local model servers accept any."""
ANSWER_SECONDS = 180.0
"""Longest wait for the next piece of the model's answer; a small machine is slow to begin."""
CONNECT_SECONDS = 15.0
START_SECONDS = 330.0
"""Longest wait for the servers before the turn of `--once`; their own limits are shorter."""
FIRST_PROMPT_SECONDS = 5.0
"""Longest wait for the servers before the first question can be typed."""
CLOSE_SECONDS = 15.0
SHOWN_CHARS = 200
"""Longest part of a call, and of its result, that is shown."""
SHOWN_MODELS = 5


def run(options: argparse.Namespace, config: BridgeConfig, report: Report) -> int:
    """Run the chat; return the exit status. Raises `BridgeError` if the model cannot be used."""
    if report.as_json and options.once is None:
        raise UsageError("--json needs --once TEXT")
    model = _Model(options, config)
    bridge = BridgeThread(config, data_dir=options.data_dir)
    bridge.start()
    try:
        with report.progress("starting servers"):
            bridge.wait_known(FIRST_PROMPT_SECONDS if options.once is None else START_SECONDS)
        conversation = _Conversation(bridge, model, report)
        if options.once is not None:
            report.turn(conversation.turn(options.once), conversation.answers)
            return 0
        report.say(f"{model.name()}, {len(bridge.tools())} tools. An empty line or Ctrl-D ends the chat.")
        _read_questions(conversation, report)
    finally:
        bridge.close_soon()
        bridge.join(CLOSE_SECONDS)
    return 0


def _read_questions(conversation: _Conversation, report: Report) -> None:
    """Read questions until an empty line; a turn that fails is reported, and the chat goes on."""
    while True:
        try:
            text = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if not text:
            return
        try:
            conversation.turn(text)
        except BridgeError as error:
            report.error(error)
        except KeyboardInterrupt:
            report.say("(interrupted)")


class _Conversation:
    """The messages so far. A turn that fails leaves them unchanged; `answers` are the tool calls of the last turn."""

    def __init__(self, bridge: BridgeThread, model: _Model, report: Report) -> None:
        self._bridge = bridge
        self._model = model
        self._report = report
        self._messages: list[dict[str, Any]] = []
        self.answers: list[Answer] = []

    def turn(self, text: str) -> str:
        """Ask the model, run its tool calls, and show both; return its final text."""
        self.answers = []
        messages = [*self._messages, {"role": "user", "content": text}]
        answer = asyncio.run(self._turn(messages))
        self._messages = messages
        if not answer:
            self._report.say("(the model returned no text)")
        return answer

    async def _turn(self, messages: list[dict[str, Any]]) -> str:
        async with self._model.connect() as client:

            async def ask(request: dict[str, Any]) -> StreamedMessage:
                return await self._model.ask(client, request, self._report)

            return await converse(self._bridge, ask, messages, on_answer=self._show)

    def _show(self, answer: Answer) -> None:
        self.answers.append(answer)
        call = truncate(clean_label(f"{answer.call.name}({answer.call.arguments})"), SHOWN_CHARS)
        mark = "failed:" if answer.is_error else "->"
        shown = truncate(clean_label(answer.text), SHOWN_CHARS)
        self._report.say(f"  [{answer.seconds:.2f} s] {call} {mark} {shown}")


class _Model:
    """The model and its API. Its failures are raised as `BridgeError` with secrets masked."""

    def __init__(self, options: argparse.Namespace, config: BridgeConfig) -> None:
        try:
            import openai  # noqa: F401
        except ImportError:
            raise UsageError("the chat needs the package openai: pip install openai") from None
        variable = options.api_key_env or KEY_VARIABLE
        key = os.environ.get(variable, "").strip()
        if not key and (options.api_key_env or not options.base_url):
            raise UsageError(f"no key for the model: set the environment variable {variable}")
        self._key = key or NO_KEY
        self._base_url: str | None = options.base_url
        self._stream: bool = options.stream
        self._name: str | None = options.model
        self._redact = Redactor([*config.secrets, key])

    def name(self) -> str:
        """Return the name of the model: as given, else the only one that the API has."""
        if self._name is None:
            self._name = asyncio.run(self._only_model())
        return self._name

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncOpenAI]:
        """Open a client for one turn: each turn has an event loop of its own."""
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        limits = Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        own_machine = is_loopback(urlsplit(self._base_url or "").hostname or "")
        # A proxy from the environment cannot reach the loopback address of this machine.
        http = DefaultAsyncHttpxClient(timeout=limits, trust_env=not own_machine)
        async with AsyncOpenAI(api_key=self._key, base_url=self._base_url, http_client=http) as client:
            yield client

    async def ask(self, client: AsyncOpenAI, request: dict[str, Any], report: Report) -> StreamedMessage:
        """Send a request and show the text of the answer as it arrives."""
        create: Any = client.chat.completions.create  # typed for literals only
        with self._readable_errors():
            name = self._name or await self._choose(client)
            if self._stream:
                message = await collect(await create(model=name, stream=True, **request), report.piece)
                if message.content:
                    report.say()
                if message.content or message.calls:
                    return message
            # A gateway without streaming answers a streamed request with nothing.
            completion = await create(model=name, **request)
        message = StreamedMessage()
        for choice in (getattr(completion, "choices", None) or ())[:1]:
            report.say(clean_text(message.add(choice.message)))
        return message

    async def _only_model(self) -> str:
        async with self.connect() as client:
            with self._readable_errors():
                return await self._choose(client)

    async def _choose(self, client: AsyncOpenAI) -> str:
        names = [model.id async for model in client.models.list()]
        if len(names) != 1:
            some = ", ".join(map(clean_label, names[:SHOWN_MODELS]))
            raise UsageError(f"name the model with --model; the API has {some or 'none'}")
        self._name = names[0]
        return names[0]

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Raise `BridgeError` of one line for whatever the client raises."""
        import openai

        where = self._redact(self._base_url or "the default address of openai")
        try:
            yield
        except openai.APIStatusError as error:
            text = f"the model's server at {where} answered {error.status_code}: {self._shown(error)}"
            if error.status_code < 500 and error.status_code not in (408, 429):
                raise UsageError(text) from None
            raise ServerUnavailable(text) from None
        except openai.APITimeoutError:
            raise ServerUnavailable(f"the model's server at {where} did not answer in time") from None
        except openai.APIConnectionError as error:
            cause = self._shown(error.__cause__ or error)
            raise ServerUnavailable(f"the model's server at {where} cannot be reached: {cause}") from None
        except openai.OpenAIError as error:
            raise ServerUnavailable(f"the model's server at {where} failed: {self._shown(error)}") from None
        except (ValueError, TypeError, AttributeError) as error:  # the response is not a completion
            text = f"the model's server at {where} sent a response that cannot be read: {self._shown(error)}"
            raise ServerUnavailable(text) from None

    def _shown(self, error: BaseException) -> str:
        return truncate(clean_label(self._redact(str(error) or type(error).__name__)), SHOWN_CHARS)
