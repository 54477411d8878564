import asyncio
import time

from evaluator.runners.limiter import Limiter


def test_no_more_calls_than_the_ceiling_are_in_flight():
    async def main():
        limiter, now, peak = Limiter(3), 0, 0

        async def call():
            nonlocal now, peak
            async with limiter.slot():
                now += 1
                peak = max(peak, now)
                await asyncio.sleep(0.001)
                now -= 1
            limiter.succeeded()

        await asyncio.gather(*(call() for _ in range(30)))
        return peak, now

    assert asyncio.run(main()) == (3, 0)


def test_calls_that_were_refused_together_halve_the_limit_once():
    async def main():
        limiter = Limiter(16)
        tokens = []
        for _ in range(10):
            async with limiter.slot() as token:
                tokens.append(token)
        for token in tokens:
            limiter.congested(token)
        return limiter.limit

    assert asyncio.run(main()) == 8


def test_repeated_congestion_ends_at_one_call_at_a_time():
    async def main():
        limiter = Limiter(16)
        for _ in range(10):
            async with limiter.slot() as token:
                limiter.congested(token)
        return limiter.limit

    assert asyncio.run(main()) == 1


def test_success_brings_back_one_call_a_round_up_to_the_ceiling():
    async def main():
        limiter = Limiter(4)
        for _ in range(2):
            async with limiter.slot() as token:
                limiter.congested(token)
        limits = [limiter.limit]
        for _ in range(20):
            limiter.succeeded()
            limits.append(limiter.limit)
        return limits

    limits = asyncio.run(main())
    assert limits[:2] == [1, 2]
    assert limits == sorted(limits)
    assert limits[-1] == 4


def test_a_pause_holds_back_calls_that_were_not_refused_themselves():
    async def main():
        limiter = Limiter(8)
        limiter.pause(0.1)
        began = time.monotonic()
        async with limiter.slot():
            return time.monotonic() - began

    assert asyncio.run(main()) >= 0.1


def test_a_shorter_pause_does_not_shorten_a_longer_one():
    async def main():
        limiter = Limiter(8)
        limiter.pause(0.1)
        limiter.pause(0.0)
        began = time.monotonic()
        async with limiter.slot():
            return time.monotonic() - began

    assert asyncio.run(main()) >= 0.1


def test_a_cancelled_wait_takes_no_place():
    async def main():
        limiter = Limiter(1)
        async with limiter.slot():
            waiting = asyncio.ensure_future(limiter.slot().__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
        async with asyncio.timeout(1), limiter.slot():
            return "free"

    assert asyncio.run(main()) == "free"


def test_a_limiter_outlives_its_event_loop():
    limiter = Limiter(1)

    async def main():
        async def call():
            async with limiter.slot():
                await asyncio.sleep(0)

        await asyncio.gather(call(), call(), call())

    asyncio.run(main())
    asyncio.run(main())
