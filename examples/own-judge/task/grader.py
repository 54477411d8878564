"""The grader: the mean of the scores there are."""

import json
import os

rows = json.loads(os.environ["TRAPTASK_MANIFEST"])
scores = [row["metrics"]["score"] for row in rows if row["judge_exit_code"] == 0]
mean = sum(scores) / len(scores) if scores else 0.0
print(
    json.dumps(
        {
            "passed": mean >= 0.8,
            "score": mean,
            "n_passed": sum(score == 1.0 for score in scores),
            "n_total": len(rows),
            "n_scored": len(scores),
        }
    )
)
