/** The command `proof` of both programs, and of this repository. */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { wrapped } from '@monitor/shared/wrapped-text.ts';
import { cases } from './cases/index.ts';
import { findProgram, programs } from './find-program.ts';
import { markdownOf, reportOf, shareText, type Report } from './report.ts';
import { prove } from './run.ts';
import type { Programs } from './system.ts';

const shortPlayMs = 24_000;
const usualPlayMs = 570_000;
const hourMs = 3_600_000;
const longestSeed = 1_000_000;

export interface ProofArguments {
  agent?: string;
  controlPlane?: string;
  case?: readonly string[];
  seed?: string;
  rounds?: string;
  short?: boolean;
  /** Hours; true without a number. */
  long?: string | boolean;
  /** URL of an empty database. */
  postgres?: string;
  out?: string;
  json?: boolean;
}

/** Flags and what they do, for the command of either program. */
const proofOptions: readonly (readonly [string, string])[] = [
  ['--short', 'play for about 40 s instead of ten minutes'],
  ['--long [hours]', 'play one seed after the other for hours, 8 without a number'],
  ['--seed <number>', 'play the faults of this seed; one at random without it'],
  ['--case <name...>', 'play some cases alone'],
  ['--rounds <number>', 'play so many faults of each case, however long that takes'],
  ['--postgres <url>', 'an empty database, for replicas of the control plane'],
  ['--out <folder>', 'where the report goes; proof-report without it'],
  ['--json', 'print the report as JSON'],
  ['--agent <path>', 'the agent to start, as monitor-agent.js'],
  ['--control-plane <path>', 'the control plane to start, as control-plane.js'],
];

const proofHelp = `
It starts programs and websites of its own, in a temporary folder and on free
ports of 127.0.0.1. What runs on this machine already is left alone; a case
keeps all processors busy for some seconds.

${wrapped(`Cases: ${cases.map(({ name }) => name).join(', ')}.`, 78).join('\n')}

Exit codes: 0 every line of the report is zero, 1 some are not, and the report
says which and how to play the same faults again, 2 an option is unusable
or too much could not be judged.
`;

/** A signal ended the proof before its report. */
export class ProofInterrupted extends Error {
  readonly #exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`the proof was ended by ${signal}; it stopped its programs and removed their files`);
    this.#exitCode = 128 + constants.signals[signal];
  }

  /** What still waits for the programs of the proof would keep the process for a minute. */
  exit(): never {
    say(this.message);
    process.exit(this.#exitCode);
  }
}

/** What the person at the terminal has to change. */
export class ProofUsageError extends Error {}

/** The file that starts a program: as given, or as found. */
function programOf(name: keyof Programs, given: string | undefined, besides: string): string {
  const wanted = programs[name];
  if (given !== undefined) {
    const file = existsSync(join(given, wanted.file)) ? join(given, wanted.file) : given;
    if (existsSync(file)) return realpathSync(file);
    throw new ProofUsageError(`${wanted.option}: there is no ${given}; name ${wanted.file}`);
  }
  const found = findProgram(wanted, besides);
  if (found !== null) return found;
  throw new ProofUsageError(
    `the proof starts both programs, and there is no ${wanted.command} beside this one or on the PATH: ` +
      `install ${wanted.package}, or name its file with ${wanted.option} <path>`,
  );
}

/** `folder` is that of the package of one of the programs. */
export function findPrograms(
  given: Pick<ProofArguments, 'agent' | 'controlPlane'>,
  folder: string,
): Programs {
  return {
    agent: programOf('agent', given.agent, folder),
    controlPlane: programOf('controlPlane', given.controlPlane, folder),
  };
}

function numberFrom(option: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text);
  throw new ProofUsageError(`${option}: ${JSON.stringify(text)} is not a number above 0`);
}

function say(line: string): void {
  const at = new Date().toISOString().slice(11, 19);
  process.stderr.write(`${styleText('dim', at, { stream: process.stderr })} ${line}\n`);
}

function summaryOf(report: Report): string {
  const { counts, isPassed, tally, repeat } = report;
  const rows = Object.entries(counts).map(([line, count]) => {
    const text = `${String(count).padStart(6)}  ${line}`;
    return styleText(count === 0 ? 'green' : 'red', text, { stream: process.stdout });
  });
  return [
    shareText(report),
    ...rows,
    `${tally.slots} slots, ${tally.visits} visits, ${tally.alerts} alerts`,
    isPassed ? 'Every line is zero.' : `Not every line is zero. The same faults again: ${repeat}`,
  ].join('\n');
}

