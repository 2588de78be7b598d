"""Everything written to disk: the data folder (catalogue, approvals) and, on request, the owner's config.toml. Always whole files."""
