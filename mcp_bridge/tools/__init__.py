"""Tools as values: parsed, named, shown to a model, called with repaired arguments, their results as text. Pure."""
