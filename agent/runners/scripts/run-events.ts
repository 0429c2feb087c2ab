/** What a run says of itself. It is code of customers that runs there: nothing in it is trusted. */
import { z } from 'zod';
import type { Workspace } from '../../script-host/script-host.ts';

export const maxBytes = 24 * 1024 * 1024;
/** Of each type: many small ones take far more memory here than in the file. */
export const maxOfType = 10_000;
/** From the folder of the run. */
export const runEventsFile = 'monitor/events.jsonl';
const text = z.string().max(20_000);
const time = z.number().min(0);
const scriptError = z.object({ message: text, stack: text.nullable(), title: text.nullable() });

/** Requests by worker process and number there; numbers of the run are given later. */
const step = z.object({
  title: text,
  category: text,
  startTime: time,
  durationMs: time,
  error: text.nullable(),
  requests: z.array(z.string().max(50)),
  get steps() {
    return z.array(step);
  },
});
export type SeenStep = z.output<typeof step>;

const headers = z.record(z.string(), text);
const phases = z.record(z.string(), z.number());

const runEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('begin'), time }),
  z.object({ type: z.literal('tests'), count: z.int() }),
  z.object({
    type: z.literal('test'),
    test: z.object({
      title: text,
      file: text,
      project: text,
      tags: z.array(text),
      status: z.enum(['passed', 'failed', 'timedOut', 'skipped', 'interrupted']),
      outcome: z.enum(['expected', 'unexpected', 'flaky', 'skipped']),
      retries: z.int(),
      durationMs: time,
      errors: z.array(scriptError),
      steps: z.array(step),
    }),
    isOnlySoft: z.boolean(),
  }),
  z.object({ type: z.literal('error'), ...scriptError.shape, time: time.optional() }),
  z.object({ type: z.literal('warning'), message: text }),
  z.object({ type: z.literal('output'), time, level: z.enum(['INFO', 'ERROR']), text }),
  z.object({ type: z.literal('attachment'), name: text, path: text, contentType: text }),
  z.object({ type: z.literal('secret'), value: z.string().max(131_072) }),
  z.object({ type: z.literal('visit'), id: text, url: text, time }),
  z.object({
    type: z.literal('vitals'),
    visit: text,
    url: text,
    title: text,
    vitals: z.record(z.string(), z.number()),
  }),
  z.object({
    type: z.literal('console'),
    visit: text,
    entry: z.object({ time, type: text, text, location: text.nullable() }).nullable(),
    isError: z.boolean(),
  }),
  z.object({
    type: z.literal('network'),
    visit: text,
    time,
    method: text,
    url: text,
    resourceType: text,
    status: z.int().nullable(),
    /** Until its answer began, or for so long as none had. */
    answeredMs: time.optional(),
    durationMs: time.nullable(),
    sizeBytes: time.nullable(),
    failure: text.nullable(),
  }),
  z.object({ type: z.literal('pageError'), visit: text, message: text }),
  z.object({
    type: z.literal('screenshot'),
    visit: text,
    path: text,
    name: text,
    contentType: text,
  }),
  z.object({ type: z.literal('crash'), url: text }),
  z.object({ type: z.literal('browserGone') }),
  z.object({ type: z.literal('browserUnavailable'), message: text }),
  z.object({ type: z.literal('rawProtocol') }),
  z.object({
    type: z.literal('request'),
    number: z.int(),
    worker: text,
    method: text,
    url: text,
    requestHeaders: headers,
    requestBody: z.string().max(70_000).nullable(),
    status: z.int().nullable(),
    statusText: text,
    headers,
    body: z.string().max(70_000).nullable(),
    truncated: z.boolean(),
    startTime: time,
    timings: phases,
    timingPhases: phases,
    error: text.nullable(),
  }),
  z.object({ type: z.literal('end'), status: text }),
]);
export type RunEvent = z.output<typeof runEvent>;
export type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;

/** The text of a file that a run has written, up to a size; null when it is not a plain file. */
export async function readRunFile(
  workspace: Workspace,
  path: string,
  limit: number,
): Promise<string | null> {
  const handle = await workspace.read(path);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(size, limit));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

export function eventOf(line: string): RunEvent | null {
  try {
    const parsed = runEvent.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** All that a run said, in order; lines that make no sense are left out. */
export async function readRunEvents(workspace: Workspace): Promise<RunEvent[]> {
  const whole = (await readRunFile(workspace, runEventsFile, maxBytes)) ?? '';
  // Customers know their files by the paths they gave them.
  const shown = whole.replaceAll(`${workspace.folder}/check/`, '');
  const events: RunEvent[] = [];
  const counts = new Map<string, number>();
  for (let start = 0, end = 0; start < shown.length; start = end + 1) {
    end = shown.indexOf('\n', start);
    if (end === -1) end = shown.length;
    const event = eventOf(shown.slice(start, end));
    if (event === null) continue;
    const count = (counts.get(event.type) ?? 0) + 1;
    counts.set(event.type, count);
    if (count <= maxOfType) events.push(event);
  }
  return events;
}

/** Those of one type. */
export function eventsOf<Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type);
}
