/**
 * An agent reduced to its script host, with a secret in its environment, its key file and its data:
 * runs every program of the hostile table beside runs that behave, and reports as JSON lines.
 *
 *   node hostile-agent.ts WORK_FOLDER WAY[,WAY] all|everyWay [NAME_PART]
 */
import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs';
import { randomInt } from 'node:crypto';
import { guardProcess } from '../../agent/guard-process.ts';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import { nameOf, ways } from '../../agent/script-host/isolation.ts';
import type { ScriptHost, ScriptLimits } from '../../agent/script-host/script-host.ts';
import { hostiles, prelude, type Hostile } from '../agent/script-host/hostile.table.ts';

export interface HostileReport {
  readonly name: string;
  readonly isolation: string;
  readonly reason: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly explanation: string | null;
  readonly durationMs: number;
  readonly output: string;
  readonly nonce: string;
  /** Of the run; null where it was the agent's own. */
  readonly uid: number | null;
  readonly isFolderGone: boolean;
}

export interface FinalReport {
  readonly behaved: number;
  readonly misbehaved: readonly string[];
  readonly peakRssBytes: number;
  readonly openDescriptors: readonly [before: number, after: number];
}

guardProcess();

const limits: ScriptLimits = {
  ...{ memoryBytes: 1_000_000_000, diskBytes: 30_000_000, files: 1_000, processes: 64 },
  outputBytes: 1_000_000,
};
const atOnce = 4;

const { DATA_DIR = '', KEY_FILE = '', PRECIOUS = '' } = process.env;
const [, , workFolder = '', wanted = '', which = 'all', namePart = ''] = process.argv;

const environment = { DATA_DIR, KEY_FILE, PRECIOUS, SERVICE_SECRET_OWN: 'of the run' };

const write = (report: HostileReport | FinalReport): void => {
  process.stdout.write(`${JSON.stringify(report)}\n`);
};

async function runHostile(host: ScriptHost, hostile: Hostile): Promise<void> {
  const nonce = `300.${randomInt(1e8, 1e9)}`;
  const workspace = await host.open(hostile.limits);
  const { folder, isolation } = workspace;
  if (hostile.notWith?.includes(isolation) === true) {
    await workspace[Symbol.asyncDispose]();
    return;
  }
  const { uid } = lstatSync(folder);
  await workspace.write('program.js', `${prelude}\n${hostile.script}\n`);
  const isHanging = hostile.ends?.reason === 'timeout';
  // What comes to an end of its own, or goes beyond a limit, may take its time on a busy machine.
  const maxMs = hostile.ends === undefined && hostile.says === undefined ? 10_000 : 60_000;
  const lines: string[] = [];
  const end = await workspace.start({
    command: realpathSync(process.execPath),
    args: ['program.js', nonce],
    environment: { ...environment, NONCE: nonce },
    timeoutMs: hostile.timeoutMs ?? (isHanging ? 1_200 : maxMs),
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
    onMessage: (message) => lines.length < 1_000 && lines.push(JSON.stringify(message)),
  }).done;
  await workspace[Symbol.asyncDispose]();
  write({
    ...{ name: hostile.name, isolation, reason: end.reason, exitCode: end.exitCode },
    ...{ signal: end.signal, explanation: end.explanation, durationMs: end.durationMs },
    output: `${lines.join('\n').slice(0, 4_000)}\n${end.stdout.slice(-2_000)}\n${end.stderr.slice(-2_000)}`,
    ...{ nonce, uid: isolation === 'user' ? uid : null, isFolderGone: !existsSync(folder) },
  });
}

/** A run as they should be: it talks, writes, starts a child, and minds its own business. */
async function behave(host: ScriptHost): Promise<string | null> {
  await using workspace = await host.open();
  await workspace.write(
    'good.js',
    `const fs = require('node:fs'), cp = require('node:child_process');
     fs.writeFileSync('a', 'kept'); const child = cp.spawnSync('cat', ['a'], { encoding: 'utf8' });
     setTimeout(() => { fs.writeSync(3, JSON.stringify({ read: child.stdout }) + '\\n'); process.exit(0); }, 300);`,
  );
  const messages: unknown[] = [];
  const end = await workspace.start({
    ...{ command: realpathSync(process.execPath), args: ['good.js'], environment: {} },
    ...{ timeoutMs: 30_000, signal: new AbortController().signal },
    onMessage: (message) => messages.push(message),
  }).done;
  const said = JSON.stringify(messages);
  if (end.reason === 'exit' && end.exitCode === 0 && said === '[{"read":"kept"}]') return null;
  return `${end.reason} ${end.exitCode} ${end.signal} ${said} ${end.explanation} ${end.stderr}`;
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

await using host = await createScriptHost({
  ...{ workFolder, limits, hidden: [DATA_DIR, KEY_FILE], graceMs: 300 },
  ways: ways.filter((way) => wanted.split(',').includes(nameOf(way))),
});
const before = descriptors();
const waiting = hostiles.filter(
  ({ name, everyWay }) => name.includes(namePart) && (which === 'all' || everyWay === true),
);
const misbehaved: string[] = [];
let behaved = 0;
let isOver = false;
const good = (async () => {
  while (!isOver) {
    const problem = await behave(host);
    if (problem === null) behaved += 1;
    else misbehaved.push(problem);
  }
})();
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await runHostile(host, next);
    }
  }),
);
isOver = true;
await good;
const [, peakKib = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
write({
  ...{ behaved, misbehaved, peakRssBytes: Number(peakKib) * 1024 },
  openDescriptors: [before, descriptors()],
});
