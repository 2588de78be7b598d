"""End-to-end tests: the plugin folder inside a real MaiBot."""
