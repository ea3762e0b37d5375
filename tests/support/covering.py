#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the covering array of specs, covering_specs.inc.

The product of all specs and variants has thousands of kernels. The array has, for each operation,
every pair of legal values of two factors, every triple of dtype, layout and order, and every option
alone; test_covering.c proves that it has, with rules of its own. Which variants its specs are
combined with is decided at run time (covering.c), so the array stays when variants are added.

Usage: covering.py FILE          writes the table
       covering.py --check FILE  exit status 1 if the table is not the one that it would write
"""
import collections
import itertools
import pathlib
import sys

SCORES = ["float32", "float16", "bfloat16"]
# 100: small and no power of two; 7000: more slots than are sorted in shared memory
TOPK = [1, 100, 2048, 7000]
# Together, what an order option says: the words that follow in a spec.
ORDERS = [
    "",
    ",sorted",
    ",tie_break=smallest",
    ",tie_break=largest",
    ",tie_break=smallest,deterministic",
    ",tie_break=largest,deterministic",
    ",sorted,tie_break=largest",
    ",sorted,tie_break=smallest,deterministic",
]
# layout and page_size
PLACES = [
    ("plain", ""),
    ("paged", ",page_size=1"),
    ("paged", ",page_size=64"),
    ("paged", ",page_size=1073741824"),
    ("ragged", ""),
]
FACTORS = ["layout", "page_size", "topk", "dtype", "index", "order", "nan_last", "check"]
THREE_WAY = ("dtype", "layout", "order")


def select_candidates():
    """Every legal selection spec, each a dict of factor to value."""
    product = itertools.product(
        PLACES,
        TOPK,
        SCORES,
        ["int32", "int64"],
        ORDERS,
        ["", ",nan_last"],
        ["", ",check"],
    )
    return [dict(zip(FACTORS, (*place, *rest))) for place, *rest in product]


def fast_topk_candidates():
    product = itertools.product(TOPK, SCORES + ["float64", "int32", "int64"])
    return [
        dict(zip(FACTORS, ("plain", "", topk, dtype, "int64", "", "", ""))) for topk, dtype in product
    ]


def is_alone(row):
    """The one option that is set; '' = none is, None = several are."""
    options = [row[name] for name in ("order", "nan_last", "check") if row[name]]
    return None if len(options) > 1 else "".join(options)


def claims_of(row):
    """What a row covers."""
    claims = {((a, row[a]), (b, row[b])) for a, b in itertools.combinations(FACTORS, 2)}
    claims.add(tuple(row[name] for name in THREE_WAY))
    alone = is_alone(row)
    if alone is not None:
        claims.add(("alone", alone))
    return claims


def as_masks(candidates):
    """The claims of each candidate as bits of an integer."""
    numbers = {}
    masks = []
    for row in candidates:
        bits = [numbers.setdefault(claim, len(numbers)) for claim in sorted(claims_of(row), key=str)]
        masks.append(sum(1 << bit for bit in bits))
    return masks, (1 << len(numbers)) - 1


def greedy(candidates, masks, everything):
    """Indices of candidates that cover everything: each time one that covers most of the rest, and
    among these one whose values were taken least, so that no value is in most of the rows."""
    uses = collections.Counter()
    missing, chosen = everything, []
    while missing:
        gains = [(mask & missing).bit_count() for mask in masks]
        most = max(gains)
        best = min(
            (index for index, gain in enumerate(gains) if gain == most),
            key=lambda index: sum(uses[item] ** 2 for item in candidates[index].items()),
        )
        chosen.append(best)
        uses.update(candidates[best].items())
        missing &= ~masks[best]
    return chosen


def without_needless(chosen, masks, everything):
    for index in list(chosen):
        others = 0
        for other in chosen:
            others |= masks[other] if other != index else 0
        if others == everything:
            chosen.remove(index)
    return chosen


def cover(candidates):
    masks, everything = as_masks(candidates)
    chosen = without_needless(greedy(candidates, masks, everything), masks, everything)
    return [candidates[index] for index in chosen]


def spec_text(operation, row):
    return (
        f"operation={operation},layout={row['layout']},topk={row['topk']},dtype={row['dtype']},"
        f"index={row['index']}{row['page_size']}{row['order']}{row['nan_last']}{row['check']}"
    )


def table():
    specs = [spec_text("select", row) for row in cover(select_candidates())]
    specs += [spec_text("fast_topk", row) for row in cover(fast_topk_candidates())]
    head = "/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by covering.py. */\n"
    return head + "".join(f'"{spec}",\n' for spec in sorted(specs))


def main(arguments):
    if len(arguments) == 1 and not arguments[0].startswith("-"):
        pathlib.Path(arguments[0]).write_text(table(), encoding="utf-8")
        return 0
    if len(arguments) == 2 and arguments[0] == "--check":
        if pathlib.Path(arguments[1]).read_text(encoding="utf-8") == table():
            return 0
        print(f"{arguments[1]} is not what covering.py makes")
        return 1
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
