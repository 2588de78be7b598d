"""A tool, as the real MaiBot offers it to the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OfferedTool:
    """A tool as the model is offered it."""

    schema: dict[str, Any]
    """The function definition sent to an OpenAI-compatible API."""
    metadata: dict[str, Any]
    """What the host keeps beside it: visibility, plugin, ..."""

    @property
    def name(self) -> str:
        """Return the name the model calls."""
        return str(self.schema["function"]["name"])

    @property
    def description(self) -> str:
        """Return the text the model reads."""
        return str(self.schema["function"]["description"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the JSON Schema of the arguments."""
        parameters: dict[str, Any] = self.schema["function"]["parameters"]
        return parameters

    @property
    def visible(self) -> bool:
        """Tell whether the model sees the tool at once, without searching for it."""
        return self.metadata.get("visibility") == "visible"
