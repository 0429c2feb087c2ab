/** What the reporter inside the suite wrote. The suite could have written it too: nothing is trusted. */
import type { FileHandle } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';
import type { ScriptError, ScriptStep } from '@monitor/shared/contract/check-result.ts';
import { z } from 'zod';
import { BoundedLines } from '../../script-host/bounded-lines.ts';

const text = (max: number) =>
  z.string().transform((value) => stripVTControlCharacters(value).slice(0, max));
const duration = z.number().catch(0);

const error = z.object({ message: text(16_384), stack: text(16_384).nullable() });

const step = z.object({
  title: text(1_000),
  category: text(64),
  startTime: duration,
  durationMs: duration,
  error: text(16_384).nullable(),
  get steps() {
    return z.array(step);
  },
});
type WrittenStep = z.output<typeof step>;

const plannedTest = z.object({
  id: z.string().max(100),
  title: text(1_000),
  file: text(1_000),
  project: text(200),
  tags: z.array(text(200)).max(100),
});

const outcome = z.enum(['expected', 'unexpected', 'flaky', 'skipped']);
const status = z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']);

const event = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('begin'),
    version: text(64).catch(''),
    workers: z.number().catch(1),
    failsOnFlaky: z.boolean().catch(false),
    shard: text(32).nullable().catch(null),
    tests: z.array(plannedTest),
  }),
  z.object({ type: z.literal('testBegin'), id: z.string(), retry: z.int(), at: z.number() }),
  z.object({
    type: z.literal('testEnd'),
    id: z.string(),
    retry: z.int(),
    status,
    durationMs: duration,
    errors: z.array(error),
    attachments: z.array(
      z.object({ name: text(200), contentType: text(200), path: z.string().max(4_096) }),
    ),
    steps: z.array(step),
  }),
  z.object({ type: z.literal('error'), message: text(16_384), stack: text(16_384).nullable() }),
  z.object({
    type: z.literal('end'),
    status: text(32),
    outcomes: z.array(z.object({ id: z.string(), outcome, isLeft: z.boolean().catch(false) })),
  }),
]);

export type SuiteAttempt = Extract<z.output<typeof event>, { type: 'testEnd' }>;

export interface SuiteTest extends z.output<typeof plannedTest> {
  readonly attempts: SuiteAttempt[];
  /** Since when it runs, milliseconds since the epoch; null when it does not. */
  runningSince: number | null;
  /** As Playwright judged it; null when it never came to that. */
  outcome: z.output<typeof outcome> | null;
  /** It was to run, and did not: others failed before it. */
  isLeft: boolean;
}

export interface SuiteEvents {
  readonly tests: Map<string, SuiteTest>;
  /** Errors outside of tests: configuration, imports, global setup. */
  readonly errors: ScriptError[];
  playwrightVersion: string | null;
  /** How many times Playwright began and ended. */
  begun: number;
  ended: number;
  /** `timedout` when a limit of the whole run was reached. */
  lastStatus: string | null;
  /** Flaky tests fail the suite, as its configuration says. */
  failsOnFlaky: boolean;
  /** The shard of each Playwright that began, such as `2/4`; null for all tests. */
  readonly shards: (string | null)[];
  /** False when there was no room for all. */
  isWhole: boolean;
}

/**
 * Longest line and most bytes that are read, and what is kept of them: all suites that run at once must
 * fit into the memory of the agent, whatever they write. Steps are the first to be left out, since what
 * explains a failure are its errors and files; in the end only how each attempt ended is kept.
 */
const maxLine = 2 * 1024 * 1024;
const maxBytes = 64 * 1024 * 1024;
const keptBytes = { steps: 8 * 1024 * 1024, evidence: 8 * 1024 * 1024 };
const keptTests = 10_000;
const keptErrors = 1_000;
const keptAttempts = 20;
const keptBegun = 100;

/** Of an attempt what there is still room for. */
function reduced(attempt: SuiteAttempt, size: number, room: typeof keptBytes): SuiteAttempt {
  room.steps -= size;
  if (room.steps >= 0) return attempt;
  const bare = { ...attempt, steps: [] };
  if (bare.errors.length + bare.attachments.length > 0)
    room.evidence -= JSON.stringify(bare).length;
  return room.evidence >= 0 ? bare : { ...bare, errors: [], attachments: [] };
}

function apply(events: SuiteEvents, line: string, room: typeof keptBytes): void {
  let parsed: z.output<typeof event>;
  try {
    parsed = event.parse(JSON.parse(line));
  } catch {
    return;
  }
  switch (parsed.type) {
    case 'begin':
      events.begun += 1;
      if (events.shards.length < keptBegun) events.shards.push(parsed.shard);
      events.playwrightVersion = parsed.version || events.playwrightVersion;
      for (const test of parsed.tests) {
        if (events.tests.size >= keptTests) {
          events.isWhole = false;
          break;
        }
        const begun = { attempts: [], runningSince: null, outcome: null, isLeft: false };
        events.tests.set(test.id, { ...test, ...begun });
      }
      events.failsOnFlaky ||= parsed.failsOnFlaky;
      break;
    case 'testBegin': {
      const test = events.tests.get(parsed.id);
      if (test !== undefined) test.runningSince = parsed.at;
      break;
    }
    case 'testEnd': {
      const test = events.tests.get(parsed.id);
      if (test === undefined) break;
      test.runningSince = null;
      if (test.attempts.length >= keptAttempts) test.attempts.shift();
      test.attempts.push(reduced(parsed, line.length, room));
      break;
    }
    case 'error':
      room.evidence -= line.length;
      if (room.evidence < 0 || events.errors.length >= keptErrors) {
        events.isWhole = false;
        break;
      }
      events.errors.push({ message: parsed.message, stack: parsed.stack, title: null });
      break;
    case 'end':
      events.ended += 1;
      events.lastStatus = parsed.status;
      for (const { id, outcome: judged, isLeft } of parsed.outcomes) {
        const test = events.tests.get(id);
        if (test !== undefined) Object.assign(test, { outcome: judged, isLeft });
      }
      break;
  }
}

/**
 * Reads what the reporter wrote so far, and closes the file; null gives no events. Lines that cannot
 * be understood are passed over.
 */
export async function readSuiteEvents(file: FileHandle | null): Promise<SuiteEvents> {
  const events: SuiteEvents = {
    tests: new Map(),
    errors: [],
    playwrightVersion: null,
    begun: 0,
    ended: 0,
    lastStatus: null,
    failsOnFlaky: false,
    shards: [],
    isWhole: true,
  };
  if (file === null) return events;
  const room = { ...keptBytes };
  const lines = new BoundedLines(maxLine, (line, isCut) => {
    if (!isCut) apply(events, line.toString(), room);
  });
  await using input = file.createReadStream({ end: maxBytes });
  for await (const chunk of input) lines.push(chunk as Buffer);
  lines.end();
  return events;
}

/** Steps in the form of results; requests are not attributed to steps in suites. */
export function toScriptSteps(steps: readonly WrittenStep[]): ScriptStep[] {
  return steps.map((one) => ({ ...one, steps: toScriptSteps(one.steps), requests: [] }));
}
