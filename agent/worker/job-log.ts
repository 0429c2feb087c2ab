/** What a run says while it runs, by the part that says it. */
type JobLogLine = { time: number; msg: string; level: string };
export type JobLog = Record<'setup' | 'request' | 'teardown', JobLogLine[]>;
