/** Real processes, told apart by what they log. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

/** Where the kernel begins to pick ports for those who do not care. */
function firstPickedPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
  } catch {
    return 32_768;
  }
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isListening) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/**
 * The first of so many free ports in a row, for programs that must come back on the same one: outside
 * of what the kernel picks from, so that nobody else is given it in the meantime. Those from 10,081 on
 * are none that `fetch` or a browser refuses to speak to.
 */
export async function freePort(inARow = 1): Promise<number> {
  const lowest = 10_081;
  for (;;) {
    const first = lowest + Math.floor(Math.random() * (firstPickedPort() - inARow - lowest));
    let found = 0;
    while (found < inARow && (await isFree(first + found))) found += 1;
    if (found === inARow) return first;
  }
}

/** What a program is given of this one's environment: nothing that it would read as a setting. */
export function surroundings(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }) };
}

export interface LogLine {
  msg?: string;
  [fact: string]: unknown;
}

export interface ProgramOptions {
  /** What the arguments are given to; by default Node. */
  before?: readonly [program: string, words: readonly string[]] | undefined;
  /**
   * Where its output goes as well. Somebody at a terminal has started it: it has the whole environment of this
   * process, and Ctrl-C is for this process alone, which asks it once. A second signal means "leave at once".
   */
  logFile?: string | undefined;
}

export class Program implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly lines: string[] = [];
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #listeners = new Set<(line: string) => void>();
  readonly #logFile: string | undefined;

  constructor(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    { before = [process.execPath, []], logFile }: ProgramOptions = {},
  ) {
    this.#logFile = logFile;
    const isAttended = logFile !== undefined;
    this.child = spawn(before[0], [...before[1], ...args], {
      env: { ...(isAttended ? process.env : surroundings()), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: isAttended,
    });
    const log = isAttended ? createWriteStream(logFile, { flags: 'a' }) : null;
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream === null) continue;
      if (log !== null) stream.pipe(log, { end: false });
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        if (isAttended && this.lines.length > 1_000) this.lines.shift();
        for (const listener of this.#listeners) listener(line);
      });
    }
    const kill = (): void => void this.child.kill('SIGKILL');
    if (isAttended) process.once('exit', kill);
    this.exited = once(this.child, 'close').then(([code, signal]) => {
      process.off('exit', kill);
      log?.end();
      return { code: code as number | null, signal: signal as NodeJS.Signals | null };
    });
  }

  /** What became of it, for people. */
  async #end(): Promise<string> {
    const { code, signal } = await this.exited;
    const last = `:\n${this.lines.slice(-20).join('\n')}`;
    return `ended (${code ?? signal})${this.#logFile === undefined ? last : `; its log is ${this.#logFile}`}`;
  }

  /**
   * Resolves with the first line, past or future, that contains a text, or with a later one. Rejects when it
   * ends first.
   */
  line(text: string, times = 1): Promise<string> {
    const known = this.lines.filter((line) => line.includes(text));
    const wanted = known[times - 1];
    if (wanted !== undefined) return Promise.resolve(wanted);
    let left = times - known.length;
    return new Promise((resolve, reject) => {
      const listener = (line: string): void => {
        if (!line.includes(text)) return;
        left -= 1;
        if (left > 0) return;
        this.#listeners.delete(listener);
        resolve(line);
      };
      this.#listeners.add(listener);
      void this.#end().then((how) => reject(new Error(`waited for "${text}", but it ${how}`)));
    });
  }

  /** The line as the log it is. */
  async log(msg: string): Promise<LogLine> {
    return JSON.parse(await this.line(`"msg":"${msg}"`)) as LogLine;
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Kills it without warning and waits until it is gone. */
  async kill9(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Asks it to end, and waits. */
  async stop(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    this.child.kill('SIGTERM');
    // A frozen one hears it only now.
    this.child.kill('SIGCONT');
    return this.exited;
  }

  /** Resolves when an address answers with a success. Rejects when it ends first. */
  async answers(url: string): Promise<void> {
    const isUp = () =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      );
    while (!(await isUp())) {
      if (this.hasEnded) throw new Error(`waited for ${url}, but it ${await this.#end()}`);
      await pause(25);
    }
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) await this.kill9();
  }
}
