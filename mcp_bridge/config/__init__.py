"""The owner's configuration: files -> checked, frozen values, with the place of every mistake. Never writes."""

from .bridge_config import BridgeConfig as BridgeConfig
from .bridge_config import load_config as load_config
from .bridge_config import parse_config as parse_config
