"""litellm comes late and quietly."""

import os
import subprocess
import sys
from pathlib import Path

CHECK = """
import os, sys
import evaluator.runners.model, evaluator.runners.schedule, evaluator.runners.recorded, evaluator.progress
from evaluator.runners import client
early = {"litellm", "openai", "httpx", "rich", "requests"} & set(sys.modules)
assert not early, early
client.warm_up().join()
assert "litellm" in sys.modules
assert os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
litellm = client.load()
assert (litellm.num_retries, litellm.drop_params, litellm.callbacks) == (0, False, [])
assert litellm.get_supported_openai_params("no-such-provider/x") is None
"""


def test_litellm_is_imported_only_when_it_is_asked_for_and_prints_nothing():
    environ = {name: value for name, value in os.environ.items() if name != "LITELLM_LOCAL_MODEL_COST_MAP"}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", CHECK],
        capture_output=True,
        text=True,
        env=environ,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
