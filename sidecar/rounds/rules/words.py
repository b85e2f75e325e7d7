"""What the rules say, in both languages. What stands in braces is filled in and then cut to the contract's limits."""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

from foldstate.kernel.values import Language


class Words(Struct, frozen=True):
    # titles
    approve: str
    answer: str
    decided: str
    answered: str
    running: str
    ended_well: str
    ended_otherwise: str
    reminder: str
    unnamed: str

    # summaries
    asked_fully: str
    gone_target: str
    last_known: str

    # why an event was used or deferred
    waits: str
    settles: str
    starts: str
    ends: str
    reminds: str
    heard: str
    not_structured: str
    nothing_open: str
    others_item: str
    no_room: str

    # reasons of declarations
    because_settled: str
    because_room: str
    because_act: str
    because_ack: str
    because_kept: str
    because_deadline: str
    because_stale: str


ZH = Words(
    approve="待批：{}",
    answer="待答：{}",
    decided="已有批示：{}",
    answered="已答复：{}",
    running="运行中：{}",
    ended_well="已结束：{}",
    ended_otherwise="未跑完：{}",
    reminder="提醒：{}",
    unnamed="（没有文字）",
    asked_fully="在等你：{}",
    gone_target="到了你要求的时间；该条目已不在状态里。",
    last_known="最后已知，待核实：{}",
    waits="在等用户答复，答复之前一直列着。",
    settles="此前的询问有了答复，不再等用户。",
    starts="已启动，还没有结束的消息。",
    ends="宿主说它已结束。",
    reminds="用户要求此刻再提起这一条。",
    heard="用户对这一条的反馈。",
    not_structured="不是固定规则能判的结构化事实，留给人或模型。",
    nothing_open="没有与它对应、仍在等待的询问，留给人或模型。",
    others_item="涉及的条目不是规则编辑建的，留给人或模型。",
    no_room="预算已满，没有可让位的条目，留待下次。",
    because_settled="已有结果，不再需要用户。",
    because_room="给更要紧的条目让位。",
    because_act="用户说已经办了。",
    because_ack="已有结果，用户也看过了。",
    because_kept="已有结果，只保留最近的几条。",
    because_deadline="期限或提醒的时间到了，或就在两小时之内。",
    because_stale="依据已过有效时刻，没有新的消息。",
)

EN = Words(
    approve="Approve: {}",
    answer="Answer: {}",
    decided="Decided: {}",
    answered="Answered: {}",
    running="Running: {}",
    ended_well="Ended: {}",
    ended_otherwise="Not finished: {}",
    reminder="Reminder: {}",
    unnamed="(no words)",
    asked_fully="Waits for you: {}",
    gone_target="The time you asked for; the item has left the state.",
    last_known="Last known, to be checked: {}",
    waits="It waits for the user's answer, and is listed until that comes.",
    settles="What was asked has its answer; it waits for the user no longer.",
    starts="It was started, and nothing was heard of its end.",
    ends="The host says that it ended.",
    reminds="The user asked to be reminded of this now.",
    heard="The user's feedback on this item.",
    not_structured="No structured fact that fixed rules can judge; left to a person or a model.",
    nothing_open="Nothing that it answers is waiting; left to a person or a model.",
    others_item="It is about an item that these rules did not make; left to a person or a model.",
    no_room="The budget is full and nothing here may yield; left for later.",
    because_settled="It is settled and asks nothing more of the user.",
    because_room="It yields to what matters more.",
    because_act="The user says that it is done.",
    because_ack="It is settled, and the user has seen it.",
    because_kept="It is settled, and only the newest few of those stay.",
    because_deadline="Its deadline or reminder has come, or comes within two hours.",
    because_stale="Its evidence is out of date, and nothing newer was heard.",
)


def words(language: Language) -> Words:
    match language:
        case "zh":
            return ZH
        case "en":
            return EN
        case _:
            assert_never(language)
