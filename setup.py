"""Finds the packages by itself, and puts the examples of the repository into the installed package."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["mcp_bridge", "mcp_bridge.*"]), "mcp_bridge.examples"],
    package_dir={"mcp_bridge.examples": "examples"},
)
