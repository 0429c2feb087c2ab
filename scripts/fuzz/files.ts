/**
 * Hostile files for the commands that read what others wrote. A command takes a file, or ends with a code of the
 * table and one sentence that names the file, in bounded time and memory, and has changed nothing. Here it is the
 * bytes that are wrong; wrong values, nesting and references are in the tests of `as-code` and `movers`, which try many
 * more of them on the functions.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { exitCodes } from '../../control-plane/errors/exit-codes.ts';
import type { CommandOutcome } from '../../test/support/agent-command.ts';
import { Operator } from '../../test/support/control-plane-command.ts';
import { fillKumaDatabase, makeKumaDatabase } from '../../test/support/kuma-database.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import type { Door } from './broker.ts';

const movers = join(import.meta.dirname, '../../test/fixtures/movers');

/** Files of a project, of which one is spoiled. */
const project: Readonly<Record<string, string>> = {
  'project.yaml': 'logicalId: files\nname: Files\n',
  'alert-channels/mail.yaml': 'type: EMAIL\nconfig:\n  address: ada@a.example\n',
  'checks/shop.yaml': `checkType: API
name: Shop
description: null
frequency: 10
degradedResponseTime: 5000
locations:
  - eu-west-1
tags: [web, "1"]
request:
  url: https://shop.example/
  method: GET
  headers:
    - key: accept
      value: text/html
  assertions: []
alertChannels:
  - mail
`,
};

const lineOf = (text: string, at: number) => at % text.split('\n').length;

/** The text with its line number `at` made otherwise. */
function withLine(text: string, at: number, change: (line: string) => string): string {
  const chosen = lineOf(text, at);
  return text
    .split('\n')
    .map((line, index) => (index === chosen ? change(line) : line))
    .join('\n');
}

/** By name: what becomes of a text. `at` says where, or how much. */
const spoilers: Readonly<Record<string, (text: string, at: number) => string | Buffer>> = {
  'refers to much': (text) =>
    `${text}\na0: &a0 [x]\n${Array.from({ length: 12 }, (_, index) => `a${index + 1}: &a${index + 1} [${`*a${index},`.repeat(9)}]\n`).join('')}`,
  cut: (text, at) => text.slice(0, at % text.length),
  'a byte changed': (text, at) => {
    const bytes = Buffer.from(text);
    bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ (1 + (at % 255));
    return bytes;
  },
  'UTF-16': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'Latin-1': (text, at) =>
    Buffer.from(
      withLine(text, at, (line) => `${line} ü`),
      'latin1',
    ),
  'a mark': (text) => `\ufeff${text}`,
  'no characters': (text, at) => withLine(text, at, (line) => `${line}\u0000\u001b[2J`),
  empty: () => '',
  'only remarks': () => '# nothing\n',
  'several documents': (text) => `${text}---\n${text}`,
  'a long line': (text, at) => withLine(text, at, (line) => `${line}${'x'.repeat(5_000_000)}`),
  'many fields': (text) =>
    `${text}${Array.from({ length: 100_000 }, (_, index) => `k${index}: 1\n`).join('')}`,
  tabs: (text, at) => withLine(text, at, (line) => `\t${line}`),
  'other line ends': (text) => text.replaceAll('\n', '\r\n'),
  'a directive': (text) => `%YAML 9.9\n---\n${text}`,
};

interface Spoiled {
  command: 'apply' | 'import';
  /** What the file is. */
  sample: string;
  spoiler: string;
  at: number;
}

/** So much for a program; 200 MiB of it are what Node and the code take. */
const heapMiB = 384;
/** Far more than any of them takes on a slow machine. */
const withinMs = 600_000;

let database: Buffer | undefined;
function kumaDatabase(): Buffer {
  if (database !== undefined) return database;
  using folder = temporaryFolder();
  const path = join(folder.path, 'kuma.db');
  const db = makeKumaDatabase(path, '2.5.3');
  fillKumaDatabase(db, '2.5.3');
  db.close();
  database = readFileSync(path);
  return database;
}

