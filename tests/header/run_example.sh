#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_example.sh EXECUTABLE: the header's example runs and prints the positions of 2.0 and 1.0, in
# either order.
set -euo pipefail
printed=$("$1") || {
    echo "exit status $?: $printed"
    exit 1
}
case $printed in
"1 3" | "3 1") ;;
*)
    echo "it printed: $printed"
    exit 1
    ;;
esac
