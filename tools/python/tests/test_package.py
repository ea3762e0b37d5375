# SPDX-License-Identifier: Apache-2.0
import pathlib

import topk_jit


def names(folder):
    kinds = (".py", ".pyi", ".typed")
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in kinds}


def test_every_file_of_the_package_is_beside_the_others():
    source = pathlib.Path(__file__).parents[1] / "topk_jit"
    assert "__init__.py" in names(source)
    assert names(source) <= names(pathlib.Path(topk_jit.__file__).parent)
