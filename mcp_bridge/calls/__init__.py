"""What happens around a call: who may make it, how often, with whose consent, and what is noted of it.

Each stage is a `Middleware`; the bridge puts them around the call itself, and so may a program of its own.
"""

from .call import Call as Call
from .call import Caller as Caller
from .call import Middleware as Middleware
from .call import Proceed as Proceed
from .call import ToolCaller as ToolCaller
from .call import around as around
