# SPDX-License-Identifier: Apache-2.0
# sh -c THIS benchmark WAIT_SCRIPT [FLAG …]: one aiperf run per word of RUNS, which is CONCURRENCY:REQUESTS.
set -eu
wait_script=$1
shift
python3 -c "$wait_script" "$ENDPOINT_URL" "$START_TIMEOUT_SECONDS"
python3 -m venv /work/venv
/work/venv/bin/pip install --quiet --no-cache-dir "$AIPERF_PACKAGE"
for run in $RUNS; do
  concurrency=${run%%:*}
  requests=${run#*:}
  echo "concurrency $concurrency"
  /work/venv/bin/aiperf profile "$@" --concurrency "$concurrency" ${requests:+--request-count "$requests"} \
    --artifact-dir "/results/concurrency-$concurrency"
done
