"""Tools as values: parsed, named and shown to a model; arguments repaired, results converted to text. Pure."""
