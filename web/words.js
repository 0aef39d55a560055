// words.js - the texts of the page, in English and Chinese.
const WORDS = {
  en: {
    title: 'crank board', runs: 'Runs', search: 'Filter runs', all: 'All', none: 'None', newest: 'Newest 10',
    charts: 'Charts', table: 'Table', compare: 'Compare', features: 'Features', checkpoints: 'Checkpoints',
    config: 'Config', notes: 'Notes', axis: 'Axis', step: 'Step', time: 'Time', rows: 'Rows', smooth: 'Smoothing',
    theme: 'Dark or light', language: '中文', keys: 'Keys', reset: 'Reset zoom', csv: 'CSV', svg: 'SVG',
    running: 'running', finished: 'finished', stopped: 'stopped', failed: 'failed', killed: 'killed',
    unknown: 'unknown', left: 'left', epoch: 'epoch', speed: 'rows/s', memory: 'Peak memory', loss: 'Loss',
    elapsed: 'elapsed', progress: 'done', reading: 'reading the log', bad: 'lines of the log cannot be read, the first is line',
    nothing: 'No run here yet. A run has a train_log.jsonl; this page shows it as soon as it begins.',
    nobody: 'No run is chosen. Choose some in the list.', gone: 'The server does not answer. What you see is the last it said; crank board shows the run again.',
    frozen: 'Report of', watch: 'Watch', metrics: 'Losses and metrics', rates: 'Learning rates', speeds: 'Learning rates, speed, memory',
    stages: 'Time by stage', memories: 'Memory', ranks: 'Ranks', rank: 'rank', share: 'share of the time',
    absent: 'not in the log', howto: 'to have it, add to model_config.metrics:', run: 'Run', state: 'State', started: 'Started',
    key: 'Key', value: 'Value', difference: 'Difference', same: 'All keys are the same.', trouble: 'The config cannot be read of',
    choose_two: 'Choose two runs to compare.', only_changes: 'Only what differs', feature: 'Feature', missing: 'Missing',
    unknown_values: 'Out of vocabulary', out_of_range: 'Out of range', constant: 'Constant', health: 'Health',
    good: 'good', no_features: 'The log has no counts of features yet: they come at the end of an epoch.',
    all_features: 'All features', to_look: 'to look at', no_checkpoints: 'There is no evaluation and no checkpoint yet.',
    saved: 'Checkpoint', evaluated: 'evaluated only', best: 'best', no_config: 'The folder has no pipeline.config.',
    find: 'Find', save: 'Save', saved_notes: 'Saved in notes.md.', notes_hint: 'Notes about this run, kept as notes.md in its model_dir.',
    read_only: 'This page does not write.', total: 'rows', bigger: 'Larger', smaller: 'Smaller', menu: 'List of runs',
    batch_size: 'batch', threads: 'threads', smallest: 'smallest', largest: 'largest', project: 'Project', anything: 'all projects',
    per_point: 'lines per point', help_keys: 'Keys of this page', close: 'Close', ids: 'ids', other: 'other',
    k_search: 'filter the list', k_move: 'next or previous run', k_pick: 'show or hide the run', k_all: 'all runs, none',
    k_tab: 'tabs', k_axis: 'next axis', k_smooth: 'less, more smoothing', k_theme: 'dark or light', k_lang: 'language',
    k_zoom: 'reset the zoom, close', k_help: 'this list', stage_step: 'forward, backward', stage_update: 'updates',
    stage_group: 'grouping of ids', stage_wait: 'waiting for data', stage_eval: 'evaluation', stage_save: 'checkpoints', stage_log: 'logs',
  },
  zh: {
    title: 'crank 看板', runs: '训练', search: '筛选', all: '全部', none: '不选', newest: '最新 10 个',
    charts: '曲线', table: '表格', compare: '对比', features: '特征', checkpoints: '检查点',
    config: '配置', notes: '备注', axis: '横轴', step: '步数', time: '时间', rows: '样本', smooth: '平滑',
    theme: '深色或浅色', language: 'English', keys: '快捷键', reset: '恢复缩放', csv: 'CSV', svg: 'SVG',
    running: '训练中', finished: '已完成', stopped: '已停止', failed: '失败', killed: '被终止',
    unknown: '未知', left: '剩余', epoch: '轮次', speed: '样本/秒', memory: '峰值内存', loss: '损失',
    elapsed: '已用', progress: '完成', reading: '正在读取日志', bad: '行日志无法读取，第一处在第',
    nothing: '这里还没有训练。训练目录里有 train_log.jsonl；训练一开始就会显示在这里。',
    nobody: '没有选择训练，请在列表中选择。', gone: '服务没有响应。显示的是最后收到的数据；用 crank board 可以再次打开。',
    frozen: '报告时间', watch: '重点', metrics: '损失与指标', rates: '学习率', speeds: '学习率、速度、内存',
    stages: '各阶段用时', memories: '内存', ranks: '各进程', rank: '进程', share: '时间占比',
    absent: '日志中没有', howto: '需要时请加入 model_config.metrics：', run: '训练', state: '状态', started: '开始',
    key: '键', value: '值', difference: '差值', same: '所有键都相同。', trouble: '无法读取配置：',
    choose_two: '请选择两个训练进行对比。', only_changes: '只看不同', feature: '特征', missing: '缺失',
    unknown_values: '不在词表', out_of_range: '超出范围', constant: '恒定', health: '健康',
    good: '正常', no_features: '日志中还没有特征统计：每轮结束时写入。',
    all_features: '全部特征', to_look: '需要关注', no_checkpoints: '还没有评估和检查点。',
    saved: '检查点', evaluated: '仅评估', best: '最佳', no_config: '目录中没有 pipeline.config。',
    find: '查找', save: '保存', saved_notes: '已保存到 notes.md。', notes_hint: '关于这次训练的备注，保存在 model_dir 的 notes.md 中。',
    read_only: '此页面不能写入。', total: '样本', bigger: '放大', smaller: '缩小', menu: '训练列表',
    batch_size: '批大小', threads: '线程', smallest: '最小', largest: '最大', project: '项目', anything: '所有项目',
    per_point: '行/点', help_keys: '快捷键', close: '关闭', ids: '个 id', other: '其他',
    k_search: '筛选列表', k_move: '下一个或上一个训练', k_pick: '显示或隐藏', k_all: '全选，全不选',
    k_tab: '切换标签', k_axis: '切换横轴', k_smooth: '减小、增大平滑', k_theme: '深色或浅色', k_lang: '语言',
    k_zoom: '恢复缩放，关闭', k_help: '显示此列表', stage_step: '前向与反向', stage_update: '更新',
    stage_group: 'id 分组', stage_wait: '等待数据', stage_eval: '评估', stage_save: '检查点', stage_log: '日志',
  },
}
let language = 'en'
export function setLanguage(name) {
  language = WORDS[name] ? name : 'en'
}
// t(key): the text of a key in the language of the page.
export function t(key) {
  return WORDS[language][key] ?? WORDS.en[key] ?? key
}
