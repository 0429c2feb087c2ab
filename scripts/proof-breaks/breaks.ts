/** Faults that are put into the sources on purpose, one promise each, by text. */

export interface Break {
  name: string;
  breaks: string;
  file: string;
  from: string;
  to: string;
  /** Of the proof that is to find it. */
  args?: readonly string[];
}

export const usualArgs = ['--short'];

export const breaks: readonly Break[] = [
  {
    name: 'early-answer',
    breaks: 'the control plane acknowledges results before they are durable',
    file: 'control-plane/results/ingest-results.ts',
    from: '      if (this.#working === 0) void this.#work();\n      else this.#workBeside();',
    to: `      resolve(batch.items.map((item) => ({ id: (item as { id: string }).id, outcome: 'accepted' })));
      setTimeout(() => { if (this.#working === 0) void this.#work(); }, 1_500);`,
    // Each of some kills has to come within that time after some results.
    args: [
      ...['--short', '--case', 'control-plane', '--case', 'connection', '--case', 'receiver'],
      ...['--rounds', '8'],
    ],
  },
  {
    name: 'alert-twice',
    breaks: 'an alert is sent a second time as another message',
    file: 'control-plane/alerting/notify-channel.ts',
    from: '  if (grouping === null) await enqueueAlert(db, channel, facts, envelope);',
    to: `  if (grouping === null) {
    await enqueueAlert(db, channel, facts, envelope);
    await enqueueAlert(db, channel, facts, { ...envelope, id: crypto.randomUUID() });
  }`,
  },
  {
    name: 'suspension-ignored',
    breaks: 'a verdict ignores that the agent was suspended',
    file: 'agent/worker/decide-attempt.ts',
    from: '  if (severity(measured) === 0) {',
    to: '  if (time.suspendedMs >= noticeableSuspensionMs) return null;\n  if (severity(measured) === 0) {',
    args: ['--short', '--case', 'suspension', '--rounds', '8'],
  },
  {
    name: 'early-delete',
    breaks: 'an agent deletes results from its outbox before they are acknowledged',
    file: 'agent/worker/submit-loop.ts',
    from: '      const outcomes = await client.submit(\n        records.map',
    to: '      outbox.acknowledge(records.map(({ seq }) => seq));\n      const outcomes = await client.submit(\n        records.map',
  },
  {
    name: 'no-deduplication',
    breaks: 'a result that is sent again counts a second time',
    file: 'control-plane/results/ingest-plan.ts',
    from: "        this.#finishJob(from, item);\n        return { id: item.id, outcome: 'duplicate' };",
    to: `        if (known !== undefined) {
          const again = { ...item, id: crypto.randomUUID(), attempt: item.attempt + 1 };
          this.#store(accountId, known, again, payload, 'FINAL');
        }
        return { id: item.id, outcome: 'duplicate' };`,
    args: ['--short', '--case', 'connection', '--rounds', '12'],
  },
  {
    name: 'no-fencing',
    breaks:
      'a late result of an agent whose slot another one has run counts beside the result of that one',
    file: 'control-plane/results/ingest-plan.ts',
    // Both agents give the run, its attempt and its result the same names: each of these fences alone.
    from: '    const stored = known?.attempts.get(item.attempt);\n    const isLast',
    to: `    const stored = known?.attempts.get(item.attempt);
    const givers: Map<string, string> = ((globalThis as Record<string, unknown>)['givers'] ??= new Map()) as never;
    const giver = givers.get(item.id) ?? from.agentId;
    givers.set(item.id, giver);
    if (known?.row.state === 'FINAL' && giver !== from.agentId) {
      const again = { ...item, id: crypto.randomUUID(), attempt: item.attempt + 1 };
      this.#store(accountId, known, again, payload, 'FINAL');
      return { id: item.id, outcome: 'accepted' };
    }
    const isLast`,
    args: ['--short', '--case', 'fencing', '--rounds', '6'],
  },
  {
    name: 'missed-unrecorded',
    breaks: 'slots that nobody ran are not recorded as missed',
    file: 'control-plane/results/sweep-slots.ts',
    from: 'const missed = await insertMissed(db, slots, now);',
    to: 'const missed = await insertMissed(db, slots.slice(0, 0), now);',
    // Not every damage takes results that were not delivered.
    args: ['--case', 'damage', '--rounds', '8'],
  },
  {
    name: 'error-is-failure',
    breaks: 'an error of the agent is a failure of the target',
    file: 'agent/worker/attempt.ts',
    from: '    hasFailures: false,\n    hasErrors: true,',
    to: '    hasFailures: true,\n    hasErrors: false,',
    args: ['--short', '--case', 'proxy', '--rounds', '2'],
  },
  {
    name: 'no-recovery',
    breaks: 'the recovery of a target is not sent',
    file: 'control-plane/alerting/decide/reduce-run.ts',
    from: '  if (alert === null) {\n    const reason',
    to: '  if (alert !== null) return { state: { ...next, alert: null }, effects: [], decision: null };\n  if (alert === null) {\n    const reason',
  },
  {
    name: 'message-dropped',
    breaks: 'a message that its receiver did not take is not sent again',
    file: 'control-plane/notifications/channels/webhook.ts',
    from: 'isFinal: nothingIsFinal,',
    to: 'isFinal: () => nothingIsFinal !== null,',
    args: ['--short', '--case', 'receiver', '--rounds', '12'],
  },
  {
    name: 'restart-skips',
    breaks: 'an agent that is started again leaves out the slot that it did not finish',
    file: 'agent/worker/scheduler.ts',
    from: '    this.#plan(planned, from);\n',
    to: '    this.#plan(planned, Math.max(from, now));\n',
  },
];
