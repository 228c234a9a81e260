# SPDX-License-Identifier: Apache-2.0
"""Waits until a server answers at READY_PATH: python3 -c SCRIPT URL SECONDS."""

import os
import sys
import time
import urllib.request

url = sys.argv[1].rstrip("/") + os.environ["READY_PATH"]
limit = time.monotonic() + float(sys.argv[2])
while True:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            sys.stdout.write(f"{url}: {answer.status}\n")
        sys.exit(0)
    except OSError as error:
        problem = str(error)
    if time.monotonic() > limit:
        sys.exit(f"{url}: {problem}")
    time.sleep(5)
