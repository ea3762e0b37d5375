#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_on_gpu.sh DECODE_LOOP: it must succeed, and if it did so on the host, a GPU was missing.
set -euo pipefail
said=$("$1")
if [[ $said != *"on the GPU"* ]]; then
    echo "1 tests"
    echo "$said"
    exit 77
fi
echo "$said"
