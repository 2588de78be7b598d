"""From the arguments that a model sends to arguments that the server's schema allows."""

from .repair import parse_arguments as parse_arguments
from .repair import repair_arguments as repair_arguments
