"""Tools as values: parsed, named, shown to a model (`schema/`), called with repaired arguments (`arguments/`), results as text. Pure."""