/** A page or two of a database written over, or its end missing. */
function spoiledDatabase(at: number): Buffer {
  const bytes = Buffer.from(kumaDatabase());
  if (at % 3 === 0) return bytes.subarray(0, at % bytes.length);
  // Not what it is known by.
  const from = 20 + (at % (bytes.length - 120));
  return at % 3 === 1 ? bytes.fill(at % 256, from, from + 100) : bytes.fill(0xff, from, from + 8);
}

const samples = {
  apply: Object.keys(project),
  import: ['gatus/every-field.yaml', 'openstatus/openstatus.yaml', 'checks.csv', 'kuma.db'],
} as const;

/** Writes the files; gives what the command is given, and the name that a refusal must have. */
function write(folder: string, { command, sample, spoiler, at }: Spoiled): [string, string] {
  const spoil = (text: string) => spoilers[spoiler]?.(text, at) ?? text;
  if (command === 'import') {
    const isDatabase = sample === 'kuma.db';
    const name = sample.replace(/^.*\//, '');
    const path = join(folder, name);
    writeFileSync(
      path,
      isDatabase ? spoiledDatabase(at) : spoil(readFileSync(join(movers, sample), 'utf8')),
    );
    return [path, name];
  }
  const root = join(folder, 'monitoring');
  for (const [path, text] of Object.entries(project)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), path === sample ? spoil(text) : text);
  }
  // A refusal by the control plane names the resource.
  return [root, sample === 'project.yaml' ? 'project' : sample.replace(/^.*\/|\.yaml$/g, '')];
}

const ofEngine =
  /\n\s+at |call stack|circular|heap|is not a function|undefined|cannot read prop|unexpected error/i;

/** What is wrong with how a command ended. */
function problemOfEnd({ code, error }: CommandOutcome, name: string): string | undefined {
  if (!Object.values<number>(exitCodes).includes(code)) return `ended with ${code}`;
  if (ofEngine.test(error)) return 'speaks of the engine';
  if (code === exitCodes.ok) return undefined;
  const said = error.trim().split('\n');
  if (said.length !== 1 && !said.slice(0, -1).every((line) => /^warning: |-wal/.test(line)))
    return `says ${said.length} lines`;
  return error.includes(name) ? undefined : `does not name ${name}`;
}

/** Runs a command on a spoiled file; gives what is wrong with its end. */
async function runSpoiled(
  door: Omit<Door, 'seed' | 'number'>,
  spoiled: Spoiled,
): Promise<string | undefined> {
  using folder = temporaryFolder();
  const [path, name] = write(folder.path, spoiled);
  const operator = new Operator(folder.path, {
    ...{ CONTROL_PLANE_API_KEY: door.apiKey, PUBLIC_URL: door.url },
    NODE_OPTIONS: `--max-old-space-size=${heapMiB}`,
  });
  const everything = async () => {
    const { apiKey } = door;
    const answer = await fetch(`${door.url}/v1/projects/export?logicalId=all&name=all`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return answer.text();
  };
  const before = await everything();
  const startedAt = performance.now();
  const given = spoiled.command === 'import' ? ['--location', 'eu-west-1', '--longer'] : [];
  const ended = await operator[door.how](spoiled.command, path, '--yes', ...given);
  const tookMs = performance.now() - startedAt;
  const problem =
    problemOfEnd(ended, name) ??
    (tookMs > withinMs ? `took ${Math.round(tookMs)} ms` : undefined) ??
    (ended.code !== exitCodes.ok && (await everything()) !== before
      ? 'was refused, and changed something'
      : undefined);
  return problem === undefined ? undefined : `${problem}: ${ended.error.slice(0, 600)}`;
}

/** One command of a sequence: the other one in the next. */
export async function playFiles(door: Door, note: (problem: string) => void): Promise<number> {
  const command = door.number % 2 === 0 ? 'apply' : 'import';
  const [spoiled] = fc.sample(
    fc.record({
      ...{ command: fc.constant(command), sample: fc.constantFrom(...samples[command]) },
      ...{ spoiler: fc.constantFrom(...Object.keys(spoilers)), at: fc.nat({ max: 100_000 }) },
    }) as fc.Arbitrary<Spoiled>,
    { numRuns: 1, seed: door.seed },
  );
  if (spoiled === undefined) return 0;
  const problem = await runSpoiled(door, spoiled);
  if (problem !== undefined) note(`${JSON.stringify(spoiled)} ${problem}`);
  return 1;
}
