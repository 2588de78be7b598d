"""The steps that concern one server alone: from its entry to a ping."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from ..config.server_config import ServerConfig
from ..errors import BridgeError, CallTimeout, RpcError, ServerUnavailable
from ..sessions.listing import list_tools
from ..sessions.pool import SessionPool
from ..sessions.session import Session
from ..text.cleaning import clean_label, truncate
from ..text.redaction import public_url
from ..tools.names import server_prefix
from ..tools.tool import Listing, masked
from ..transport.channel import SideOutput
from ..transport.http.addresses import proxy_for
from ..transport.route import Route, SharedResources
from ..transport.stdio.launch import plan_launch, same_named
from .advice import ADVICE
from .cause import Failure, listing_failure, start_failure
from .steps import Diagnosis, Step, StepName
from .texts import DoctorTexts

logger = logging.getLogger(__name__)

PING_SECONDS = 5.0
"""Longest wait for the answer to a ping. Calls may take longer, so no answer is not a failure."""
TEXT_CHARS = 600
"""Longest detail or hint."""


class Failed(Exception):
    """Ends the examination; the failing step has been added."""


class Examination:
    """Examines one server. `listing` holds its tools once they are known, secrets masked."""

    def __init__(self, config: ServerConfig, shared: SharedResources, texts: DoctorTexts, objection: str) -> None:
        self.config = config
        self.listing: Listing | None = None
        self._shared = shared
        self._texts = texts
        self._objection = objection
        self._steps: list[Step] = []
        self._ping: Step | None = None
        self._session: Session | None = None
        self._route = Route(config, shared)
        self._pool = SessionPool(config, self._connect)

    @property
    def ok(self) -> bool:
        """Whether no step has failed so far."""
        return all(step.ok for step in self._steps)

    def diagnosis(self) -> Diagnosis:
        """Return the steps; the ping comes last, although it is sent while the session is open."""
        last = (self._ping,) if self._ping is not None and self.ok else ()
        return Diagnosis(self.config.name, (*self._steps, *last))

    def passed(self, step: StepName, detail: str, hint: str = "") -> None:
        """Add a step that went well."""
        self._steps.append(self._step(step, True, detail, hint))

    def failed(self, step: StepName, advice: str, **values: object) -> None:
        """Add a step that failed, with cause and fix from `ADVICE`."""
        self._steps.append(self._step(step, False, *ADVICE[advice].filled(self._texts, values)))

    async def run(self) -> None:
        """Take all steps that concern this server alone. A failing step ends them; nothing is raised."""
        try:
            self._check_entry()
            if self.config.enabled:
                self._check_variables()
                await asyncio.to_thread(self._check_target)
                await self._check_session()
        except Failed:
            pass
        except Exception as error:  # a bug of ours must not affect the other servers
            logger.debug("the examination of '%s' failed", self.config.name, exc_info=True)
            self.failed("handshake", "other", message=f"{type(error).__name__}: {error}")
        finally:
            await self._pool.close()

    def _check_entry(self) -> None:
        config, texts, mistake = self.config, self._texts, self.config.mistake
        if not config.enabled:
            self.passed("config", texts("disabled"), self._objection)
            return
        notices = [self._objection, *(texts("notice", message=warning) for warning in config.warnings)]
        if mistake is not None and mistake.kind != "variable":
            failure = Failure("config", "target" if mistake.kind == "target" else "entry")
            self._fail_by(failure, ServerUnavailable(mistake.text), *notices)
        self.passed("config", texts("config"), texts.joined(notices))

    def _check_variables(self) -> None:
        config, texts = self.config, self._texts
        if (mistake := config.mistake) is not None:  # about a variable: all others fail the entry
            self._fail("variables", "variable", message=mistake.text, name=mistake.variable)
        if not config.variables:
            self.passed("variables", texts("variables.none"))
            return
        given = [name for name in config.variables if name in os.environ]
        defaulted = [name for name in config.variables if name not in os.environ]
        empty = [name for name in given if not os.environ[name]]
        details = [texts("variables.set", names=texts.some(given))] if given else []
        details += [texts("variables.default", names=texts.some(defaulted))] if defaulted else []
        hint = texts("variables.empty", names=texts.some(empty)) if empty else ""
        self.passed("variables", texts.joined(details), hint)

    def _check_target(self) -> None:
        """Find the program of a local server, or show the address of a remote one and the proxy to it."""
        texts = self._texts
        if self.config.transport != "stdio":
            url, proxy = public_url(self.config.url), proxy_for(self.config.url)
            if proxy:
                self.passed("address", texts("address.proxy", url=url, proxy=public_url(proxy)))
            else:
                self.passed("address", texts("address", url=url))
            return
        try:
            launch = plan_launch(self.config)
        except ServerUnavailable as error:
            self._fail_by(start_failure(error, self.config, SideOutput()), error)
        searched = not os.path.dirname(self.config.command)
        if searched and (others := same_named(launch.program, launch.env)):
            self.passed("program", texts("program.others", program=launch.program, others=texts.some(others)))
        else:
            self.passed("program", texts("program", program=launch.program))

    async def _check_session(self) -> None:
        """Start the server, list its tools and ping it, within its own time limits."""
        if not self.config.uses_launcher:
            await self._open(self.config.connect_timeout)
            return
        # One first start per launcher at a time: concurrent downloads by npx or uvx disturb each other.
        async with self._shared.first_starts[os.path.basename(self.config.command)]:
            await self._open(self.config.start_limit)

    async def _open(self, seconds: float) -> None:
        began = time.monotonic()
        try:
            session = await self._pool.open(seconds)
        except BridgeError as error:
            self._fail_by(start_failure(error, self.config, self._output), error)
        self._add_initialized(session, time.monotonic() - began)
        await self._list(session, began + seconds - time.monotonic(), seconds)
        await self._send_ping(session)

    def _add_initialized(self, session: Session, seconds: float) -> None:
        texts, result = self._texts, session.initialize_result
        if self.config.transport == "stdio":
            self.passed("start", texts("start"))
        else:
            self.passed("connect", texts("connect"))
        info: Mapping[str, object] = result.server_info if result else {}
        server = " ".join(str(info[key]) for key in ("name", "version") if info.get(key)) or texts("unnamed")
        detail = texts(
            "handshake",
            server=truncate(server, 100),
            protocol=result.protocol_version if result else "",
            seconds=f"{seconds:.2f}",
            sdk=version("mcp"),
        )
        noise = self._output.stdout
        self.passed("handshake", detail, texts("handshake.noise", line=noise[-1]) if noise else "")

    async def _list(self, session: Session, seconds: float, limit: float) -> None:
        loop, began = asyncio.get_running_loop(), time.monotonic()
        try:
            listing = await list_tools(session, max(seconds, 0.001), loop.time, limit=limit)
        except BridgeError as error:
            self._fail_by(listing_failure(error, self.config, self._output), error)
        result = session.initialize_result
        if not listing.tools and result is not None and not result.offers_tools:
            self._fail("tools", "no_tools.announced")
        if not listing.tools and listing.problems:
            self._fail("tools", "no_tools.unusable", message=listing.problems[0])
        if not listing.tools:
            self._fail("tools", "no_tools")
        detail = self._texts("tools", count=len(listing.tools), seconds=f"{time.monotonic() - began:.2f}")
        problem = self._texts("notice", message=listing.problems[0]) if listing.problems else ""
        self.passed("tools", detail, problem)
        self.listing = masked(listing, self._shared.redact)

    async def _send_ping(self, session: Session) -> None:
        """Measure a round trip with `ping`; an error response counts as an answer."""
        limit = min(PING_SECONDS, self.config.connect_timeout)
        began = time.monotonic()
        try:
            with contextlib.suppress(RpcError):
                await session.request("ping", {}, limit)
        except CallTimeout:
            hint = self._texts("ping.silent.hint", name=f"{server_prefix(self.config.name)}…")
            self._ping = self._step("ping", True, self._texts("ping.silent", seconds=f"{limit:g}"), hint)
        except BridgeError as error:
            failure = listing_failure(error, self.config, self._output)
            self._ping = self._failing(replace(failure, step="ping"), error)
        else:
            milliseconds = f"{(time.monotonic() - began) * 1000:.1f}"
            self._ping = self._step("ping", True, self._texts("ping", milliseconds=milliseconds))

    @property
    def _output(self) -> SideOutput:
        return self._session.side_output if self._session is not None else SideOutput()

    def _connect(self) -> Session:
        self._session = Session(self.config, self._route, self._shared.redact)
        return self._session

    def _fail(self, step: StepName, advice: str, **values: object) -> NoReturn:
        self.failed(step, advice, **values)
        raise Failed

    def _fail_by(self, failure: Failure, error: BridgeError, *notices: str) -> NoReturn:
        if failure.step == "handshake" and self.config.transport == "stdio":
            self.passed("start", self._texts("start"))  # the process runs, or initialize could not have failed
        self._steps.append(self._failing(failure, error, *notices))
        raise Failed

    def _failing(self, failure: Failure, error: BridgeError, *notices: str) -> Step:
        message = error.message
        if failure.line and failure.line not in message:
            message = self._texts("with_output", message=message, line=failure.line)
        cause, fix = ADVICE[failure.advice].filled(self._texts, {**failure.values, "message": message})
        if failure.step == "program" and failure.advice.startswith("program") and in_container():
            notices = (*notices, self._texts("program.container"))
        return self._step(failure.step, False, cause, self._texts.joined((fix, *notices)))

    def _step(self, step: StepName, ok: bool, detail: str, hint: str = "") -> Step:
        return Step(step, ok, self._shown(detail), self._shown(hint))

    def _shown(self, text: str) -> str:
        """Return a text as it may be shown: one line, secrets masked, at most `TEXT_CHARS`."""
        return truncate(self._shared.redact(clean_label(text)), TEXT_CHARS)


def in_container() -> bool:
    """Return whether this process runs in a container of Docker, Podman or Kubernetes."""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return any(mark.exists() for mark in marks) or "KUBERNETES_SERVICE_HOST" in os.environ
