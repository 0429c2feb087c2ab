/** Faults on purpose, one promise each: the text of a source is replaced as it is loaded. Most were once real. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { breaks as ofProof, type Break } from '../scripts/proof-breaks/breaks.ts';

const own: readonly Break[] = [
  {
    name: 'clock-swallows',
    breaks: 'results of slots that a clock that was ahead had used up are dropped as repeats',
    // Not in move-runs.ts: what it leaves is released as its slot comes again, or by the next look at the future.
    file: 'control-plane/results/release-runs.ts',
    from: `  for (let index = 0; index < made.length; index += runsAtOnce) {`,
    to: `  for (let index = 0; index < 0 * made.length; index += runsAtOnce) {`,
  },
  {
    name: 'commits-unsynced',
    breaks: 'the control plane confirms results that only its kernel has',
    file: 'control-plane/db/open.ts',
    from: `database.pragma('synchronous = FULL');`,
    to: `database.pragma('synchronous = NORMAL');`,
  },
  {
    name: 'outbox-unsynced',
    breaks: 'an agent goes on to the next slot with results that only its kernel has',
    file: 'agent/worker/outbox-file.ts',
    from: `db.exec('pragma synchronous = full');`,
    to: `db.exec('pragma synchronous = normal');`,
  },
  {
    name: 'mute-ignored',
    breaks: 'a muted check goes on to alert',
    file: 'control-plane/alerting/alerted-checks.ts',
    from: `      mute: fields.muted
        ?`,
    to: `      mute: fields.muted === null
        ?`,
  },
  {
    name: 'reminded-anyway',
    breaks: 'who has taken an alert on is reminded of it',
    file: 'control-plane/alerting/decide/acknowledged.ts',
    from: `acknowledged: { untilAt } } };`,
    to: `acknowledged: { untilAt: 0 } } };`,
  },
  {
    name: 'no-next-step',
    breaks: 'nobody else is called for an alert that nobody takes on',
    file: 'control-plane/alerting/run-escalations.ts',
    from: `    .where('due_at', '<=', argument('now'))`,
    to: `    .where('due_at', '<', 0)`,
  },
  {
    name: 'subscribers-unheard',
    breaks: 'subscribers of a status page hear of an incident and not of its end',
    file: 'control-plane/incidents/incident-automation.ts',
    from: `notifySubscribers: fromFlag(first.notify_subscribers)`,
    to: `notifySubscribers: fromFlag(first.notify_subscribers * 0)`,
  },
  {
    name: 'no-hand-over',
    breaks: 'an agent that ends leaves its checks before others have them',
    file: 'agent/worker/agent-session.ts',
    from: `    if (scheduler.size > 0) await Promise.race([handedOver, over]);`,
    to: `    void [handedOver, over];`,
  },
  {
    name: 'drain-drops-runs',
    breaks: 'an agent that ends aborts what it measures',
    file: 'agent/worker/agent-session.ts',
    from: `    await executor.drain();
    cancelTimeout();`,
    to: `    await executor.abort();
    cancelTimeout();`,
  },
  {
    name: 'late-slots-dropped',
    breaks: 'a slot that is a little late is dropped, and nobody says so',
    file: 'agent/worker/scheduler.ts',
    from: `      else if (lateMs > madeUpAfterMs) this.#madeUp.push({ check, slot: next.at });`,
    to: `      else if (lateMs > madeUpAfterMs) continue;`,
  },
  {
    name: 'clock-set-unnoticed',
    breaks: 'slots are not planned anew when the clock is set',
    file: 'agent/worker/scheduler.ts',
    from: `    if (Math.abs(byMs) <= stepMs) return now;`,
    to: `    if (Math.abs(byMs) >= 0) return now;`,
  },
  {
    name: 'clock-uncorrected',
    breaks: 'an agent does not follow the clock of the control plane',
    file: 'agent/worker/corrected-clock.ts',
    from: `    this.#correctionMs += offsetMs;`,
    to: `    this.#correctionMs += 0 * offsetMs;`,
  },
  {
    name: 'alert-every-run',
    breaks: 'each failing run is an alert',
    file: 'control-plane/alerting/decide/reduce-run.ts',
    from: `  if (notifiedCondition(state) === to) return not('ALREADY_ALERTED');`,
    to: `  void notifiedCondition;`,
  },
  {
    name: 'threshold-plus-one',
    breaks: 'an alert comes a run too late',
    file: 'control-plane/alerting/decide/reduce-run.ts',
    from: `    ? state.runs >= escalation.runs`,
    to: `    ? state.runs > escalation.runs`,
  },
  {
    name: 'messages-not-retried',
    breaks: 'a message is tried once',
    file: 'control-plane/notifications/deliver.ts',
    from: `    pausesMs: facts.kind === 'test' ? [] : channel.pausesMs,`,
    to: `    pausesMs: [],`,
  },
  {
    name: 'outbox-not-written',
    breaks: 'results are not written to the outbox',
    file: 'agent/worker/outbox.ts',
    from: `    const added = batch.map((entry, index) => ({`,
    to: `    const added = batch.slice(1).map((entry, index) => ({`,
  },
  {
    name: 'outbox-late',
    breaks: 'results are in the outbox without a commit',
    file: 'agent/worker/outbox.ts',
    from: `      this.#db.exec('commit');
    } catch (error) {`,
    to: `      this.#db.exec(Math.random() < 0.3 ? 'rollback' : 'commit');
    } catch (error) {`,
  },
  {
    name: 'backlog-never-sent',
    breaks: 'what waited while the link was down is never sent',
    file: 'agent/worker/submit-loop.ts',
    from: `      this.#liveAfter = outbox.newestSeq();
      this.#backlogAfter = this.#passedOver;`,
    to: `      this.#liveAfter = this.#backlogAfter = outbox.newestSeq();`,
  },
  {
    name: 'close-before-final',
    breaks: 'the last result of a run does not close it',
    file: 'control-plane/results/ingest-plan.ts',
    from: `    if (run.row.state !== 'FINAL') this.#setState(run, 'FINAL', item.id);`,
    to: `    if (run.row.state !== 'FINAL' && item.attempt === 1) this.#setState(run, 'FINAL', item.id);`,
  },
  {
    name: 'sweep-everything',
    breaks: 'slots are recorded as missed while results are on their way',
    file: 'control-plane/results/sweep-slots.ts',
    from: `  const now = services.clock.now();
  const { isBehind, reasons } = await sweep(services, now);`,
    to: `  const now = services.clock.now();
  const { isBehind, reasons } = await sweep(services, now + 120_000);`,
  },
  {
    name: 'status-of-any',
    breaks: 'an older result that comes later replaces the status',
    file: 'control-plane/results/update-status.ts',
    from: `const isNewer = sql\`(excluded.last_started_at >= check_statuses.last_started_at
  or`,
    to: `const isNewer = sql\`(excluded.last_started_at >= 0
  or`,
  },
  {
    name: 'status-degraded',
    breaks: 'a failing check is not said to fail',
    file: 'control-plane/results/update-status.ts',
    from: `    has_failures: toFlag(newest.hasFailures && !newest.hasErrors),`,
    to: `    has_failures: toFlag(newest.hasFailures && newest.hasErrors),`,
  },
  {
    name: 'ping-lost',
    breaks: 'a ping does not move the deadline',
    file: 'control-plane/heartbeats/heartbeats.ts',
    from: `      fails_at: heartbeat.failsAt,
      started_at: heartbeat.started?.at ?? null,`,
    to: `      fails_at: row.fails_at ?? heartbeat.failsAt,
      started_at: heartbeat.started?.at ?? null,`,
  },
  {
    name: 'final-lost',
    breaks: 'the last result of a run is acknowledged and not stored',
    file: 'control-plane/results/ingest-plan.ts',
    from: `    this.newResults.push(result);`,
    to: `    if (item.attempt === 1 || resultType !== 'FINAL') this.newResults.push(result);`,
  },
  {
    name: 'missed-wins',
    breaks: 'a slot that was missed keeps that when its result comes',
    file: 'control-plane/results/ingest-plan.ts',
    from: `    Object.assign(run.row, { state, missed_reason: null, result_id: resultId });`,
    to: `    if (run.row.state !== 'MISSED') Object.assign(run.row, { state, missed_reason: null, result_id: resultId });`,
  },
  {
    name: 'missed-refused',
    breaks: 'what an agent says of a missed slot is a run that ended',
    file: 'control-plane/results/ingest-plan.ts',
    from: `    this.#newRun(item, 'MISSED', data.reason, null);`,
    to: `    this.#newRun(item, 'RUNNING', null, null);`,
  },
  {
    name: 'released-again',
    breaks: 'results of runs that got another name are stored twice',
    file: 'control-plane/results/ingest-plan.ts',
    from: `    if (this.#facts.released.has(data.id)) return { id: data.id, outcome: 'duplicate' };`,
    to: `    void this.#facts.released;`,
  },
  {
    name: 'drain-timeout',
    breaks: 'hand-over waits for ever',
    file: 'agent/worker/check-in-loop.ts',
    from: `    this.#isHandedOver = true;
    this.#handedOver.resolve();`,
    to: `    this.#isHandedOver = true;`,
  },
  {
    name: 'results-early',
    breaks: 'the outbox is emptied when its results are sent, not when they are stored',
    file: 'agent/worker/submit-loop.ts',
    from: `      if (signal.aborted) return false;
      const failure`,
    to: `      outbox.acknowledge(records.map(({ seq }) => seq));
      const failure`,
  },
  {
    name: 'window-ignored',
    breaks: 'an agent does not keep to a maintenance window',
    file: 'agent/worker/scheduler.ts',
    from: `      if (isPaused(check, next.at)) continue;`,
    to: `      void isPaused;`,
  },
  {
    name: 'used-up-slots',
    breaks: 'slots that a clock that was ahead had used up stay taken for what comes later',
    file: 'control-plane/results/ingest-facts.ts',
    from: `    if (stepsBack.length > 0) await facts.#giveWay(db, items, stepsBack, now);`,
    to: `    if (stepsBack.length < 0) await facts.#giveWay(db, items, stepsBack, now);`,
  },
  {
    name: 'finished-unheard',
    breaks: 'who takes a check over does not hear which slot has its result',
    file: 'control-plane/scheduling/shared-assembly.ts',
    from: `{ ...check, finishedSlot }]`,
    to: `check]`,
  },
  {
    name: 'finished-too-far',
    breaks: 'who takes a check over begins a slot too late',
    file: 'control-plane/scheduling/shared-assembly.ts',
    from: `{ ...check, finishedSlot }]`,
    to: `{ ...check, finishedSlot: finishedSlot + 10_000 }]`,
  },
  {
    name: 'window-uncached',
    breaks: 'an agent that is started again without the control plane knows of no window',
    file: 'agent/worker/agent-session.ts',
    from: `      this.#follow(cached, cached.checks, [], true);`,
    to: `      this.#follow(cached, cached.checks.map((check) => ({ ...check, pauses: [] })), [], true);`,
  },
  {
    name: 'answer-acknowledges',
    breaks: 'an answer of a balancer is taken for that of the control plane',
    file: 'agent/worker/submit-loop.ts',
    from: `      this.#isRefused = failure !== null && !failure.retryable;`,
    to: `      if (failure?.statusCode != null) outbox.acknowledge(records.map(({ seq }) => seq));`,
  },
];

/** Those of the proof too, but for what only real processes show. */
export const breaks: readonly Break[] = [...ofProof, ...own];

