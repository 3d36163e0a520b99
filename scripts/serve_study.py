#!/usr/bin/env python3
"""Measures how fast the dashboard answers over a large history, and to many readers while runs are added.

Usage: scripts/serve_study.py PROGRAM HISTORY [READERS]

PROGRAM is a release build; HISTORY is a directory as `cargo xtask store-study DIR` leaves in
DIR/ten-million. Prints:

- a table of the pages, requested one after another: the first answer, and the median and slowest of
  ten;
- the first paint of a case's page in a new browser, five times, if `chromedriver` is installed;
- the times of READERS (200 by default, 0 for none) concurrent readers while copies of a stored run
  are added. The copies are removed afterwards.
"""

import concurrent.futures
import html
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request

TIMES = 10


def get(address: str) -> tuple[float, bytes]:
    """Returns the milliseconds until the whole answer arrived, and the answer."""
    begun = time.perf_counter()
    with urllib.request.urlopen(address, timeout=120) as answer:
        body = answer.read()
    return (time.perf_counter() - begun) * 1e3, body


def pages(base: str) -> dict[str, float]:
    """Returns the overview and one page of each kind linked from it, each with the time of its first answer."""
    found, kinds, waiting = {}, set(), [""]
    while waiting:
        path = waiting.pop(0)
        found[path], answer = get(base + path)
        body = answer.decode(errors="replace")
        for link in re.findall(r'href="(?!https?://|data:)([^"#]+)"', body):
            target = urllib.parse.urljoin(base + path, html.unescape(link)).removeprefix(base)
            kind = re.split(r"[-/?.]", target)[0]
            if kind not in kinds and not target.endswith((".css", ".js", ".svg", ".csv", ".json", ".png")):
                kinds.add(kind)
                waiting.append(target)
        # The request of a user who selects a range in the chart of a history.
        for link in re.findall(r'data-zoom="([^"]+)"', body):
            if "zoom" not in kinds:
                kinds.add("zoom")
                waiting.append(html.unescape(link) + "&runs=100-2100")
    return found


def table_of(base: str, paths: dict[str, float]) -> None:
    print("| page | first | median of ten | slowest of ten |\n|---|---:|---:|---:|")
    for path, first in paths.items():
        times = sorted(get(base + path)[0] for _ in range(TIMES))
        name = path if len(path) < 60 else path[:57] + "…"
        print(f"| `/{name}` | {first:.0f} ms | {statistics.median(times):.0f} ms | {times[-1]:.0f} ms |", flush=True)


def painted(address: str) -> float:
    """Returns the milliseconds from navigation to first contentful paint in a new headless Chromium."""
    arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as driver:
        try:
            port = next(found[1] for line in driver.stdout if (found := re.search(r"successfully on port (\d+)", line)))

            def ask(method: str, path: str, body: dict | None = None):
                said = None if method == "DELETE" else json.dumps(body or {}).encode()
                request = urllib.request.Request(f"http://127.0.0.1:{port}/session{path}", said, method=method)
                with urllib.request.urlopen(request, timeout=120) as answer:
                    return json.load(answer)["value"]

            wanted = {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}
            session = "/" + ask("POST", "", {"capabilities": wanted})["sessionId"]
            ask("POST", session + "/url", {"url": address})
            script = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
            paint = None
            while paint is None:
                paint = ask("POST", session + "/execute/sync", {"script": script, "args": []})
            ask("DELETE", session)
            return paint
        finally:
            driver.terminate()


def crowd(base: str, paths: list[str], readers: int, runs: pathlib.Path) -> None:
    """Lets every reader request each page while runs are added, and prints the times."""
    source = max(runs.glob("*.json"))
    copies = []

    def read(reader: int) -> list[float]:
        turn = paths[reader % len(paths) :] + paths[: reader % len(paths)]
        return [get(base + path)[0] for path in turn]

    try:
        begun = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(readers) as pool:
            asked = [pool.submit(read, reader) for reader in range(readers)]
            while not all(one.done() for one in asked):
                document = json.loads(source.read_text())
                document["run_id"] = f"{document['run_id']}-copy{len(copies)}"
                # Format version 2 has no checksum.
                document.pop("checksum", None)
                document["format_version"] = 2
                copies.append(runs / f"{document['run_id']}.json")
                copies[-1].write_text(json.dumps(document))
                time.sleep(1)
            times = sorted(time_ms for one in asked for time_ms in one.result())
        seconds = time.perf_counter() - begun
    finally:
        for copy in copies:
            copy.unlink(missing_ok=True)
    print(
        f"\n{readers} readers, {len(times)} answers in {seconds:.1f} s, {len(copies)} runs added: "
        f"median {statistics.median(times):.0f} ms, 99 of 100 within {times[int(len(times) * 0.99)]:.0f} ms, none failed"
    )


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, history = sys.argv[1], pathlib.Path(sys.argv[2])
    readers = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with subprocess.Popen(
        [program, "serve", "--results-dir", str(history)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            base = None
            for line in server.stdout:
                if address := re.search(r"http://\S+", line):
                    base = address.group(0).rstrip("/.,;") + "/"
                    break
            if base is None:
                sys.exit("the server printed no address")
            print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} threads\n")
            paths = pages(base)
            table_of(base, paths)
            case = next((path for path in paths if path.startswith("case?")), None)
            if case and shutil.which("chromedriver"):
                times = sorted(painted(base + case) for _ in range(5))
                print(f"\nFirst paint of `/{case}`: {statistics.median(times):.0f} ms, slowest of five {times[-1]:.0f} ms")
            if readers:
                crowd(base, list(paths), readers, history / "runs")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
