"""Stages around a tool call: permission, rate limits, repair of the arguments, consent, trace.

Each stage is a `Middleware`; programs can add their own.
"""

from .call import Call as Call
from .call import Caller as Caller
from .call import Middleware as Middleware
from .call import Proceed as Proceed
from .call import ToolCaller as ToolCaller
from .call import compose as compose
