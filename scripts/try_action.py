#!/usr/bin/env python3
"""Runs the README's workflow for other projects in a scratch repository, step by step as a runner does.

Reads the workflow from README.md and the steps of action.yml, substitutes GitHub's expressions, and
runs each step. It must end with `unchanged` on a pull request that changes a comment, with
`regressed` on one that slows down a function, and with `regressed` on a push of two commits of
which the first slows down a function. Needs PyYAML.

Usage: scripts/try_action.py PROGRAM    the built program, which is passed to the action with its SHA-256
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent.parent
SLOW = ("!bytes.iter().fold(!0_u32", "!bytes.iter().chain(&bytes[..bytes.len() / 5]).fold(!0_u32")


def git(repository: Path, *words: str) -> str:
    author = ["-c", "user.name=try", "-c", "user.email=try@localhost"]
    return subprocess.run(["git", *author, *words], cwd=repository, check=True, text=True, capture_output=True).stdout.strip()


def workflow() -> dict:
    text = (HERE / "README.md").read_text().split("```yaml\n", 1)[1].split("```", 1)[0]
    return yaml.safe_load(text)


def expressions(text: str, known: dict[str, str]) -> str:
    def value(match: re.Match) -> str:
        name = match.group(1)
        if name not in known and not name.startswith("steps."):
            raise SystemExit(f"unknown expression `{name}`")
        return known.get(name, "")  # Missing outputs of a step are empty.

    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", value, text)


def act(repository: Path, event: dict[str, str], inputs: dict[str, str]) -> tuple[int, dict[str, str]]:
    """Runs the steps of action.yml with the fields of `github.event`.

    Returns:
        The exit code of the last step, and the outputs of the action.
    """
    action = yaml.safe_load((HERE / "action.yml").read_text())
    known = {f"inputs.{name}": inputs.get(name, str(given.get("default", ""))) for name, given in action["inputs"].items()}
    events = ["pull_request.base.sha", "before", "repository.default_branch"]
    known |= {"github.action_path": str(HERE)} | {f"github.event.{name}": event.get(name, "") for name in events}
    with tempfile.TemporaryDirectory() as runner:
        code = 0
        for step in action["runs"]["steps"]:
            output, summary = Path(runner, "output"), Path(runner, "summary")
            output.write_text("")
            environment = {name: expressions(str(text), known) for name, text in step.get("env", {}).items()}
            environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "RUNNER_TEMP": runner}
            place = repository / expressions(str(step.get("working-directory", ".")), known)
            # Like `shell: bash`: it ends at the first command that fails.
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", expressions(step["run"], known)]
            code = subprocess.run(command, cwd=place, env=os.environ | environment, check=False).returncode
            for line in output.read_text().splitlines():
                name, _, text = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = text
            print(f"step `{step['name']}`: exit {code}", flush=True)
            if code != 0:
                break
        outputs = {name: expressions(given["value"], known) for name, given in action["outputs"].items()}
        written = Path(outputs["json"]).is_file()
        summary = Path(runner, "summary").read_text() if Path(runner, "summary").exists() else ""
        return code, outputs | {"json": "written" if written else "", "summary": summary}


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    steps = workflow()["jobs"]["gate"]["steps"]
    assert steps[-1]["uses"].endswith("/rusty-stack-bench"), "the last step of the README's workflow is this action"
    assert steps[0]["with"]["fetch-depth"] == 0, "the base must be in the clone"
    inputs = {name: str(value) for name, value in steps[-1].get("with", {}).items()}
    inputs |= {"binary": str(program), "binary-sha256": hashlib.sha256(program.read_bytes()).hexdigest()}
    # Only three cases, to save time.
    inputs["arguments"] = "--benchmark=small/crc\n--benchmark=small/fnv\n--benchmark=small/fib"
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        origin, checkout = Path(scratch, "origin"), Path(scratch, "checkout")
        shutil.copytree(HERE / "tests/small-crate", origin, ignore=shutil.ignore_patterns("target"))
        (origin / ".gitignore").write_text("/target\n")
        git(origin, "init", "--quiet", "--initial-branch", "main")
        git(origin, "add", "--all")
        git(origin, "commit", "--quiet", "--message", "initial commit")
        os.environ["CARGO_TARGET_DIR"] = str(Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")).resolve() / "action")
        library = "src/lib.rs"
        text = (origin / library).read_text()
        pull_request = {"pull_request.base.sha": git(origin, "rev-parse", "main"), "repository.default_branch": "main"}
        changes = [("comment", "// A comment.\n" + text, 0, "unchanged"), ("slower", text.replace(*SLOW), 3, "regressed")]
        for name, changed, code, verdict in changes:
            git(origin, "checkout", "--quiet", "-b", name, "main")
            (origin / library).write_text(changed)
            git(origin, "commit", "--quiet", "--all", "--message", name)
            # As `actions/checkout` does for a pull request, with the whole history.
            shutil.rmtree(checkout, ignore_errors=True)
            git(Path(scratch), "clone", "--quiet", "--branch", name, str(origin), str(checkout))
            ended, outputs = act(checkout, pull_request, inputs)
            right = (ended, outputs["verdict"], outputs["json"]) == (code, verdict, "written") and outputs["summary"]
            print(f"{name}: exit {ended}, verdict `{outputs['verdict']}`, expected {code}, `{verdict}`", flush=True)
            wrong |= 0 if right else 1
        # A push of two commits, the first of which is slower.
        git(checkout, "commit", "--quiet", "--allow-empty", "--message", "another")
        push = {"before": git(origin, "rev-parse", "main"), "repository.default_branch": "main"}
        ended, outputs = act(checkout, push, inputs)
        print(f"push: exit {ended}, verdict `{outputs['verdict']}`, expected 3, `regressed`", flush=True)
        wrong |= 0 if (ended, outputs["verdict"]) == (3, "regressed") else 1
        # A program with another checksum must not run.
        ended, outputs = act(checkout, pull_request, inputs | {"binary-sha256": "0" * 64})
        print(f"another checksum: exit {ended}, expected 2", flush=True)
        wrong |= 0 if ended == 2 else 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
