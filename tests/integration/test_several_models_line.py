"""`models: [a, b]` from trap.yaml to a verdict: the command line as a process, one server that answers by model."""

from __future__ import annotations

import json
import shutil

import pytest

from evaluator import config as configuration
from evaluator import loading
from evaluator.cases import made_with
from evaluator.config.subject import load_subject
from tests.integration.agents import (
    accept,
    at_once,
    attempts,
    copy,
    edited,
    fixture_path,
    hasty,
    interrupted,
    only_hasty,
    order_of,
    results_of,
    right,
    run,
    texts,
    trap,
    turn,
    write,
    write_repository,
)
from tests.integration.repository import trapgate
from tests.servers.model_server import ModelServer

CASES = 8
# Models whose price is known: 46.8 and 11.7 millionths of a dollar for an attempt of 33 tokens in and 21 out.
DEAR, CHEAP, OTHER = "openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "openai/gpt-4o-mini"
DEAR_COST, CHEAP_COST = 33 * 0.4e-6 + 21 * 1.6e-6, 33 * 0.1e-6 + 21 * 0.4e-6
RULE = "metric: pass_rate, max_drop: 0.05"


def several(*models, rule=RULE, limits="{concurrency: 4}"):
    text = trap(rule, model=f"models: [{', '.join(models)}]")
    return text.replace("baseline:", f"limits: {limits}\nbaseline:")


def wrong_by(**wrong):
    """A script by which the models of these names refund 49.00 of the orders below a number."""

    def script(request):
        name = request.body["model"].replace("gpt-", "").replace(".", "").replace("-", "_")
        order = order_of(request)
        return turn(request, right(order, 49.0 if order < wrong.get(f"m{name}", 0) else 24.5))

    return script


@pytest.fixture(scope="module")
def accepted(tmp_path_factory):
    folder = write_repository(tmp_path_factory.mktemp("accepted"), CASES, several(DEAR, CHEAP))
    done, found = run(folder, wrong_by())
    assert (done.returncode, found.verdict) == (0, "pass"), done.stdout + done.stderr
    accept(folder)
    return folder


@pytest.fixture(scope="module")
def runs(accepted, tmp_path_factory):
    """Name → folder, process and results of a run of a changed repository or other models."""
    parent = tmp_path_factory.mktemp("changed")

    def job(name, script, text, *arguments):
        folder = copy(accepted, parent / name)
        write(folder / "trap.yaml", text)
        if name == "worse":
            hasty(folder)
        return lambda: (folder, *run(folder, script, *arguments))

    return at_once(
        {
            "interrupted": lambda: stopped_and_resumed(copy(accepted, parent / "interrupted")),
            "worse": job("worse", only_hasty(wrong_by(m41_nano=8, m41_mini=1)), several(CHEAP, DEAR)),
            "another": job("another", wrong_by(m4o_mini=8), several(DEAR, OTHER)),
            "one": job("one", wrong_by(), several(DEAR, CHEAP), "--model", CHEAP),
        }
    )


def stopped_and_resumed(folder):
    """What came of a run that gets SIGTERM when the second model's turn has begun, of the next one, which has a limit
    on its cost, and how many requests there were in all."""
    write(folder / "trap.yaml", several(DEAR, CHEAP, limits="{concurrency: 1}"))
    with ModelServer(lambda request: turn(request, right(order_of(request)), delay=0.03)) as server:
        first = interrupted(folder, server, "run", 3 * CASES + 4)
        stopped = results_of(folder)
        write(folder / "trap.yaml", several(DEAR, CHEAP, limits="{concurrency: 1, max_cost_usd: 4.0e-4}"))
        second = trapgate(folder, "run", base_url=server.base_url)
        return first, stopped, second, results_of(folder), len(server.requests)


def by_model(found):
    """Model → its own verdict."""
    first = found.alone.verdict if found.alone is not None else found.verdict
    return {found.subject.model: first} | {each.subject.model: each.verdict for each in found.beside}


