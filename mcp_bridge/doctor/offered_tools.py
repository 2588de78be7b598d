"""The steps `names` and `schemas`, which depend on all servers together: what the model will see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..bridge.offered_tools import OfferedTools
from ..config.bridge_config import BridgeConfig
from ..config.rules import is_offered, unmatched_rules
from ..config.server_config import ServerConfig
from ..store.approvals import Approvals
from ..store.catalogue import StoredCatalogues
from ..text.cleaning import clean_label
from ..tools.names import assign_names
from ..tools.tool import Listing
from .examination import Examination
from .texts import DoctorTexts


@dataclass(frozen=True)
class _KnownServer:
    """A server as `OfferedTools` takes it; `withheld` are names of tools that the owner has not accepted."""

    config: ServerConfig
    listing: Listing
    withheld: tuple[str, ...] = ()


class OfferSteps:
    """Adds names and schemas to examinations, computed over all servers: stored tools stand in for missing ones."""

    def __init__(
        self, config: BridgeConfig, examinations: Sequence[Examination], data_dir: Path, texts: DoctorTexts
    ) -> None:
        stored, approvals = StoredCatalogues(data_dir), Approvals(data_dir)
        known = [_known(one, stored, approvals) for one in examinations]
        self._texts = texts
        self._max_tools = config.max_tools
        self._withheld = {one.config.name: one.withheld for one in known}
        self._names = assign_names([tool for one in known for tool in one.listing.tools])
        self._offered = OfferedTools(config)
        self._offered.rebuild(known)

    def add_to(self, examination: Examination) -> None:
        """Add the steps `names` and `schemas` to an examination that has found tools."""
        offered = self._add_names(examination)
        if offered:
            self._add_schemas(examination, offered)

    def _add_names(self, examination: Examination) -> list[str]:
        """Add the step `names`; return the names that are offered."""
        config, texts = examination.config, self._texts
        withheld = self._withheld[config.name]
        own = {name: tool for name, tool in self._names.items() if tool.server == config.name}
        allowed = [name for name, tool in own.items() if is_offered(config, tool.remote_name, tool.annotations)]
        offered = [name for name in allowed if name not in self._offered.left_out]
        if not own and withheld:
            examination.failed("names", "withheld", server=config.name)
        elif not allowed:
            tools = texts.some(clean_label(tool.remote_name) for tool in own.values())
            examination.failed("names", "none_allowed", count=len(own), names=tools)
        elif not offered:
            examination.failed("names", "crowded", most=self._max_tools)
        else:
            crowded = [name for name in allowed if name in self._offered.left_out]
            notes = self._name_notes(config, crowded, withheld, unmatched_rules(config, list(own.values())))
            examination.passed("names", texts("names", names=texts.some(offered)), texts.joined(notes))
        return offered

    def _name_notes(
        self, config: ServerConfig, crowded: Sequence[str], withheld: Sequence[str], unmatched: Sequence[str]
    ) -> list[str]:
        texts, notes = self._texts, []
        if crowded:
            notes.append(texts("names.crowded", most=self._max_tools, names=texts.some(crowded)))
        if withheld:
            notes.append(texts("names.withheld", names=texts.some(withheld), server=config.name))
        if unmatched:
            notes.append(texts("names.unmatched", rules=texts.some(unmatched)))
        return notes

    def _add_schemas(self, examination: Examination, names: Sequence[str]) -> None:
        texts = self._texts
        tools = {name: self._offered.tools[name] for name in names if name in self._offered.tools}
        left_out = [name for name in names if name not in tools]
        if not tools:
            examination.failed("schemas", "schemas", names=texts.some(left_out))
            return
        shown = texts.some(
            f"{clean_label(tool.remote_name)}({', '.join(tool.input_schema['properties'])})" for tool in tools.values()
        )
        if simplified := [name for name, tool in tools.items() if tool.schema_warnings]:
            detail = texts("schemas.simplified", shown=shown, names=texts.some(simplified))
        else:
            detail = texts("schemas", shown=shown)
        hint = texts("schemas.left_out", names=texts.some(left_out)) if left_out else ""
        examination.passed("schemas", detail, hint)


def _known(examination: Examination, stored: StoredCatalogues, approvals: Approvals) -> _KnownServer:
    """Return what is known of a server's tools, without those that its owner has not accepted."""
    config, listing = examination.config, examination.listing
    if listing is None:
        usable = config.enabled and not config.error
        return _KnownServer(config, (stored.load(config) if usable else None) or Listing())
    withheld = tuple(change.tool for change in approvals.withheld(config, listing))
    kept = tuple(tool for tool in listing.tools if tool.remote_name not in withheld)
    return _KnownServer(config, replace(listing, tools=kept), tuple(map(clean_label, withheld)))