/** The cases that a break is looked for in; all where it has none here. */
export const casesOf: Readonly<Record<string, string[]>> = {
  'early-answer': ['kill'],
  'alert-twice': ['targets'],
  'suspension-ignored': ['suspend'],
  'early-delete': ['link', 'requests', 'kill'],
  'no-deduplication': ['requests'],
  'no-fencing': ['suspend', 'link', 'kill'],
  'missed-unrecorded': ['kill'],
  'error-is-failure': ['suspend'],
  'no-recovery': ['targets'],
  'message-dropped': ['receiver'],
  'restart-skips': ['kill'],
  'clock-swallows': ['clock'],
  'used-up-slots': ['clock'],
  'commits-unsynced': ['power', 'people'],
  'outbox-unsynced': ['power'],
  'no-hand-over': ['drain'],
  'drain-drops-runs': ['drain'],
  'late-slots-dropped': ['suspend', 'slow'],
  'clock-set-unnoticed': ['clock'],
  'clock-uncorrected': ['clock'],
  'alert-every-run': ['targets'],
  'threshold-plus-one': ['targets'],
  'messages-not-retried': ['receiver'],
  'outbox-not-written': ['targets'],
  'outbox-late': ['kill', 'link'],
  'backlog-never-sent': ['link', 'requests'],
  'close-before-final': ['targets'],
  'sweep-everything': ['link'],
  'status-of-any': ['link', 'kill'],
  'status-degraded': ['targets'],
  'ping-lost': ['heartbeats'],
  'final-lost': ['targets'],
  'missed-wins': ['link', 'kill'],
  'missed-refused': ['suspend'],
  'released-again': ['clock'],
  'drain-timeout': ['drain'],
  'results-early': ['link', 'requests'],
  'window-ignored': ['people'],
  'finished-unheard': ['drain', 'kill'],
  'finished-too-far': ['drain', 'kill'],
  'window-uncached': ['people', 'kill'],
  'answer-acknowledges': ['requests'],
  'mute-ignored': ['operators', 'targets'],
  'reminded-anyway': ['responders'],
  'no-next-step': ['responders'],
  'subscribers-unheard': ['responders'],
};

/** From now on the source is loaded with its fault. */
export function breakSource(name: string): void {
  const found = breaks.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no break "${name}"`);
  const { file, from, to } = found;
  const path = join(import.meta.dirname, '..', file);
  if (readFileSync(path, 'utf8').split(from).length !== 2)
    throw new Error(`the break ${name} does not fit ${file} any more: change it`);
  const broken = pathToFileURL(path).href;
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (url !== broken) return loaded;
      return { ...loaded, source: String(loaded.source).replace(from, () => to) };
    },
  });
}
