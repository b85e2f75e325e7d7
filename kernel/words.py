"""The sentences in which faults are told: each says what is wrong and what to do about it.

Names in braces are the fault's own fields. `PROBLEMS` are those of `invalid_field` and `invalid_output`, by what is
wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from foldstate.kernel.values import Code, Defect


class Sentence(Struct, frozen=True):
    zh: str
    en: str


SENTENCES: Final[Mapping[Code, Sentence]] = {
    "invalid_output": Sentence(
        "输出里要有且只有一个 JSON 对象；重新输出完整对象。",
        "The answer must carry exactly one JSON object; send the whole object again.",
    ),
    "batch_conflict": Sentence(
        "批次 {batch_id} 已接受过另一份内容；新的内容要用新的 batch_id。",
        "Batch {batch_id} was accepted with other content; send new content under a new batch_id.",
    ),
    "invalid_field": Sentence(
        "字段 {field} 不合规则；改正后重新提交。", "Field {field} breaks a rule; mend it and send again."
    ),
    "duplicate_declaration": Sentence(
        "{item} 在同一批里出现了多次（{paths}）；同一 ID 只写一次，嵌套声明和合并来源也算。",
        "{item} stands more than once in the batch ({paths}); write each id once, nested ones and merge "
        "sources counted.",
    ),
    "item_exists": Sentence(
        "{item} 已经用过（状态 {status}）；新事项换一个从未用过的 ID，同一事项用 supersedes:{item}。",
        "{item} is taken (status {status}); give a new thing a fresh id, or patch the same thing with "
        "supersedes:{item}.",
    ),
    "item_not_found": Sentence(
        "没有条目 {item}；核对 ID 用已有条目的原 ID，新事项用 relation new。",
        "There is no item {item}; check the id against the state, or declare it as new.",
    ),
    "item_merged": Sentence(
        "{item} 已合并；改写后继 {merged_into}。",
        "{item} was merged; write its successor {merged_into} instead.",
    ),
    "unsupported_move": Sentence(
        "{item} 属于 {layer} 层，不能借 children 移到 {parent} 下；在顶层直接补丁它。",
        "{item} belongs to layer {layer} and can't be moved under {parent}; patch it at the top level instead.",
    ),
    "inactive_parent": Sentence(
        "{item} 的父项 {parent} 不在当前状态里；先恢复父项，或不改这个孩子。",
        "{item} lies under {parent}, which isn't active; restore the parent as well, or leave the child alone.",
    ),
    "explicit_withdraw_required": Sentence(
        "{item} 的 children 漏掉了 {omitted_children}；只改一个孩子就移到顶层单独补丁，"
        "确实要移除就逐个写 withdraw 和 reason。",
        "children of {item} leaves out {omitted_children}; to change one child, patch it at the top level, "
        "and to remove them, withdraw each with a reason.",
    ),
    "unsupported_merge_structure": Sentence(
        "{item} 不能这样合并：来源必须是 active 且从未有过子层的条目，结果不带 children；改用 supersedes 或 withdraw。",
        "{item} can't be merged so: sources must be active and never have had children, and the result has none; "
        "supersede or withdraw instead.",
    ),
    "merge_layer_mismatch": Sentence(
        "{item} 的合并来源分属不同的层（{layers}）；只合并同一层的条目。",
        "The sources of {item} stand in different layers ({layers}); merge only items of one layer.",
    ),
    "disposition_missing": Sentence(
        "事件 {events} 还没有处置；每个事件给且只给一条 disposition。",
        "Events {events} have no disposition; give each event exactly one.",
    ),
    "disposition_duplicate": Sentence(
        "事件 {event} 有多条处置；只保留一条。",
        "Event {event} has more than one disposition; keep one.",
    ),
    "disposition_unknown_event": Sentence(
        "事件 {event} 不在本轮输入里；删掉这条处置，或改成本轮的事件 id。",
        "Event {event} isn't in this round; drop this disposition or name an event of the round.",
    ),
    "related_not_found": Sentence(
        "related 里的 {item} 既不存在也不在本批新建；改成真实的条目 ID，或去掉它。",
        "related names {item}, which neither exists nor is declared here; use a real item's id or leave it out.",
    ),
    "source_required": Sentence(
        '{item} 没有引用事件；在 sources 里用 ref "event:<id>" 引用支撑它的事件。',
        '{item} cites no event; cite the event that supports it in sources with ref "event:<id>".',
    ),
    "event_not_found": Sentence(
        "{item} 引用的事件 {event} 不存在；照抄输入里的事件 id。",
        "{item} cites event {event}, which doesn't exist; copy the event's id as it was given.",
    ),
    "channel_mismatch": Sentence(
        "事件 {event} 的 channel 是 {expected}，不是 {channel}；照抄事件的 channel。",
        "Event {event} came by channel {expected}, not {channel}; copy the event's channel.",
    ),
    "quote_not_found": Sentence(
        "{item} 的 quote 不在事件 {event} 的原文里；逐字摘录原文，中间省略用 … 隔开，或去掉 quote。",
        "The quote of {item} doesn't stand in event {event}; copy its words exactly, cut with … where needed, "
        "or leave the quote out.",
    ),
    "cited_not_used": Sentence(
        "事件 {event} 被 {item} 引用，处置却是 {disposition}；把处置改为 used，或不引用它。",
        "Event {event} is cited by {item} but disposed of as {disposition}; make it used, or don't cite it.",
    ),
    "annotation_not_found": Sentence(
        "没有批注 {annotation}；acknowledges 只写 pending_annotations 里或已存在的批注 ID。",
        "There is no annotation {annotation}; acknowledge only ids from pending_annotations or existing ones.",
    ),
    "stale_base": Sentence(
        "{changed} 在本轮开始后被别的提交改过（当前 revision {current}）；读新的状态，重新开一轮。",
        "{changed} changed after this was begun (the revision is now {current}); read the new state and begin again.",
    ),
    "layer_budget": Sentence(
        "{layer} 层份额共 {declared}，超出预算 {budget} 有 {over} 份（{shares}）；"
        "决定谁让位：降档、撤下或合并，并写 reason。",
        "Layer {layer} takes {declared} of {budget}, {over} too many ({shares}); decide who yields: lower a weight, "
        "withdraw or merge, with a reason.",
    ),
}

PROBLEMS: Final[Mapping[Defect, Sentence]] = {
    "no_object": Sentence(
        '输出里没有 JSON 对象；重新输出一个完整的 {{"dispositions": [...], "batch": {{...}}}}。',
        'The answer carries no JSON object; send one: {{"dispositions": [...], "batch": {{...}}}}.',
    ),
    "several_objects": Sentence(
        "输出里有 {count} 个 JSON 对象；只输出一个完整对象。",
        "The answer carries {count} JSON objects; send exactly one.",
    ),
    "broken_json": Sentence(
        "第 {position} 个字符处开始的 JSON 不完整或有语法错误；检查引号、逗号和括号，重新输出完整对象。",
        "The JSON that begins at character {position} is broken or cut off; check quotes, commas and "
        "brackets and send the whole object again.",
    ),
    "missing": Sentence("缺少必填字段 {field}；补上它。", "The required field {field} is missing; add it."),
    "null": Sentence("{field} 不能是 null；给出值，或省略它。", "{field} can't be null; give a value or leave it out."),
    "unknown_field": Sentence("没有 {field} 这个字段；删掉它。", "There is no field {field}; take it out."),
    "withdraw_only": Sentence(
        "withdraw 只写 id、relation、reason；删掉 {field}。",
        "A withdraw carries only id, relation and reason; take out {field}.",
    ),
    "not_object": Sentence(
        "{field} 要写成 JSON 对象；改正结构。", "{field} takes a JSON object here; mend the structure."
    ),
    "not_list": Sentence("{field} 要写成列表；改正结构。", "{field} takes a list; mend the structure."),
    "not_text": Sentence("{field} 要写成字符串；加上引号。", "{field} takes a string; put it in quotes."),
    "too_large": Sentence(
        "整批不能超过 {limit} 字节；减少声明或缩短内容。",
        "A batch takes at most {limit} bytes; declare less or shorten it.",
    ),
    "too_many": Sentence(
        "{field} 最多 {limit} 项，现有 {length} 项；减少到上限以内。",
        "{field} takes at most {limit} entries and has {length}; leave some out.",
    ),
    "too_deep": Sentence(
        "{field} 太深：最多 {limit} 层，含根层；把内容放到上一层。",
        "{field} lies too deep: there are at most {limit} layers, the root counted; put it one layer up.",
    ),
    "empty": Sentence(
        "{field} 不能是空列表；写出内容，或省略它以保留原值。",
        "{field} can't be an empty list; fill it, or leave it out to keep what is there.",
    ),
    "id": Sentence(
        "{field} 只能用 1 到 {limit} 个小写字母、数字或连字符；换一个 ID。",
        "{field} takes 1 to {limit} lower-case letters, digits or hyphens; choose another id.",
    ),
    "reserved": Sentence(
        "root 是保留名，不能作条目 ID；换一个 ID。", "root is reserved and can't be an item's id; choose another."
    ),
    "blank": Sentence(
        "{field} 不能为空或只有空白；写出内容，可清空的字段用 null。",
        "{field} can't be empty or white space only; write something, or clear a clearable field with null.",
    ),
    "too_long": Sentence(
        "{field} 有 {length} 个字符，最多 {limit} 个；缩短它。",
        "{field} has {length} characters and takes at most {limit}; shorten it.",
    ),
    "character": Sentence(
        "{field} 第 {position} 个字符是不允许的控制字符 {character}（从 0 数起）；去掉它。",
        "{field} has the control character {character} at position {position}, counted from 0; take it out.",
    ),
    "choice": Sentence(
        "{field} 只能是 {allowed} 之一；改用其中一个。", "{field} is one of {allowed}; use one of these."
    ),
    "time": Sentence(
        "{field} 要写成带时区的 ISO 时刻，例如 2026-10-16T16:00:00+08:00；改正格式。",
        "{field} takes a time with an offset, like 2026-10-16T16:00:00+08:00; mend it.",
    ),
    "share": Sentence(
        "{field} 是 1 到 {limit} 的整数；改成整数，取消覆盖用 null。",
        "{field} is a whole number from 1 to {limit}; mend it, or cancel an override with null.",
    ),
    "relation": Sentence(
        "{field} 只支持 new、supersedes:<id>、merges:[a, b]、withdraw；改用其中一种。",
        "{field} is new, supersedes:<id>, merges:[a, b] or withdraw; use one of these.",
    ),
    "relation_other_id": Sentence(
        "supersedes 后面的 ID 必须与 id 相同；改成同一个。",
        "The id after supersedes: must be the declaration's own id; make them the same.",
    ),
    "relation_nested": Sentence(
        "children 里不能写 merges；把合并移到顶层。",
        "merges can't stand inside children; move the merge to the top level.",
    ),
    "merges_fewer": Sentence(
        "merges 至少要列两个条目；补上另一个，或改用 supersedes。",
        "merges takes two items or more; list another, or supersede instead.",
    ),
    "summary_needed": Sentence(
        "{item} 有子层，summary 必须非空；写一句能脱离子层读懂的摘要。",
        "{item} has children, so it needs a summary; write one that can be read without them.",
    ),
    "reason_needed": Sentence(
        "{item} 缺 reason：降档、设置或取消 share 覆盖、撤下都要写明依据；补上 reason。",
        "{item} owes a reason: lowering a weight, setting or cancelling a share and withdrawing all need one; add it.",
    ),
    "noise_related": Sentence(
        "noise 不涉及任何条目；把 related 写成空列表，或改用别的处置。",
        "Noise is related to nothing; empty related, or choose another disposition.",
    ),
}
