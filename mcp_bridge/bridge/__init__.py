"""All configured servers: their state, discovery, offered tools, and `Bridge`/`BridgeThread` over them."""

from .bridge import Bridge as Bridge
from .bridge import ServerStatus as ServerStatus
from .thread import BridgeThread as BridgeThread
