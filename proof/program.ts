/** Real processes, told apart by what they log. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Where the kernel begins to pick ports for those who do not care. */
function firstPickedPort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s/)[0]);
  } catch {
    return 32_768;
  }
}

async function isFree(port: number): Promise<boolean> {
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

export class Program implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly lines: string[] = [];
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #listeners = new Set<(line: string) => void>();

  /** `before` is what the arguments are given to; by default Node. */
  constructor(
    args: readonly string[],
    environment: Record<string, string>,
    before: readonly [program: string, words: readonly string[]] = [process.execPath, []],
  ) {
    this.child = spawn(before[0], [...before[1], ...args], {
      env: { ...surroundings(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.lines.push(line);
        for (const listener of this.#listeners) listener(line);
      });
    }
    this.exited = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
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
      void this.exited.then(({ code, signal }) => {
        reject(
          new Error(
            `ended (${code ?? signal}) without "${text}":\n${this.lines.slice(-20).join('\n')}`,
          ),
        );
      });
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

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasEnded) await this.kill9();
  }
}
