from evaluator.runners.bounds import bounded
from evaluator.transcript import Call, Transcript


def test_an_answer_within_the_bound_is_the_same_object():
    answer = Transcript(text="x" * 100, calls=[Call(tool="f", arguments="{}")])
    assert bounded(answer, most=1000) is answer


def test_a_long_text_is_cut_and_the_rest_counted():
    kept = bounded(Transcript(text="x" * 1200, stop_reason="stop"), most=1000)
    assert (len(kept.text), kept.cut, kept.stop_reason) == (1000, 200, "stop")


def test_long_arguments_are_cut_and_the_rest_counted():
    kept = bounded(Transcript(calls=[Call(tool="f", arguments="a" * 2000)]), most=1000)
    (call,) = kept.calls
    assert len(call.arguments) + kept.cut == 2000
    assert len(call.arguments) <= 1000


def test_calls_beyond_the_bound_are_left_out_and_counted():
    calls = [Call(tool="tool", arguments="{}") for _ in range(1_000)]
    kept = bounded(Transcript(calls=calls), most=700)
    assert len(kept.calls) == 10
    assert kept.cut == 990 * len("tool{}")


def test_calls_after_a_text_that_fills_the_bound_are_left_out():
    kept = bounded(Transcript(text="x" * 1000, calls=[Call(tool="f", arguments="{}")]), most=1000)
    assert (kept.calls, kept.cut) == ([], 3)


def test_a_call_without_characters_that_is_left_out_still_shows():
    kept = bounded(Transcript(text="x" * 1000, calls=[Call(tool="", arguments="")]), most=1000)
    assert kept.calls == []
    assert kept.cut > 0
