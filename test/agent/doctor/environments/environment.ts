/** An environment in which agents fail, how it is made, and what `doctor` has to say in it. */
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Report } from '../../../../agent/doctor/finding.ts';
import { Program } from '../../../../proof/program.ts';
import { FakeControlPlane, locationKey } from '../../../support/fake-control-plane.ts';
import { agentProgram } from '../../../support/programs.ts';
import { eventually } from '../../../support/system.ts';
import type { Office } from './office.ts';

/** How an environment is made. */
export interface Making {
  /** The fault in three-am.ts. */
  readonly from?: string;
  /** What the machine must offer: nothing, root, or root and `ip`. */
  readonly needs: 'nothing' | 'root' | 'lab';
  /** Programs it needs beyond Debian's base, with the package each is in; only where it is slow. */
  readonly packages?: Readonly<Record<string, string>>;
  /** Waits for what never comes, or only its row of the tables in `steps/` is new: with `TEST_LONG=1`, and in the lab. */
  readonly isSlow?: boolean;
  /** A line of the log of an agent that runs in it, and what `status` says is wrong; only what names the cause. */
  readonly agent?: { readonly log: RegExp; readonly status?: RegExp };
  make(ground: Ground): Promise<void> | void;
}

export interface Environment extends Making {
  readonly name: string;
  /** The first failure, or where there is none the first warning; null where all is well. */
  readonly first: { readonly id: string; readonly verdict: 'warn' | 'fail' } | null;
  /** What its evidence and its fix must contain. */
  readonly evidence: readonly string[];
  readonly fix: readonly string[];
}

const making =
  (needs: Making['needs']) =>
  (make: Making['make'], more: Omit<Making, 'make' | 'needs'> = {}): Making => ({
    ...{ needs, make },
    ...more,
  });
export const anywhere = making('nothing');
export const asRoot = making('root');
export const inLab = making('lab');
export const slow = (environment: Making): Making => ({ ...environment, isSlow: true });

const nobody = 65_534;
const agent = resolve(agentProgram);
/** The same program starts in each environment: half of its time goes into compiling it. */
const compileCache = resolve(import.meta.dirname, '../../../../node_modules/.cache/doctor');
const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What a browser says that works. The true one takes a second of each environment. */
const soundBrowser = `#!/bin/sh
case "$*" in *--version*) echo 'Chromium 150.0.0.0' ;; *) echo '<html></html>' ;; esac
`;

/** A sound environment, which `make` of an environment breaks. */
export class Ground implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'environment-'));
  readonly stack = new AsyncDisposableStack();
  readonly settings: Record<string, string>;
  /** Words before the command of the agent: they change limits, rights, mounts or the network. */
  before: string[] = [];
  /** Warnings that are right here and not what it is about. */
  readonly expected = new Set<string>();
  readonly office: Office | null;
  readonly controlPlane: FakeControlPlane;

  private constructor(controlPlane: FakeControlPlane, office: Office | null) {
    this.controlPlane = this.stack.use(controlPlane);
    this.office = office;
    chmodSync(this.folder, 0o755);
    for (const name of ['data', 'work']) {
      mkdirSync(join(this.folder, name));
      chmodSync(join(this.folder, name), 0o700);
    }
    this.settings = {
      ...{ PATH: path, API_KEY: locationKey, CONTROL_PLANE_URL: controlPlane.url },
      ...{ AGENT_DATA_DIR: join(this.folder, 'data'), AGENT_WORK_DIR: join(this.folder, 'work') },
      AGENT_HEALTH_PORT: '0',
      AGENT_CHROMIUM_PATH: this.program('browser', soundBrowser),
      JOB_CONCURRENCY: '1',
      NODE_COMPILE_CACHE: compileCache,
    };
  }

  static async open(office: Office | null): Promise<Ground> {
    mkdirSync(compileCache, { recursive: true });
    // Agents that are not root keep theirs in it as well.
    chmodSync(compileCache, 0o1777);
    return new Ground(await FakeControlPlane.start({ key: locationKey }), office);
  }

  file(name: string, text: string): string {
    const at = join(this.folder, name);
    writeFileSync(at, text);
    return at;
  }

  program(name: string, text: string): string {
    const at = this.file(name, text);
    chmodSync(at, 0o755);
    return at;
  }

  /** The agent runs as nobody. */
  asNobody(...more: string[]): void {
    this.asOwner(nobody, ...more);
  }

  /** The agent runs as the user that its folders belong to. */
  asOwner(id: number, ...more: string[]): void {
    for (const name of ['data', 'work']) chownSync(join(this.folder, name), id, id);
    this.asUser(id, ...more);
  }

  /**
   * On the network of this machine a user may send echo requests, whatever the machine itself allows:
   * that is not what the environment is about.
   */
  asUser(id: number, ...more: string[]): void {
    const isInLab = this.before.includes('netns');
    const rights = isInLab ? [] : ['--inh-caps=+net_raw', '--ambient-caps=+net_raw'];
    const who = [`--reuid=${id}`, `--regid=${id}`, '--clear-groups'];
    this.before.push('setpriv', ...who, ...rights, ...more, '--');
  }

  /** A script runs first, in mounts of its own that nobody else sees; `$0` is the folder of the ground. */
  withMounts(script: string): void {
    const all = `set -e; mount --make-rprivate /; ${script}; exec "$@"`;
    this.before.push('unshare', '-m', 'sh', '-c', all, this.folder);
  }

  #command(...words: string[]): [program: string, words: string[]] {
    const [program = '', ...rest] = [...this.before, process.execPath, agent, ...words];
    return [program, rest];
  }

  /** Starts the agent, and resolves when its log and its status say so. */
  async agentSays({ log, status }: NonNullable<Environment['agent']>): Promise<void> {
    const env = { ...this.settings, LOG_FORMAT: 'json' };
    await using program = new Program(['start'], env, { before: this.#command() });
    await eventually(
      () => program.lines.some((line) => log.test(line)),
      () => program.lines.join('\n'),
    );
    if (status === undefined) return;
    let said = '';
    await eventually(
      async () => {
        await using asked = new Program(['status', '--json'], env, { before: this.#command() });
        await asked.exited;
        said = asked.lines.join('\n');
        return status.test(said);
      },
      () => said,
    );
  }

  /** Runs the real command in it. */
  async doctor(options: readonly string[] = []): Promise<{ report: Report; exitCode: number }> {
    const [program, words] = this.#command('doctor', '--json', ...options);
    return new Promise((done, fail) => {
      const settings = { env: this.settings, timeout: 60_000, maxBuffer: 10_000_000 };
      const child = execFile(program, words, settings, (error, stdout, stderr) => {
        try {
          const report = JSON.parse(stdout) as Report;
          done({ report, exitCode: error === null ? 0 : Number(error.code) });
        } catch {
          fail(new Error(`doctor printed no report: ${stdout}\n${stderr}`));
        }
      });
      child.stdin?.end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack.disposeAsync();
    await rm(this.folder, { recursive: true, force: true });
  }
}
