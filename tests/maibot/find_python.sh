# Print a Python >= 3.12, which MaiBot needs; nothing if there is none.
for candidate in python3 python python3.13 python3.12 "$HOME"/.pyenv/versions/3.12*/bin/python "$HOME"/.pyenv/versions/3.13*/bin/python; do
    if "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        command -v "$candidate"
        exit 0
    fi
done