function write(folder: string, report: Report): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'proof.md'), markdownOf(report));
  writeFileSync(join(folder, 'proof.json'), `${JSON.stringify(report, null, 2)}\n`);
  say(`report: ${join(folder, 'proof.md')} and proof.json`);
}

/** Plays the proof. Gives an exit code: 1 when a line is not zero, 2 when it could not judge enough. `command` is what the reader calls to repeat it. */
export async function runProof(
  given: ProofArguments,
  programs: Programs,
  command: string,
): Promise<number> {
  const only = given.case ?? [];
  const unknown = only.find((name) => cases.every((each) => each.name !== name));
  if (unknown !== undefined) {
    const names = cases.map(({ name }) => name).join(', ');
    throw new ProofUsageError(`--case: there is no ${JSON.stringify(unknown)}; there are ${names}`);
  }
  const isShort = given.short === true;
  if (isShort && given.long !== undefined)
    throw new ProofUsageError('--short and --long exclude each other');
  const seed = numberFrom('--seed', given.seed) ?? 1 + Math.floor(Math.random() * longestSeed);
  const rounds = numberFrom('--rounds', given.rounds);
  const hours =
    given.long === undefined
      ? null
      : numberFrom('--long', given.long === true ? '8' : String(given.long));
  const options = [
    ...only.map((name) => ` --case ${name}`),
    ...(isShort ? [' --short'] : []),
    ...(rounds === null ? [] : [` --rounds ${rounds}`]),
    ...(given.postgres === undefined || command.startsWith('npm')
      ? []
      : [' --postgres <url of an empty database>']),
  ].join('');
  const interruption = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      say(`${signal}: stopping all programs`);
      interruption.abort(new ProofInterrupted(signal));
    });
  }
  const endsAt = hours === null ? null : Date.now() + hours * hourMs;
  for (let current = seed; ; current += 1) {
    say(`seed ${current}`);
    const proof = await prove({
      ...{ programs, seed: current, only, isShort, rounds, say, signal: interruption.signal },
      // The second seed would find the rows of the first.
      databaseUrl: current === seed ? (given.postgres ?? null) : null,
      playMs: isShort ? shortPlayMs : usualPlayMs,
    });
    const report = reportOf(proof, `${command}${options} --seed ${current}`);
    write(resolve(given.out ?? 'proof-report'), report);
    if (!report.isPassed || endsAt === null || Date.now() > endsAt) {
      console.log(given.json === true ? JSON.stringify(report, null, 2) : summaryOf(report));
      return report.isPassed ? (report.isConclusive ? 0 : 2) : 1;
    }
  }
}

/** Of Commander, on which the programs alone depend. */
interface Command {
  description(text: string): unknown;
  option(flags: string, description: string): unknown;
  addHelpText(position: 'after', text: string): unknown;
  action(run: (given: ProofArguments) => Promise<void>): unknown;
}

/** The command of one of the programs, whose file lies in `folder`: plays faults on programs of this machine. */
export function registerProofOf(
  program: { name(): string; command(name: string): Command },
  own: keyof Programs,
  { folder, unusable }: { folder: string; unusable: (message: string) => Error },
): void {
  const command = program.command('proof');
  command.description('run the fault-injection proof');
  for (const [flags, description] of proofOptions) command.option(flags, description);
  command.addHelpText('after', proofHelp);
  command.action(async (given) => {
    try {
      const found = findPrograms({ [own]: folder, ...given }, folder);
      process.exitCode = await runProof(given, found, `${program.name()} proof`);
    } catch (error) {
      if (error instanceof ProofInterrupted) error.exit();
      if (error instanceof ProofUsageError) throw unusable(error.message);
      throw error;
    }
  });
}

/** The arguments of a script. */
export function readArguments(args: readonly string[]): ProofArguments {
  const options = Object.fromEntries(
    proofOptions.map(([flags]) => {
      const name = /^--([\w-]+)/.exec(flags)?.[1] ?? '';
      const type = /[<[]/.test(flags) ? ('string' as const) : ('boolean' as const);
      return [name, { type, multiple: flags.includes('...') }];
    }),
  );
  const { 'control-plane': controlPlane, ...others } = parseArgs({
    args: [...args],
    options,
  }).values;
  return { ...others, ...(controlPlane === undefined ? {} : { controlPlane }) } as ProofArguments;
}