def test_each_model_has_its_results_and_the_table_has_a_row_for_each(accepted):
    baseline = json.loads((accepted / ".trap" / "baseline.json").read_text())["run"]
    assert [baseline["subject"]["model"]] == [DEAR]
    assert [each["subject"]["model"] for each in baseline["beside"]] == [CHEAP]
    found = results_of(accepted)
    assert by_model(found) == {DEAR: "pass", CHEAP: "pass"}
    assert found.alone.reasons == []
    costs = [each.totals.cost_usd for each in (found, *found.beside)]
    assert costs == [pytest.approx(CASES * DEAR_COST), pytest.approx(CASES * CHEAP_COST)]
    for each in (found, *found.beside):
        assert len(attempts(each)) == CASES
    comment = (accepted / "trapgate-results" / "comment.md").read_text()
    rows = [line for line in comment.splitlines() if f"`{DEAR}`" in line or f"`{CHEAP}`" in line]
    assert len([row for row in rows if row.startswith("|")]) >= 2
    done = trapgate(accepted, "baseline", "show")
    assert [line.strip() for line in done.stdout.splitlines() if line.strip() in (DEAR, CHEAP)] == [DEAR, CHEAP]


def test_one_model_that_got_worse_blocks_and_is_named_whatever_the_order_of_models(runs):
    folder, done, found = runs["worse"]
    assert (done.returncode, found.verdict) == (1, "regression")
    assert by_model(found) == {CHEAP: "regression", DEAR: "pass"}
    assert [reason.text.partition(": ")[0] for reason in found.reasons] == [CHEAP]
    assert found.comparison.tasks[0].paired == found.beside[0].comparison.tasks[0].paired == CASES
    assert not any("model" in line for line in found.comparison.fingerprint)
    comment = (folder / "trapgate-results" / "comment.md").read_text()
    assert CHEAP in comment.splitlines()[0]
    assert "schemas" in comment  # the fix that wrong arguments call for


def test_a_possible_drop_of_another_model_is_a_warning_that_names_it(runs):
    folder, done, found = runs["worse"]
    warned = [reason.text for reason in found.warnings if reason.kind == "rule"]
    assert len(warned) == 1
    assert warned[0].startswith(f"{DEAR}: refunds pass_rate, max_drop 0.05: possible drop, 1.00 → 0.875")
    assert warned[0] in " ".join(done.stdout.split())
    assert f"`{DEAR}`: refunds `pass_rate`" in (folder / "trapgate-results" / "comment.md").read_text()


def test_stored_results_of_several_models_are_judged_as_they_were_live(runs):
    for name in ("worse", "another"):
        folder, done, found = runs[name]
        again = trapgate(
            *(folder, "compare", ".trap/baseline.json", "trapgate-results/results.json"),
            *("--config", "trap.yaml", "--json"),
        )
        judged = json.loads(again.stdout)
        assert again.returncode == done.returncode
        assert judged["alone"]["verdict"] == found.alone.verdict
        assert [each["verdict"] for each in judged["beside"]] == [each.verdict for each in found.beside]
        assert [each["text"] for each in judged["reasons"]] == [each.text for each in found.reasons]
        assert [each["text"] for each in judged["warnings"]] == [each.text for each in found.warnings]


def test_a_model_that_is_gone_is_missing_and_a_new_one_is_held_to_the_first(runs):
    _, done, found = runs["another"]
    assert (done.returncode, found.verdict) == (3, "inconclusive")
    assert texts(found.reasons) == f"The baseline has the model {CHEAP}, and this run does not."
    note = f"The baseline does not know {OTHER}: it is compared with the baseline's {DEAR}."
    assert note in texts(found.warnings)
    assert note in done.stdout
    assert by_model(found) == {DEAR: "pass", OTHER: "regression"}
    assert found.beside[0].comparison.tasks[0].paired == CASES
    assert f"{OTHER}: refunds pass_rate" in texts(found.warnings)


