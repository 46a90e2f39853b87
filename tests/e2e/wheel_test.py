#!/usr/bin/env python3
"""The wheel of scripts/wheel as pip installs it: its command, and its module's answers.
wheel_test.py BERTBENCH SOURCE_DIR; ends with 77 (skipped) without pip."""

import json
import os
import subprocess
import sys
import tempfile

BERTBENCH, SOURCE = sys.argv[1], sys.argv[2]
READS = """
import bertbench, json, sys
log, result, run, site = sys.argv[1:]
assert bertbench.program().startswith(site), bertbench.program()
of_log = bertbench.read(log, "--nodes", 1)
assert of_log["schema"] == "bertbench.result/1", of_log
with open(result, "w") as file: json.dump(of_log, file, indent=1)
assert bertbench.read(result)["cells"] == of_log["cells"]
assert bertbench.read(run)["cells"] == of_log["cells"], "a run folder"
for path, status in (("nowhere.log", 5), (log + ".empty", 5)):
    try: bertbench.read(path)
    except bertbench.Error as error: assert error.status == status and path in str(error), error
    else: raise AssertionError(path)
try: bertbench.read(result, "--nodes", 2)
except bertbench.Error as error: assert error.status == 2
else: raise AssertionError("options for a result file")
print(json.dumps(of_log["cells"][0]["throughput"]))
"""


def main():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], check=False, capture_output=True).returncode != 0:
        print("skipped: no pip")
        return 77
    with tempfile.TemporaryDirectory(prefix="wheel_") as folder:
        built = subprocess.run([sys.executable, f"{SOURCE}/scripts/wheel", "--program", BERTBENCH, "-o", folder],
                               check=True, capture_output=True, text=True).stdout.strip()
        again = subprocess.run([sys.executable, f"{SOURCE}/scripts/wheel", "--program", BERTBENCH, "-o", f"{folder}/2"],
                               check=True, capture_output=True, text=True).stdout.strip()
        with open(built, "rb") as one, open(again, "rb") as two:
            assert one.read() == two.read(), "equal content gives an equal wheel"
        site = os.path.realpath(os.path.join(folder, "site"))
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check",
                        "--root-user-action=ignore", "--target", site, built], check=True)
        version = subprocess.run([f"{site}/bin/bertbench", "--version"], check=True, capture_output=True, text=True)
        assert version.stdout.startswith("bertbench "), version.stdout
        log = os.path.join(folder, "train.log")
        with open(f"{SOURCE}/parsers/samples/native/sample.log", "rb") as sample, open(log, "wb") as copy:
            copy.write(sample.read())
        with open(log + ".empty", "wb"):
            pass
        run = os.path.join(folder, "run")
        os.mkdir(run)
        subprocess.run([BERTBENCH, "extract", log, "--nodes", "1", "-o", f"{run}/results.json"], check=True,
                       capture_output=True)
        with open(f"{run}/journal.jsonl", "w", encoding="utf-8") as journal:
            journal.write("{}\n")
        done = subprocess.run([sys.executable, "-c", READS, log, f"{folder}/result.json", run, site],
                              cwd=folder, env={**os.environ, "PYTHONPATH": site}, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        if done.returncode != 0:
            return 1
        assert json.loads(done.stdout)["n"] == 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
