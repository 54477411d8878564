from __future__ import annotations

from typing import Any

import msgspec
import pytest

from evaluator import config
from evaluator.baselines import Found, Missing, Unreadable
from evaluator.baselines.branch import BranchStore
from evaluator.baselines.store import Place
from evaluator.config.types import GateConfig, Include
from evaluator.errors import UserError
from evaluator.github.base import Change, rules
from evaluator.github.client import Client
from evaluator.results import encode
from tests.servers.github_server import Fault, GitHubServer
from tests.unit.builders import found, outcomes, task_result

TASKS = "model: openai/gpt-4.1-mini\ntasks:\n  refunds: {source: ./evals/refunds}\n"
STRICT = TASKS + "gate:\n  rules:\n    - {metric: pass_rate, min: 0.9}\n"
LAX = TASKS + "gate:\n  rules:\n    - {metric: pass_rate, min: 0.1}\n"

BASELINE = found(task_result(outcomes(2, 0))).baseline


class Repository:
    """A repository with a base's tip, an old commit that the change branched off, and the change."""

    def __init__(self, server: GitHubServer) -> None:
        self.server = server
        self.tip, self.old, self.head = (server.commit(name) for name in ("tip", "old", "head"))

    def change(self, text: str = STRICT, **other: Any) -> Change:
        settings = {"config_path": "trap.yaml", "config": config.parse(text, "trap.yaml"), **other}
        return Change(repository="octo/agent", base_sha=self.tip, **settings)

    def has(self, path: str, data: str | bytes, commit: str | None = None) -> None:
        data = data.encode() if isinstance(data, str) else data
        self.server.add_file(path, data, commit or self.tip)


@pytest.fixture
def repository(server: GitHubServer) -> Repository:
    return Repository(server)


def test_gate_and_baseline_are_those_of_the_bases_tip_and_not_of_an_old_commit_that_the_author_chose(
    repository: Repository, client: Client
) -> None:
    repository.has("trap.yaml", STRICT)
    repository.has(".trap/baseline.json", encode(BASELINE))
    repository.has("trap.yaml", LAX, repository.old)
    repository.has("trap.yaml", LAX, repository.head)
    got = rules(client, repository.change(LAX))
    assert got.config is not None
    assert got.config.gate.rules is not None
    assert [rule.min for rule in got.config.gate.rules] == [0.9]
    assert got.baseline == Found(f".trap/baseline.json at {repository.tip[:12]}", BASELINE)


