#!/usr/bin/env bash
# Check agnograd on this machine's GPU, in one command, and write a report of it:
#
#     tools/gpu_check.sh                    on CuPy
#     tools/gpu_check.sh --backend torch    on another backend; also as a rehearsal without a GPU
#
# Options: --backend NAME; --reports FOLDER (docs/reports); --dry-run, which prints what would run.
# It uses the Python of $PYTHON, or `python3`, and installs what that lacks, and nothing else.
set -uo pipefail
cd "$(dirname "$0")/.."

backend=cupy reports=docs/reports dry=
while [ $# -gt 0 ]; do
    case $1 in
        --backend | --reports)
            [ $# -gt 1 ] || { echo "$1 needs a value" >&2; exit 2; }
            [ "$1" = --backend ] && backend=$2 || reports=$2
            shift 2 ;;
        --dry-run) dry=yes; shift ;;
        *) echo "unknown option: $1 (see the head of $0)" >&2; exit 2 ;;
    esac
done
python=${PYTHON:-python3}

has() { "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$1'))"; }

# Print a command and run it, unless this is a dry run.
run() {
    echo "+ $*"
    [ -n "$dry" ] || "$@"
}

# The extra that installs a backend's library; CuPy's is one of several, by the version of CUDA.
extra() {
    case $backend in
        cupy) nvidia-smi 2>/dev/null | grep -q 'CUDA Version: 12' && echo cupy-cuda12x || echo cupy ;;
        *) echo "$backend" ;;
    esac
}

module() {
    case $backend in strict) echo array_api_strict ;; *) echo "$backend" ;; esac
}

missing=()
{ has pytest && has sklearn && has array_api_strict && has hypothesis; } || missing+=(test)
has "$(module)" || missing+=("$(extra)")
if [ "$backend" = cupy ] && ! has nvidia.nccl 2>/dev/null; then # which CuPy's wheel lacks
    run "$python" -m pip install "nvidia-nccl-cu$(extra | grep -q 12x && echo 12 || echo 13)"
fi
if ! has agnograd || [ ${#missing[@]} -gt 0 ]; then
    run "$python" -m pip install -e ".[$(IFS=,; echo "${missing[*]}")]" || exit 1
fi

device() {
    "$python" - "$backend" <<'PY'
import platform
import sys

name = platform.machine()
if sys.argv[1] == "cupy":
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
elif sys.argv[1] == "torch":
    import torch

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
elif sys.argv[1] == "jax":
    import jax

    if jax.default_backend() != "cpu":
        name = jax.devices()[0].device_kind
print(name)
PY
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
rows="" checks=0 failures=0

# Run a check; keep its last line, which for pytest is the summary, and whether it passed.
check() {
    local what=$1 result=passed
    shift
    checks=$((checks + 1))
    echo "== $what"
    if [ -n "$dry" ]; then
        run "$@"
        return
    fi
    echo "+ $*"
    "$@" 2>&1 | tee "$log"
    if [ "${PIPESTATUS[0]}" -ne 0 ]; then
        result=FAILED
        failures=$((failures + 1))
    fi
    rows+="| $what | $result | $(tail -n 1 "$log" | tr -d '=|' | xargs) |"$'\n'
}

if [ -z "$dry" ]; then
    name=$(device) || { echo "no device for backend $backend: see above" >&2; exit 1; }
fi
shopt -s nullglob
own=(tests/backends/test_"$backend"*.py) # nothing, where the backend has no tests of its own
pytest=("$python" -m pytest -q --backend "$backend")
suite=(--pyargs agnograd.testing.conformance "--agnograd-backend=$backend")
case $backend in jax | dask) suite+=(--agnograd-double) ;; esac # as .ci/backend does
[ ! -e "tests/gaps/$backend.txt" ] || suite+=("--agnograd-gaps=tests/gaps/$backend.txt")
check "conformance" "$python" -m pytest -q -W error "${suite[@]}"
check "capabilities" "${pytest[@]}" \
    tests/plugins/conformance/test_suite.py::test_capabilities_are_those_of_the_libraries
check "conventions" "${pytest[@]}" tests/rules/test_conventions.py
check "the backend" "${pytest[@]}" tests/backends/test_backend.py "${own[@]}"
check "moving arrays" "${pytest[@]}" tests/core/test_moving.py
check "plugins" "${pytest[@]}" tests/plugins --ignore=tests/plugins/conformance
case $backend in
    cupy | torch) # as many processes as there are devices, two at most
        check "collectives of processes" "${pytest[@]}" \
            tests/plugins/distributed/test_communicators.py tests/plugins/distributed/test_nccl.py ;;
esac
case $backend in torch | jax) check "client libraries" "${pytest[@]}" tests/clients ;; esac
check "code blocks of the docs" "${pytest[@]}" tests/docs/test_code_blocks.py
check "the least squares example" "${pytest[@]}" tests/examples/test_least_squares.py
check "the digits example" "$python" examples/digits.py --backend "$backend" --epochs 5
check "the convnets example" "$python" examples/convnets.py --backend "$backend" --small \
    --batch 2 --iterations 1
[ -z "$dry" ] || exit 0

mkdir -p "$reports"
report=$reports/$backend-$(echo "$name" | tr -cs '[:alnum:].' '-' | sed 's/-*$//').md
{
    echo "# \`$backend\` on $name"
    echo
    echo "Written by \`tools/gpu_check.sh --backend $backend\`, $(date -u +%Y-%m-%d), of commit" \
        "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)."
    echo
    echo "| check | result | summary |"
    echo "| --- | --- | --- |"
    printf '%s\n' "$rows"
    echo '```'
    "$python" -c 'from agnograd._cli.main import main; main(["info"])'
    "$python" --version
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
    echo '```'
} >"$report"
echo "== $report: $failures of $checks checks failed"
[ "$failures" -eq 0 ]
