"""Includes that go against the layers of docs/architecture.md, in product sources.

CMake refuses to link a library of the same or a higher layer; a header of it could be included all the same. What belongs to which
library, and its layer, is read from each CMakeLists.txt: kevt_library(NAME LAYER N … SOURCES … HEADERS …).
"""
import os
import re
import subprocess
import sys

LISTS = ("SOURCES", "HEADERS", "TESTS")
WORDS = (*LISTS, "LAYER", "TEST_DEPS", "DEPS", "LINK", "VERIFY", "AGENT")


def libraries():
    """file → (library, layer)"""
    owner = {}
    for path in subprocess.run(["git", "ls-files", "*CMakeLists.txt"], capture_output=True, text=True, check=True).stdout.split():
        folder = os.path.dirname(path)
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"#.*", "", file.read())
        for name, body in re.findall(r"kevt_library\((\w+)([^)]*)\)", text):
            words = body.split()
            layer = int(words[words.index("LAYER") + 1])
            current = None
            for word in words:
                if word in WORDS:
                    current = word
                elif current in LISTS:
                    owner[f"{folder}/{word}"] = (name, layer)
    return owner


def main():
    owner = libraries()
    wrong = []
    for path, (name, layer) in sorted(owner.items()):
        if path.endswith("_test.cpp") or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            included = re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.MULTILINE)
        for other in included:  # headers of no library are anybody's: common/abi, tables
            of, other_layer = owner.get(other, (name, layer))
            is_own = of == name or os.path.dirname(other) == os.path.dirname(path)
            if not is_own and other_layer >= layer:
                wrong.append(f"{path} (layer {layer}) includes {other} (layer {other_layer})")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