def test_a_change_of_the_gate_is_named(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", STRICT)
    notes = [note.text for note in rules(client, repository.change(LAX)).notes]
    assert notes == [
        "This change alters the gate in trap.yaml. It takes effect after the merge; this run is judged by the base's."
    ]


def test_a_gate_that_only_moves_to_another_line_is_no_change(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", STRICT)
    assert rules(client, repository.change("# a comment\n" + STRICT)).notes == []


def test_a_change_cannot_allow_itself_a_missing_baseline(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", STRICT)
    got = rules(client, repository.change(STRICT + "baseline: {allow_missing: true}\n"))
    assert got.config is not None
    assert got.config.baseline.allow_missing is False
    assert got.baseline == Missing(f".trap/baseline.json at {repository.tip[:12]}")
    assert [note.text for note in got.notes] == [
        "This change alters `baseline` in trap.yaml. It takes effect after the merge; this run is judged by the base's."
    ]


def test_the_base_may_allow_a_missing_baseline(repository: Repository, client: Client) -> None:
    text = STRICT + "baseline: {allow_missing: true}\n"
    repository.has("trap.yaml", text)
    got = rules(client, repository.change(text))
    assert got.config is not None
    assert got.config.baseline.allow_missing is True


def test_a_baselines_path_starts_at_the_folder_of_the_bases_trap_yaml(repository: Repository, client: Client) -> None:
    repository.has("evals/trap.yaml", STRICT + "baseline: {path: store/base line.json}\n")
    repository.has("evals/store/base line.json", encode(BASELINE))
    assert isinstance(rules(client, repository.change(config_path="evals/trap.yaml")).baseline, Found)


def test_the_workflow_may_name_another_baseline_which_is_read_from_the_base_too(
    repository: Repository, client: Client
) -> None:
    repository.has("trap.yaml", STRICT)
    repository.has("other.json", encode(BASELINE))
    repository.has("other.json", b"of the change", repository.head)
    assert isinstance(rules(client, repository.change(baseline_path="other.json")).baseline, Found)


def test_without_a_trap_yaml_on_the_base_the_changes_own_rules_apply_and_this_is_said(
    repository: Repository, client: Client
) -> None:
    got = rules(client, repository.change())
    assert (got.config, got.baseline) == (None, None)
    assert [note.text for note in got.notes] == ["The base has no trap.yaml yet, so this change's own rules apply."]


@pytest.mark.parametrize("data", [b"tasks: [", b"\xff\xfe\x00", b"", b"modle: x\n", b"[]"])
def test_a_trap_yaml_of_the_base_that_cannot_be_read_is_never_replaced_by_the_changes(
    repository: Repository, client: Client, data: bytes
) -> None:
    repository.has("trap.yaml", data)
    got = rules(client, repository.change(LAX))
    assert isinstance(got.baseline, Unreadable)
    # The default rules compare with the baseline, so an unreadable one leaves them without a verdict.
    assert got.config is not None
    assert got.config.gate == GateConfig()
    assert got.base is None  # nobody knows what it says, which sources it reads for one
    assert [note.text.partition(" (")[0] for note in got.notes] == ["The base's rules cannot be read"]


@pytest.mark.parametrize("data", [b"{}", b"", b'{"schema_version": 99}', b"[" * 100_000])
def test_a_baseline_of_the_base_that_cannot_be_read_is_unreadable_and_not_missing(
    repository: Repository, client: Client, data: bytes
) -> None:
    repository.has("trap.yaml", STRICT)
    repository.has(".trap/baseline.json", data)
    assert isinstance(rules(client, repository.change()).baseline, Unreadable)


@pytest.mark.parametrize("path", ["trap.yaml", "baseline"])
def test_a_server_that_fails_leaves_the_baseline_unreadable(repository: Repository, client: Client, path: str) -> None:
    repository.has("trap.yaml", STRICT)
    repository.server.fail("GET", path, *[Fault(503)] * 20)
    got = rules(client, repository.change())
    assert isinstance(got.baseline, Unreadable)
    assert "HTTP 503" in got.baseline.why
    assert got.config is not None


def test_a_404_is_not_believed_when_the_second_request_fails(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", STRICT)
    repository.server.fail("GET", "git/commits", Fault(400))
    got = rules(client, repository.change())
    assert got.baseline == Unreadable(f".trap/baseline.json at {repository.tip[:12]}", "HTTP 400")


@pytest.mark.parametrize("hidden", [False, True])
def test_a_token_that_may_not_read_the_repository_ends_the_run_before_anything_is_paid(
    repository: Repository, client: Client, hidden: bool
) -> None:
    repository.has("trap.yaml", STRICT)
    repository.server.granted = set()
    repository.server.hides_what_is_denied = hidden
    with pytest.raises(UserError) as caught:
        rules(client, repository.change())
    assert caught.value.code == "github-permission"
    assert "the base's rules cannot be read" in str(caught.value)
    assert "Add to the job: `permissions: {contents: read}`." in str(caught.value)


@pytest.mark.parametrize("what", ["contents/trap.yaml", "contents/.trap", "git/commits"])
def test_a_token_that_is_not_accepted_ends_the_run_too_and_no_permission_is_said_to_mend_it(
    repository: Repository, client: Client, what: str
) -> None:
    repository.has("trap.yaml", STRICT)
    repository.server.fail("GET", what, Fault(401, "Bad credentials"))
    with pytest.raises(UserError) as caught:
        rules(client, repository.change())
    assert (caught.value.code, str(caught.value)) == (
        "github-permission",
        "input github-token: the base's rules cannot be read: the server does not accept the token of `github-token` "
        "(Bad credentials)\n    Leave the input `github-token` out, so that it is the job's own token, or renew it.",
    )


@pytest.mark.parametrize("what", ["contents/trap.yaml", "contents/.trap", "git/commits"])
def test_a_server_that_refuses_for_another_reason_than_a_permission_leaves_the_baseline_unreadable(
    repository: Repository, client: Client, what: str
) -> None:
    """Such as the address of the runner: never "none yet"."""
    repository.has("trap.yaml", STRICT)
    repository.server.fail("GET", what, Fault(403, "Your IP address is not permitted."))
    got = rules(client, repository.change())
    assert isinstance(got.baseline, Unreadable)
    assert got.baseline.why == "HTTP 403 (Your IP address is not permitted.)"
    assert got.config is not None


def test_a_price_or_fewer_repeats_of_the_change_are_named_as_taking_effect_later(
    repository: Repository, client: Client
) -> None:
    text = STRICT.replace("tasks:", "repeats: 5\nprice: {input_per_million: 1, output_per_million: 2}\ntasks:")
    repository.has("trap.yaml", text)
    changed = text.replace("repeats: 5", "repeats: 1").replace(
        "price: {input_per_million: 1", "price: {input_per_million: 0"
    )
    got = rules(client, repository.change(changed))
    assert got.config is not None
    assert got.config.price is not None
    assert got.config.price.input_per_million == 1
    assert "`price`" in got.notes[0].text
    assert "from 5 to 1" in got.notes[0].text


def test_what_a_change_does_to_the_choice_of_cases_is_named(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", STRICT)
    loaded = config.parse(STRICT, "trap.yaml")
    name = loaded.tasks[0].name
    narrowed = msgspec.structs.replace(loaded.tasks[0], include=Include(ids=["a*"]))
    change = repository.change(config=msgspec.structs.replace(loaded, tasks=[narrowed], canaries="./own"))
    assert [note.text for note in rules(client, change).notes] == [
        f"This change alters what is evaluated in trap.yaml: `include` of {name}, `canaries`."
    ]


ON_A_BRANCH = STRICT + "baseline: {store: branch}\n"


def written(repository: Repository, client: Client, commit: str, branch: str = "main") -> None:
    """A baseline on the branch of baselines."""
    repository.server.granted |= {"contents: write"}
    run = msgspec.structs.replace(BASELINE.run, commit=commit)
    store = BranchStore(client, "octo/agent", branch="trapgate-baselines", keep=5)
    store.write(run, BASELINE.accepted, Place(None, branch, "trap.yaml"))


def test_a_baseline_on_a_branch_is_that_of_the_bases_very_commit(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", ON_A_BRANCH)
    for commit in (repository.tip, repository.old):
        written(repository, client, commit)
    got = rules(client, repository.change(ON_A_BRANCH, base_ref="main"))
    assert isinstance(got.baseline, Found)
    assert got.baseline.where == f"trapgate-baselines: main at {repository.tip[:12]}, of this very commit"
    assert got.notes == []


def test_else_it_is_the_newest_of_the_branch_that_the_change_goes_into(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", ON_A_BRANCH)
    written(repository, client, repository.old)
    written(repository, client, repository.head, branch="feature")
    got = rules(client, repository.change(ON_A_BRANCH, base_ref="main"))
    assert isinstance(got.baseline, Found)
    assert got.baseline.where == f"trapgate-baselines: main at {repository.old[:12]}, the newest"


def test_a_change_into_a_branch_without_a_baseline_is_compared_with_the_default_branch(
    repository: Repository, client: Client
) -> None:
    repository.has("trap.yaml", ON_A_BRANCH)
    written(repository, client, repository.old)
    got = rules(client, repository.change(ON_A_BRANCH, base_ref="feature", default_branch="main"))
    assert isinstance(got.baseline, Found)
    assert "main at " in got.baseline.where


@pytest.mark.parametrize(("before", "after"), [(ON_A_BRANCH, STRICT), (STRICT, ON_A_BRANCH)])
def test_a_change_of_the_store_has_no_effect_and_is_named(
    repository: Repository, client: Client, before: str, after: str
) -> None:
    repository.has("trap.yaml", before)
    repository.has(".trap/baseline.json", encode(BASELINE))
    written(repository, client, repository.tip)
    got = rules(client, repository.change(after, base_ref="main", baseline=encode(BASELINE)))
    assert isinstance(got.baseline, Found)
    assert got.baseline.where.startswith("trapgate-baselines" if before == ON_A_BRANCH else ".trap/baseline.json")
    assert [note.text for note in got.notes] == [
        "This change alters `baseline` in trap.yaml. It takes effect after the merge; this run is judged by the base's."
    ]


def test_a_branch_of_baselines_that_is_not_there_yet_is_missing_and_one_that_fails_unreadable(
    repository: Repository, client: Client
) -> None:
    repository.has("trap.yaml", ON_A_BRANCH)
    change = repository.change(ON_A_BRANCH, base_ref="main")
    assert rules(client, change).baseline == Missing("trapgate-baselines: main")
    repository.server.fail("GET", "git/matching-refs", *[Fault(503)] * 20)
    assert isinstance(rules(client, change).baseline, Unreadable)


def test_an_event_that_does_not_name_the_bases_branch_leaves_the_baseline_unreadable(
    repository: Repository, client: Client
) -> None:
    repository.has("trap.yaml", ON_A_BRANCH)
    got = rules(client, repository.change(ON_A_BRANCH))
    assert got.baseline == Unreadable("trapgate-baselines", "the event does not say which branch the base is")


def test_a_file_that_the_workflow_names_goes_before_the_branch(repository: Repository, client: Client) -> None:
    repository.has("trap.yaml", ON_A_BRANCH)
    repository.has("other.json", encode(BASELINE))
    got = rules(client, repository.change(ON_A_BRANCH, base_ref="main", baseline_path="other.json"))
    assert isinstance(got.baseline, Found)
    assert got.baseline.where.startswith("other.json at ")


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("model: a/b", "cmd: cat x", "`cmd`, the command in the place of a model"),
        ("cmd: cat x", "model: a/b", "`cmd`, which is gone"),
        ("models: [a/b, c/d]", "model: a/b", "`models`, without c/d"),
    ],
)
def test_a_change_of_what_answers_at_all_is_named(
    repository: Repository, client: Client, before: str, after: str, named: str
) -> None:
    tasks = "\ntasks:\n  t: {source: ./t}\n"
    repository.has("trap.yaml", (before + tasks).encode())
    got = rules(client, repository.change(after + tasks))
    assert f"This change alters what is evaluated in trap.yaml: {named}." in [note.text for note in got.notes]
