"""The solution: reads an order from its inputs, prints the price of one unit, and leaves its working in a file."""

import json
import os
from pathlib import Path

manifest = json.loads(os.environ["TRAP_MANIFEST"])
order = json.loads((Path(manifest["inputs_dir"]) / "order.json").read_text())
price = order["total"] / order["units"]
(Path(manifest["outputs_dir"]) / "working.json").write_text(json.dumps({"divided": [order["total"], order["units"]]}))
print(f"{price:.2f} {order['currency']}")
