"""The judge: the price must be right to the cent, and the currency the order's."""

import json
import os
from pathlib import Path

manifest = json.loads(os.environ["TRAPTASK_MANIFEST"])
run = manifest["run"]
said = Path(run["stdout"]).read_text().split()
exit_code = json.loads(Path(run["meta"]).read_text())["exit_code"]
amount, currency = json.loads((Path(manifest["expected_dir"]) / "answer.json").read_text())["answer"].split()

if exit_code != 0:
    score, reason = 0.0, f"the solution ended with exit code {exit_code}"
elif len(said) != 2:
    score, reason = 0.0, "not an amount and a currency"
elif said[0] != amount:
    score, reason = 0.0, f"wanted {amount}, got {said[0]}"
else:
    score, reason = (1.0, "right") if said[1] == currency else (0.5, f"wanted {currency}, got {said[1]}")
print(json.dumps({"score": score, "reason": reason}))
