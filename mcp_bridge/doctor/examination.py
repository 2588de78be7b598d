"""One server, taken step by step from its entry to a round trip."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping
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
from .casebook import CASEBOOK
from .cause import Case, case_of, case_of_list
from .local_advice import CONTAINER
from .steps import Diagnosis, Step, StepName
from .words import Words

logger = logging.getLogger(__name__)

PING_SECONDS = 5.0
"""How long a round trip may take; calls may take longer, so that going without is no failure."""
TEXT_CHARS = 600
"""Longest detail or hint."""


class Failed(Exception):
    """The examination ends here; the failing step has been noted."""


class Examination:
    """Examines one server. `listing` are its tools once they are known, what a model may see of them."""

    def __init__(self, config: ServerConfig, shared: SharedResources, words: Words, objection: str) -> None:
        self.config = config
        self.listing: Listing | None = None
        self._shared = shared
        self._words = words
        self._objection = objection
        self._steps: list[Step] = []
        self._ping: Step | None = None
        self._connection: Session | None = None
        self._route = Route(config, shared)
        self._pool = SessionPool(config, self._connect)

    @property
    def well(self) -> bool:
        """Whether all steps so far went well."""
        return all(step.ok for step in self._steps)

    def diagnosis(self) -> Diagnosis:
        """Return the steps; the round trip comes last, though it is made while the session is open."""
        last = (self._ping,) if self._ping is not None and self.well else ()
        return Diagnosis(self.config.name, (*self._steps, *last))

    def passed(self, step: StepName, detail: str, hint: str = "") -> None:
        """Note a step that went well."""
        self._steps.append(self._step(step, True, detail, hint))

    def failed(self, step: StepName, advice: str, **values: object) -> None:
        """Note the step that failed, with cause and fix of a case of `CASEBOOK`."""
        self._steps.append(self._step(step, False, *CASEBOOK[advice].told(self._words, values)))

    async def run(self) -> None:
        """Take all steps that concern this server alone; raises nothing that is foreseeable."""
        try:
            self._read_entry()
            if self.config.enabled:
                await asyncio.to_thread(self._find)
                await self._talk()
        except Failed:
            pass
        except Exception as error:  # a fault of ours must cost this server alone
            logger.debug("the examination of '%s' failed", self.config.name, exc_info=True)
            self.failed("handshake", "other", message=f"{type(error).__name__}: {error}")
        finally:
            await self._pool.close()

    def _read_entry(self) -> None:
        config, words = self.config, self._words
        if not config.enabled:
            self.passed("config", words("disabled"), self._objection)
            return
        mistake = config.mistake
        notices = [self._objection, *(words("notice", message=warning) for warning in config.warnings)]
        if mistake is not None and mistake.kind != "variable":
            case = Case("config", "target" if mistake.kind == "target" else "entry")
            self._fail_by(case, ServerUnavailable(mistake.text), *notices)
        self.passed("config", words("config"), words.together(notices))
        if mistake is not None:
            self._fail("variables", "variable", message=mistake.text, name=mistake.variable)
        if not config.variables:
            self.passed("variables", words("variables.none"))
            return
        given = [name for name in config.variables if name in os.environ]
        defaulted = [name for name in config.variables if name not in os.environ]
        empty = [name for name in given if not os.environ[name]]
        told = [words("variables.set", names=words.some(given))] if given else []
        told += [words("variables.default", names=words.some(defaulted))] if defaulted else []
        hint = words("variables.empty", names=words.some(empty)) if empty else ""
        self.passed("variables", words.together(told), hint)

    def _find(self) -> None:
        """Find the program, or tell the address and the proxy before it."""
        words = self._words
        if self.config.transport != "stdio":
            url, proxy = public_url(self.config.url), proxy_for(self.config.url)
            told = words("address.proxy", url=url, proxy=public_url(proxy)) if proxy else words("address", url=url)
            self.passed("address", told)
            return
        try:
            launch = plan_launch(self.config)
        except ServerUnavailable as error:
            self._fail_by(case_of(error, self.config, SideOutput()), error)
        searched = not os.path.dirname(self.config.command)
        if searched and (others := same_named(launch.program, launch.env)):
            told = words("program.others", program=launch.program, others=words.some(others))
        else:
            told = words("program", program=launch.program)
        self.passed("program", told)

    async def _talk(self) -> None:
        """Start the server, list its tools, measure a round trip, all within its own time limits."""
        if not self.config.uses_launcher:
            await self._open(self.config.connect_timeout)
            return
        # Several first downloads by one launcher at once get in each other's way.
        async with self._shared.first_starts[os.path.basename(self.config.command)]:
            await self._open(self.config.start_limit)

    async def _open(self, seconds: float) -> None:
        began = time.monotonic()
        try:
            connection = await self._pool.open(seconds)
        except BridgeError as error:
            self._fail_by(case_of(error, self.config, self._side_output), error)
        self._tell_handshake(connection, time.monotonic() - began)
        await self._list(connection, began + seconds - time.monotonic(), seconds)
        await self._measure(connection)

    def _tell_handshake(self, connection: Session, seconds: float) -> None:
        words, agreement = self._words, connection.initialize_result
        if self.config.transport == "stdio":
            self.passed("start", words("start"))
        else:
            self.passed("connect", words("connect"))
        info: Mapping[str, object] = agreement.server_info if agreement else {}
        server = " ".join(str(info[key]) for key in ("name", "version") if info.get(key)) or words("unnamed")
        protocol = agreement.protocol_version if agreement else ""
        told = words(
            "handshake", server=truncate(server, 100), protocol=protocol, seconds=f"{seconds:.2f}", sdk=version("mcp")
        )
        noise = self._side_output.stdout
        self.passed("handshake", told, words("handshake.noise", line=noise[-1]) if noise else "")

    async def _list(self, connection: Session, seconds: float, limit: float) -> None:
        loop, began = asyncio.get_running_loop(), time.monotonic()
        try:
            listing = await list_tools(connection, max(seconds, 0.001), loop.time, limit=limit)
        except BridgeError as error:
            self._fail_by(case_of_list(error, self.config, self._side_output), error)
        agreement = connection.initialize_result
        if not listing.tools and agreement is not None and not agreement.offers_tools:
            self._fail("tools", "no_tools.announced")
        if not listing.tools and listing.problems:
            self._fail("tools", "no_tools.unusable", message=listing.problems[0])
        if not listing.tools:
            self._fail("tools", "no_tools")
        told = self._words("tools", count=len(listing.tools), seconds=f"{time.monotonic() - began:.2f}")
        problem = self._words("notice", message=listing.problems[0]) if listing.problems else ""
        self.passed("tools", told, problem)
        self.listing = masked(listing, self._shared.redact)

    async def _measure(self, connection: Session) -> None:
        """Make a round trip that changes nothing: even an error in answer to a ping is one."""
        limit = min(PING_SECONDS, self.config.connect_timeout)
        began = time.monotonic()
        try:
            with contextlib.suppress(RpcError):
                await connection.request("ping", {}, limit)
        except CallTimeout:
            hint = self._words("ping.silent.hint", name=f"{server_prefix(self.config.name)}…")
            self._ping = self._step("ping", True, self._words("ping.silent", seconds=f"{limit:g}"), hint)
        except BridgeError as error:
            case = case_of_list(error, self.config, self._side_output)
            self._ping = self._failing(Case("ping", case.advice, case.values, case.line), error)
        else:
            milliseconds = f"{(time.monotonic() - began) * 1000:.1f}"
            self._ping = self._step("ping", True, self._words("ping", milliseconds=milliseconds))

    @property
    def _side_output(self) -> SideOutput:
        return self._connection.side_output if self._connection is not None else SideOutput()

    def _connect(self) -> Session:
        self._connection = Session(self.config, self._route, self._shared.redact)
        return self._connection

    def _fail(self, step: StepName, advice: str, **values: object) -> NoReturn:
        self.failed(step, advice, **values)
        raise Failed

    def _fail_by(self, case: Case, error: BridgeError, *notices: str) -> NoReturn:
        self._steps += [*self._before(case.step), self._failing(case, error, *notices)]
        raise Failed

    def _before(self, step: StepName) -> list[Step]:
        """Return the step that went well when its handshake did not."""
        if step != "handshake":
            return []
        local = self.config.transport == "stdio"
        return [self._step("start", True, self._words("start"))] if local else []

    def _failing(self, case: Case, error: BridgeError, *notices: str) -> Step:
        message = error.message
        if case.line and case.line not in message:
            message = self._words("said", message=message, line=case.line)
        cause, fix = CASEBOOK[case.advice].told(self._words, {**case.values, "message": message})
        if case.step == "program" and case.advice.startswith("program") and in_container():
            notices = (*notices, CONTAINER.told(self._words, {})[1])
        return self._step(case.step, False, cause, self._words.together((fix, *notices)))

    def _step(self, step: StepName, ok: bool, detail: str, hint: str = "") -> Step:
        return Step(step, ok, self._fit(detail), self._fit(hint))

    def _fit(self, text: str) -> str:
        """Return a text fit to be shown: one line, no secret, not too long."""
        return truncate(self._shared.redact(clean_label(text)), TEXT_CHARS)


def in_container() -> bool:
    """Tell whether this process runs in a container, as Docker, Podman and Kubernetes mark it."""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return any(mark.exists() for mark in marks) or "KUBERNETES_SERVICE_HOST" in os.environ
