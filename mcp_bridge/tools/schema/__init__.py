"""From the JSON Schema of a tool to the schema that a model is shown."""

from .shown import Profile as Profile
from .shown import ShownSchema as ShownSchema
from .shown import UnusableSchema as UnusableSchema
from .shown import rename_parameters as rename_parameters
from .shown import show as show
