from contextlib import asynccontextmanager

import fuzzmcp
from fuzzmcp.api import case_of
from fuzzmcp.examples.naive_agent import connect as naive
from fuzzmcp.examples.sdk_client import connect as bare
from fuzzmcp.search.findings import Tally, fingerprint_of, kinds_of, reaction, shape_of


def test_a_fingerprint_names_check_kinds_and_exception_and_nothing_else():
    def fingerprint(script, **options):
        run = fuzzmcp.run(naive, script, **options)
        return fingerprint_of("request_budget", run.case, run, fuzzmcp.violations(run)["request_budget"])

    assert fingerprint("error*4") == fingerprint("error*5")
    assert fingerprint("error*4") == fingerprint("error*4", calls=['get_order(order_id="A9")'])
    assert fingerprint("error*4") != fingerprint("504*4")


def test_kinds_name_the_method_where_it_is_not_a_call():
    assert kinds_of(case_of("list:rpc(-32603),late,ok+dup*3")) == ("dup", "late", "list:rpc")


def test_a_tally_counts_verdicts_faults_and_reactions():
    tally = Tally()
    for script in ("429cap", "hang", "ok"):
        run = fuzzmcp.run(bare, script)
        tally.add(run, fuzzmcp.judge(run))
    checks, faults = tally.as_json()
    assert sum(checks["spend_cap"].values()) == 3
    assert checks["spend_cap"] == {"held": 1, "violated": 0, "not_exercised": 2}
    assert faults["429cap"] == {"injected": 1, "reactions": {"returned an error": 1}}
    assert list(faults["hang"]["reactions"].values()) == [1]


def test_a_reaction_says_when_the_request_was_sent_again():
    run = fuzzmcp.run(naive, "529")
    serial, _ = run.played[0]
    assert reaction(run, serial) == "sent again"


def test_two_replays_of_one_case_have_the_same_shape():
    assert shape_of(fuzzmcp.run(naive, "429,hang")) == shape_of(fuzzmcp.run(naive, "429,hang"))
    assert shape_of(fuzzmcp.run(naive, "429,hang")) != shape_of(fuzzmcp.run(naive, "429,504"))


def test_the_contract_says_which_words_are_an_error():
    @asynccontextmanager
    async def in_words(server):
        async with bare(server) as call_tool:

            async def call(tool, arguments):
                return f"Failed: {(await call_tool(tool, arguments)).content[0].text}"

            yield call

    run = fuzzmcp.run(in_words, "error")
    serial, _ = run.played[0]
    assert reaction(run, serial) == "returned"
    assert reaction(run, serial, fuzzmcp.Contract(error_words=("Failed: ",))) == "returned an error"
