"""Includes that go against the layers of docs/architecture.md, in product sources.

CMake refuses to link a library of the same or a higher layer; a header of it could be included all the same. Layers are read from each
CMakeLists.txt: kevt_library(NAME LAYER N … SOURCES … HEADERS …), and KEVT_LAYER N of a program. A file that is not listed is of its folder's.
"""
import os
import re
import subprocess
import sys

LISTS = ("SOURCES", "HEADERS", "TESTS")
WORDS = (*LISTS, "LAYER", "TEST_DEPS", "DEPS", "LINK", "VERIFY", "AGENT")
OUTSIDE = ("common/abi/", "tests/")  # headers of anybody; includers that are no product


def product():
    """file → its layer, of what is listed; folder → the layer of its library, of what is not; the libraries of one folder: the first one's."""
    files, folders = {}, {}
    for path in subprocess.run(["git", "ls-files", "*CMakeLists.txt"], capture_output=True, text=True, check=True).stdout.split():
        folder = os.path.dirname(path)
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"#.*", "", file.read())
        for body in re.findall(r"kevt_library\(\w+([^)]*)\)", text):
            words = body.split()
            layer = int(words[words.index("LAYER") + 1])
            folders.setdefault(folder, layer)
            current = None
            for word in words:
                if word in WORDS:
                    current = word
                elif current in LISTS:
                    files[f"{folder}/{word}"] = layer
        for layer in re.findall(r"KEVT_LAYER (\d+)", text):  # a program
            folders.setdefault(folder, int(layer))
    return files, folders


def layer_of(path, files, folders):
    """None: of no library."""
    if path in files:
        return files[path]
    folder = os.path.dirname(path)
    while folder and folder not in folders:
        folder = os.path.dirname(folder)
    return folders.get(folder)


def library_of(path, folders):
    """The folder of the CMakeLists.txt that a file belongs to."""
    folder = os.path.dirname(path)
    while folder and folder not in folders:
        folder = os.path.dirname(folder)
    return folder


def main():
    files, folders = product()
    wrong = []
    for path in subprocess.run(["git", "ls-files", "*.h", "*.cpp"], capture_output=True, text=True, check=True).stdout.split():
        layer = layer_of(path, files, folders)
        if layer is None or path.startswith(OUTSIDE) or path.endswith(("_test.cpp", "_testing.h")) or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            included = re.findall(r'^\s*#\s*include "([^"]+)"', file.read(), re.MULTILINE)
        for other in included:
            of = layer_of(other, files, folders)
            is_own = library_of(other, folders) == library_of(path, folders) and of == layer or os.path.dirname(other) == os.path.dirname(path)
            if of is not None and not is_own and of >= layer and not other.startswith(OUTSIDE):
                wrong.append(f"{path} (layer {layer}) includes {other} (layer {of})")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
