# SPDX-License-Identifier: Apache-2.0
"""Waits until an endpoint lists a model: python3 -c SCRIPT URL SECONDS."""

import json
import sys
import time
import urllib.request

url = sys.argv[1].rstrip("/") + "/v1/models"
limit = time.monotonic() + float(sys.argv[2])
while True:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            models = [model["id"] for model in json.load(answer)["data"]]
        problem = "no model is registered yet"
    except (OSError, ValueError, KeyError, TypeError) as error:
        models, problem = [], str(error)
    if models:
        sys.stdout.write(f"{url}: {', '.join(models)}\n")
        sys.exit(0)
    if time.monotonic() > limit:
        sys.exit(f"{url}: {problem}")
    time.sleep(5)
