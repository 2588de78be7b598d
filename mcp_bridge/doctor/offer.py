"""What the model will see: names and schemas, which depend on all servers together."""

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
from .texts import Words


@dataclass(frozen=True)
class _Known:
    config: ServerConfig
    listing: Listing
    withheld: tuple[str, ...] = ()


class Offered:
    """Names and schemas of all tools: of those found now, and of the stored ones of servers that are not there."""

    def __init__(self, config: BridgeConfig, examinations: Sequence[Examination], data_dir: Path, words: Words) -> None:
        stored, approvals = StoredCatalogues(data_dir), Approvals(data_dir)
        known = [_know(one, stored, approvals) for one in examinations]
        self._words = words
        self._most = config.max_tools
        self._withheld = {one.config.name: one.withheld for one in known}
        self._names = assign_names([tool for one in known for tool in one.listing.tools])
        self._toolbox = OfferedTools(config)
        self._toolbox.fill(known)

    def tell(self, examination: Examination) -> None:
        """Add the steps `names` and `schemas` to an examination that has found tools."""
        names = self._tell_names(examination)
        if names:
            self._tell_schemas(examination, names)

    def _tell_names(self, examination: Examination) -> list[str]:
        """Return the names that are offered, if any are and their number is not the fault."""
        config, words = examination.config, self._words
        withheld = self._withheld[config.name]
        own = {name: tool for name, tool in self._names.items() if tool.server == config.name}
        allowed = [name for name, tool in own.items() if is_offered(config, tool.remote_name, tool.annotations)]
        crowded = [name for name in allowed if name in self._toolbox.left_out]
        offered = [name for name in allowed if name not in crowded]
        if not own and withheld:
            examination.failed("names", "withheld", server=config.name)
        elif not allowed:
            tools = words.some(clean_label(tool.remote_name) for tool in own.values())
            examination.failed("names", "none_allowed", count=len(own), names=tools)
        elif not offered:
            examination.failed("names", "crowded", most=self._most)
        else:
            notes = []
            if crowded:
                notes.append(words("names.crowded", most=self._most, names=words.some(crowded)))
            if withheld:
                notes.append(words("names.withheld", names=words.some(withheld), server=config.name))
            if idle := unmatched_rules(config, list(own.values())):
                notes.append(words("names.idle", rules=words.some(idle)))
            examination.passed("names", words("names", names=words.some(offered)), words.together(notes))
        return offered

    def _tell_schemas(self, examination: Examination, names: list[str]) -> None:
        words = self._words
        tools = {name: self._toolbox.tools[name] for name in names if name in self._toolbox.tools}
        left_out = [name for name in names if name not in tools]
        if not tools:
            examination.failed("schemas", "schemas", names=words.some(left_out))
            return
        shown = words.some(
            f"{clean_label(tool.remote_name)}({', '.join(tool.input_schema['properties'])})" for tool in tools.values()
        )
        simplified = [name for name, tool in tools.items() if tool.schema_warnings]
        if simplified:
            told = words("schemas.simplified", shown=shown, names=words.some(simplified))
        else:
            told = words("schemas", shown=shown)
        examination.passed("schemas", told, words("schemas.left_out", names=words.some(left_out)) if left_out else "")


def _know(examination: Examination, stored: StoredCatalogues, approvals: Approvals) -> _Known:
    """Return what is known of a server's tools, without those that its owner has not accepted."""
    config, listing = examination.config, examination.listing
    if listing is None:
        usable = config.enabled and not config.error
        return _Known(config, (stored.load(config) if usable else None) or Listing())
    withheld = tuple(change.tool for change in approvals.withheld(config, listing))
    kept = tuple(tool for tool in listing.tools if tool.remote_name not in withheld)
    return _Known(config, replace(listing, tools=kept), tuple(map(clean_label, withheld)))
