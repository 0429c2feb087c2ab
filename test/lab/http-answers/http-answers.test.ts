/** What the agent reads of an answer is what Chromium reads, however the bytes are cut; curl stands beside. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import test from 'node:test';
import { wireAnswers } from './answers.ts';
import { agent, curl, cuts, openChromium, serveAnswers, type Seen } from './clients.ts';
import { reasons } from './reasons.ts';

const seed = Number(process.env['TEST_SEED'] ?? 1);
const atOnce = 6;
const once = /^(content-(length|type)|location|server)$/;

const bytesOf = (text: string): Buffer =>
  Buffer.from(text, /[^\0-\xff]/.test(text) ? 'utf8' : 'latin1');

/** Scripts see a value as bytes, no cookies, and no name that is no token; equal values of one field are one. */
function isSameHeader(name: string, ours = '', theirs = ''): boolean {
  const values = once.test(name) ? [theirs, ...new Set(theirs.split(', '))] : [theirs];
  return values.some((value) =>
    [bytesOf(ours), Buffer.from(ours)].some((bytes) => bytes.equals(bytesOf(value))),
  );
}

/** The first of what differs; null where nothing does. */
function difference(ours: Seen, theirs: Seen): string | null {
  const isRefused = (seen: Seen): boolean => seen.refused !== undefined;
  if (isRefused(ours) !== isRefused(theirs))
    return ours.refused ?? `accepted, not there: ${theirs.refused}`;
  if (isRefused(ours)) return null;
  for (const key of ['status', 'path', 'body'] as const) {
    if (ours[key] !== theirs[key]) {
      const [one, other] = [ours[key], theirs[key]].map((value) =>
        JSON.stringify(value).slice(0, 80),
      );
      return `${key} ${one}, there ${other}`;
    }
  }
  if (ours.headers === undefined || theirs.headers === undefined) return null;
  for (const name of new Set([...ours.headers.keys(), ...theirs.headers.keys()])) {
    const isShown = !/^set-cookie2?$/.test(name) && /^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name);
    const [one, other] = [ours.headers.get(name), theirs.headers.get(name)];
    if (isShown && !isSameHeader(name, one, other)) return `header ${name}: ${one}, there ${other}`;
  }
  return null;
}

type Row = Record<'agent' | 'curl' | 'chromium', Seen[]>;
const dependsOnCut = (seen: Seen[]): boolean =>
  seen.some((each) => difference(each, seen[0] ?? {}) !== null);

test('answers are read as Chromium reads them', async (t) => {
  await using server = await serveAnswers(wireAnswers, seed);
  const origin = `http://127.0.0.1:${server.port}`;
  await using chromium = await openChromium(server.port);
  const clients = { agent, curl, chromium: chromium.ask };
  const rows: Row[] = [];
  const todo = [...wireAnswers.entries()];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
        const [index, answer] = next;
        const row: Row = { agent: [], curl: [], chromium: [] };
        for (const [name, ask] of Object.entries(clients)) {
          for (const cut of cuts) {
            row[name as keyof Row].push(await ask(`${origin}/${index}.${cut}/a`, answer));
          }
        }
        rows[index] = row;
      }
    }),
  );
  const count = (is: (row: Row) => boolean): number => rows.filter(is).length;
  const lines: string[] = [];
  const unexplained: string[] = [];
  const used = new Map<string, number>();
  for (const [index, { agent: ours, chromium: theirs }] of rows.entries()) {
    const name = wireAnswers[index]?.name ?? '';
    // Where the cut decides what Chromium says, each of it will do.
    const found = ours.map((each) => theirs.map((other) => difference(each, other)));
    const differs = found.find((each) => each.every((one) => one !== null))?.[0];
    if (differs == null) continue;
    const reason = reasons.find(([names]) => names.test(name))?.[1];
    lines.push(`${name}: ${differs}: ${reason ?? 'NO REASON'}`);
    if (reason === undefined) unexplained.push(name);
    else used.set(reason, (used.get(reason) ?? 0) + 1);
  }
  const equal = rows.length - lines.length;
  const cut = rows.flatMap((row, index) =>
    dependsOnCut(row.agent) ? [wireAnswers[index]?.name] : [],
  );
  t.diagnostic(
    `Chromium ${chromium.version}; ${rows.length} answers x ${cuts.join(', ')}; seed ${seed}`,
  );
  t.diagnostic(`equal ${equal} (${((100 * equal) / rows.length).toFixed(2)} %)`);
  t.diagnostic(
    `curl equal to Chromium: ${count((row) => difference({ ...row.curl[0] }, { ...row.chromium[0] }) === null)}`,
  );
  t.diagnostic(
    `the cut decides: agent ${cut.length}, curl ${count((row) => dependsOnCut(row.curl))}, Chromium ${count((row) => dependsOnCut(row.chromium))}`,
  );
  for (const [reason, times] of used) t.diagnostic(`${times}: ${reason}`);
  if (process.env['ANSWERS_FILE'] !== undefined)
    await writeFile(process.env['ANSWERS_FILE'], lines.join('\n'));
  assert.deepEqual(cut, [], 'answers whose cut decides');
  assert.deepEqual(unexplained, [], lines.join('\n'));
  assert.ok(equal / rows.length >= 0.99, `${equal} of ${rows.length}`);
});
