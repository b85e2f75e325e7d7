"""The Chinese table."""

from __future__ import annotations

from typing import Final

from foldstate.sidecar.cli.words.table import Words

ZH: Final = Words(
    installed_with_pnpm="Foldstate {version} 已装入配置 {profile}（经 pnpm）。",
    installed_without_pnpm="Foldstate {version} 已装入配置 {profile}（未用 pnpm）。",
    installed_already="配置 {profile} 里已经是 Foldstate {version}。",
    other_version="配置 {profile} 里是 {version} 版；运行 `foldstate install --profile {profile}` 更新它。",
    start_again="正在运行的 DSH 重新启动后生效。",
    removed="Foldstate 已从配置 {profile} 移除。",
    not_installed="配置 {profile} 里没有安装 Foldstate，未作任何改动。",
    not_installed_anywhere="这里没有任何配置装有 Foldstate，未作任何改动。",
    data_stays="各会话的状态仍保留在 {path}。",
    desktop="配置 desktop 只由桌面应用管理，不受支持；请用 web、headless 或 sdk。",
    unknown_profile="没有可以安装 Foldstate 的配置 {profile}；请用 web、headless 或 sdk。",
    no_profile=(
        "配置 {profile} 还不存在，也没有找到能创建它的 dsh 命令；"
        "先运行一次 `dsh {profile}`，或用 --dsh PATH 指明 dsh 的位置。"
    ),
    dsh_not_found="{path} 不是可以运行的程序；请用 --dsh 给出 dsh 命令的路径。",
    profile_not_made="dsh 未能创建配置 {profile}：{detail}；先运行一次 `dsh {profile}` 查看完整信息，再重试。",
    manifest_unreadable="{path} 无法按 JSON 读取（{detail}）；请修好或移开它再重试。文件未作任何改动。",
    manifest_shape="{path} 里的 {field} 不是 DSH 所要的样子；请修好它再重试。文件未作任何改动。",
    pnpm_failed=(
        "pnpm 未能改动配置 {profile}：{detail}；Foldstate 在其中的部分已恢复原样。"
        "运行 `dsh plugin --profile {profile} install` 查看完整信息，再重试。"
    ),
    not_as_shipped=(
        "pnpm 放进配置 {profile} 的内容与 Foldstate 自带的不一致；Foldstate 在其中的部分已恢复原样。"
        "请重新安装 dsh-foldstate 再重试。"
    ),
    bundle_incomplete="这份安装的插件文件缺少 {file}；请重新安装 dsh-foldstate。",
    install_running="另一个 `foldstate install` 或 `uninstall` 正占用 {path}；请等它结束后重试。",
    profile_busy=(
        "另一个程序正在改动配置 {profile}（占用 {path}）；请等它结束后重试；若并没有这样的程序，请删去该文件。"
    ),
    file_trouble="{path}：{detail}；请检查权限和剩余空间后重试。",
    no_state="{path} 下还没有任何会话有状态。",
    unknown_session="{path} 下没有以“{session}”开头的会话。现有：{candidates}。",
    ambiguous_session="“{session}”是多个会话的开头：{candidates}。请多给几个字符。",
    store_newer="{path} 由更新版本的 Foldstate 写成；请先更新本程序再读取。",
    store_unavailable="{path} 暂时无法读取：{detail}；请稍后重试。",
    used="{used} / {budget}",
    checked="{when}核对过",
    updated="{when}更新",
    never_checked="尚未核对过",
    needs_you="需要你",
    in_progress="进行中",
    done="已完成",
    fyi="供了解",
    nothing_yet="还没有需要留意的事。会话里发生的事会先在这里汇总。",
    nothing_now="目前没有任何事项。",
    quote="“{quote}” — {source}",
    from_channel="{channel}，{when}",
    stale="所知截至{when}，待核对",
    not_active="{n} 条已撤回或合并",
    waiting="{n} 条新输入等待整理",
    not_heard="自{when}起没有监听到 {channel}，不能当作没有变化",
    damaged="状态文件已损坏，原文件完整保留在 {path}；从此刻重新开始",
    sidecar_trouble="后台程序在{when}没有运行：{reason}",
    bridge_trouble="{place} 在宿主里失败了 {n} 次，最近一次：{last}",
    ago="{span}前",
    just_now="刚刚",
    within="{span}后",
    late="已过期 {span}",
    due_now="现在到期",
    today="今天 {clock}",
    this_year="{month}{day}日 {clock}",
    other_year="{year}年{month}{day}日",
    minutes="{n} 分钟",
    hours="{n} 小时",
    one_day="1 天",
    days="{n} 天",
    months=("1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"),
)
