"""The owner's configuration: files are read into checked, frozen values, and each mistake is located. Never writes."""

from .bridge_config import BridgeConfig as BridgeConfig
from .bridge_config import load_config as load_config
from .bridge_config import parse_config as parse_config