def test_one_model_of_several_is_held_to_its_own_baseline_and_is_none_for_all(runs):
    folder, done, found = runs["one"]
    assert (done.returncode, found.verdict, found.beside) == (0, "pass", [])
    assert found.subject.model == CHEAP
    assert found.comparison.tasks[0].paired == CASES
    assert not any("model" in line for line in found.comparison.fingerprint)
    before = (folder / ".trap" / "baseline.json").read_bytes()
    done = trapgate(folder, "baseline", "accept")
    assert done.returncode == 2
    assert f"it does not have every model of trap.yaml: {DEAR} is missing" in done.stderr
    assert (folder / ".trap" / "baseline.json").read_bytes() == before


def test_a_rule_on_the_cost_of_the_run_is_judged_by_the_sum_and_said_once(accepted, tmp_path):
    for limit, code in [(CASES * (DEAR_COST + CHEAP_COST) - 1e-6, 1), (CASES * (DEAR_COST + CHEAP_COST) + 1e-6, 0)]:
        gate = several(DEAR, CHEAP).replace("{task: refunds, " + RULE, f"{{metric: cost_usd, max: {limit:.9f}")
        write(tmp_path / "trap.yaml", gate)
        results = ("trapgate-results/results.json", "--config", str(tmp_path / "trap.yaml"))
        done = trapgate(accepted, "compare", ".trap/baseline.json", *results, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        reasons = json.loads(done.stdout)["reasons"]
        assert len(reasons) == code
        assert not any(model in reason["text"] for reason in reasons for model in (DEAR, CHEAP))


def test_an_interrupted_run_of_several_models_goes_on_where_it_was_and_pays_once(runs):
    (code, said), stopped, done, found, requests = runs["interrupted"]
    assert (code, stopped.verdict) == (3, "inconclusive"), said
    assert stopped.tasks[0].scored == CASES
    assert 0 < stopped.beside[0].tasks[0].scored < CASES
    assert stopped.beside[0].totals.infrastructure.keys() == {"cancelled"}
    assert f"{CASES + stopped.beside[0].tasks[0].scored} attempts were taken from" in done.stdout
    assert attempts(found) == attempts(stopped)
    assert requests == 3 * (CASES + 3)


def test_the_limit_on_cost_is_that_of_the_run_and_of_what_an_interrupted_one_has_paid(runs):
    _, _, done, found, _ = runs["interrupted"]
    assert (done.returncode, found.verdict) == (3, "inconclusive")
    # All of the dear ones cost 0.374 thousandths of a dollar; three cheap ones reach 0.4.
    assert [each.tasks[0].scored for each in (found, *found.beside)] == [CASES, 3]
    assert found.beside[0].totals.infrastructure == {"cost_limit": CASES - 3}
    assert by_model(found) == {DEAR: "pass", CHEAP: "inconclusive"}
    assert texts(found.reasons).startswith(f"{CHEAP}: ")


def test_recordings_of_one_of_several_models_are_held_to_its_own_baseline(runs, tmp_path):
    """In the baseline the first model failed in every case, and the second, which is recorded here, in one."""
    folder = tmp_path / "copy"
    shutil.copytree(runs["worse"][0], folder)
    accept(folder)
    config = configuration.load(folder / "trap.yaml")
    subject = load_subject(config, folder, DEAR)
    task = loading.with_tools(loading.load(config.tasks[0], folder, tmp_path, {}), subject.tools)
    for order, case in enumerate(task.cases):
        calls = [{"tool": tool, "args": args} for message in right(order) for tool, args in message]
        whole = made_with(subject, case)
        made = {"digest": whole.digest(), "parts": whole.entries()}
        recording = {"actual_invocations": calls, "final_answer": "Half of it.", "subject": made}
        edited(fixture_path(folder, order), recordings=[recording])
    done = trapgate(folder, "score", "./evals/refunds", "--config", "trap.yaml")
    found = results_of(folder)
    assert (done.returncode, found.verdict) == (0, "pass"), done.stdout + done.stderr
    assert [change.id for change in found.comparison.tasks[0].fixed] == ["r00"]
