# SPDX-License-Identifier: Apache-2.0
# Sourced by setup, check and demo: one line a step, its output only where it fails.
# shellcheck shell=bash

# say TEXT: one line of progress, after the name of the command.
say() {
    printf '%s: %s\n' "${0##*/}" "$*"
}

# step LOG COMMAND...: runs a command with its output in LOG; shows the end of it on failure.
step() {
    step_with_input "$@" </dev/null
}

step_with_input() {
    local log=$1 status=0
    shift
    mkdir -p -- "$(dirname -- "$log")"
    "$@" >"$log" 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        tail -n 60 -- "$log"
        say "failed with status $status: $* (the whole output: $log)"
    fi
    return "$status"
}

# build_preset PRESET LOG [TARGET...]: configures and builds one preset with the CUDA_HOME that
# tools/setup chose. Both are given: a cached path may be of a toolkit that is gone. The Python
# package is built where its tests have a Python. The array configure has further definitions.
configure=()
build_preset() {
    local preset=$1 log=$2 python=()
    shift 2
    if [ -n "${TOPK_JIT_TEST_PYTHON:-}" ]; then
        python=(-DTOPK_JIT_PYTHON=ON "-DPython_EXECUTABLE=$TOPK_JIT_TEST_PYTHON"
            "-DTOPK_JIT_PYTHON_PACKAGES=$TOPK_JIT_TEST_PACKAGES")
    fi
    step "$log-configure.log" cmake --preset "$preset" \
        "-DTOPK_JIT_CUDA_INCLUDE=$CUDA_HOME/include" \
        "-DTOPK_JIT_NVRTC_INCLUDE=$CUDA_HOME/include" "${python[@]}" "${configure[@]}" || return
    step "$log-build.log" cmake --build --preset "$preset" ${1:+--target "$@"} -- --quiet
}
