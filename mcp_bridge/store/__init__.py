"""Everything written to disk: the data folder and, on request, the owner's config.toml. Files are written whole."""
