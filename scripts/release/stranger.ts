/**
 * `npm run stranger [-- --packages dist/packages] [--page docs/install.md] [--json]`: what a stranger does,
 * in a bare root with Node and npm alone, by the words of the page: its blocks of commands are run as they are
 * written. Prints how long each took. Ends with 1 when one fails, or when all took more than five minutes.
 * Needs root on Linux; ports 3000, 8000 and 8081 must be free, since the page names them.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { isFree } from '../../proof/program.ts';
import { readOptions, runScript } from '../options.ts';
import { blocksIn, installPage, shellTextOf, type Block } from '../guide/blocks.ts';
import { source } from '../guide/contents.ts';
import { makeBareRoot, ownProgram, registrySettings } from './bare-root.ts';
import { makePackages } from './packages.ts';

export interface StrangerStep {
  heading: string;
  command: string;
  seconds: number;
}

export interface StrangerRun {
  node: string;
  steps: StrangerStep[];
  seconds: number;
  problem: string | null;
}

const boundSeconds = 300;
const ports = [3000, 8000, 8081];
const home = '/root/first';
const end = '--- end of a command:';

/** The terminal of the stranger: one shell, so that what is exported stays. */
class Terminal implements Disposable {
  readonly #child;
  readonly #lines: string[] = [];
  #hear: (status: number) => void = () => undefined;

  constructor(root: string, settings: Record<string, string>) {
    const inside = [ownProgram('chroot'), root, '/bin/sh'];
    // Everything in it ends with it, also what runs in the background.
    const apart = ['--mount', '--pid', '--fork', '--kill-child', `--mount-proc=${root}/proc`];
    this.#child = spawn(ownProgram('unshare'), [...apart, ...inside], {
      env: { PATH: '/usr/bin', HOME: '/root', ...settings },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        if (line.startsWith(end)) this.#hear(Number(line.slice(end.length)));
        else this.#lines.push(line);
      });
    }
    this.#child.on('close', () => this.#hear(1));
    this.#child.stdin.write(`mkdir -p ${home} && cd ${home}\n`);
  }

  /** Runs a command, and gives its status and what was printed meanwhile. */
  async run(script: string, timeoutMs: number): Promise<{ status: number; output: string }> {
    const from = this.#lines.length;
    const status = await new Promise<number>((resolve) => {
      const timer = setTimeout(() => resolve(124), timeoutMs);
      this.#hear = (code) => {
        clearTimeout(timer);
        resolve(code);
      };
      this.#child.stdin.write(`${script}\necho; echo "${end} $?"\n`);
    });
    return { status, output: this.#lines.slice(from).join('\n').trim() };
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

/** The first command that fails ends the shell, as nothing after it would mean anything. */
const scriptOf = (block: Block, log: string): string =>
  `set -e\n${shellTextOf(block, log)}set +e\n:`;

/** What a reader of the page types. */
const commandsOf = (page: string): Block[] =>
  blocksIn(installPage, page).filter(({ language, how }) => language === 'sh' && how !== 'not-run');

const firstLineOf = (script: string): string => script.trim().split('\n')[0] ?? '';

/** Goes the whole way in a root of its own. The packages are the files `*.tgz` of a folder. */
export async function goStrangersPath(
  page: string,
  packages: string,
  say: (line: string) => void,
): Promise<StrangerRun> {
  const root = mkdtempSync(join(tmpdir(), 'stranger-'));
  try {
    makeBareRoot(root);
    const settings = registrySettings(root);
    using terminal = new Terminal(root, settings);
    const { output: node } = await terminal.run('node --version', 10_000);
    for (const file of globSync(join(packages, '*.tgz'))) {
      copyFileSync(file, join(root, home, basename(file)));
    }
    const startedAt = performance.now();
    const secondsSince = (instant: number): number => (performance.now() - instant) / 1000;
    const steps: StrangerStep[] = [];
    for (const [index, block] of commandsOf(page).entries()) {
      const begin = performance.now();
      const log = `/tmp/background-${index}.log`;
      const left = boundSeconds - secondsSince(startedAt);
      const { status, output } = await terminal.run(scriptOf(block, log), left * 1000);
      const seconds = secondsSince(begin);
      const shown = firstLineOf(block.text);
      steps.push({ heading: block.heading, command: shown, seconds });
      say(`${seconds.toFixed(1).padStart(6)} s  ${block.heading}: ${shown}`);
      if (status === 0) continue;
      const logs = globSync(join(root, 'tmp/background-*.log')).map((file) => {
        const text = readFileSync(file, 'utf8').trimEnd();
        return `--- ${basename(file)}\n${text.split('\n').slice(-15).join('\n')}`;
      });
      const why = status === 124 ? `not within ${boundSeconds} s in all` : `status ${status}`;
      const problem = [`${block.heading}: ${why}`, block.text, output, ...logs].join('\n');
      return { node, steps, seconds: secondsSince(startedAt), problem };
    }
    return { node, steps, seconds: secondsSince(startedAt), problem: null };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Why the path cannot be gone on this machine; null where it can. */
export async function strangerProblem(): Promise<string | null> {
  if (process.platform !== 'linux') return 'a bare root needs Linux';
  if (process.getuid?.() !== 0) return 'a bare root needs root: run it with sudo';
  const areFree = await Promise.all(ports.map(isFree));
  const taken = ports.filter((_port, index) => areFree[index] === false);
  if (taken.length === 0) return null;
  return `the page names port ${taken.join(' and ')}, which another program uses: stop it first`;
}

async function main(): Promise<void> {
  const { values } = readOptions({
    options: {
      packages: { type: 'string' },
      page: { type: 'string', default: join(source, installPage) },
      json: { type: 'string' },
    },
  });
  const problem = await strangerProblem();
  if (problem !== null) throw new Error(problem);
  const packages = values.packages ?? 'dist/packages';
  if (values.packages === undefined) await makePackages('dist/built', packages);
  const run = await goStrangersPath(readFileSync(values.page, 'utf8'), packages, console.log);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(run, null, 1));
  const load = `load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`;
  console.log(`${run.seconds.toFixed(1).padStart(6)} s in all, with Node ${run.node}, ${load}`);
  if (run.problem !== null) throw new Error(run.problem);
}

if (import.meta.main) await runScript(main);
