/** The child process that keeps the headers of packets: `packet-capture.pl` and how one talks to it. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../packet-capture.pl', import.meta.url));
const newline = 0x0a;
const killAfterMs = 1_000;

export interface RelayAnswer {
  readonly packets: number;
  /** Packets in the middle of a long connection that are not among them. */
  readonly leftOut: number;
  /** As they stand in a pcap file. */
  readonly records: Buffer;
}

/** Why there is no relay: the name of an error of the system, and words. */
export interface RelayProblem {
  readonly name: string;
  readonly text: string;
}

export class CaptureRelay {
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #questions = new Map<number, (answer: RelayAnswer | null) => void>();
  #asked = 0;
  #received: Buffer = Buffer.alloc(0);

  constructor(child: ChildProcessWithoutNullStreams, received: Buffer) {
    this.#child = child;
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        for (const answer of this.#questions.values()) answer(null);
        this.#questions.clear();
        resolve(how);
      };
      if (child.exitCode !== null || child.signalCode !== null) end('at once');
      else
        child.once('exit', (code, signal) => {
          end(signal ?? `exit code ${code}`);
        });
    });
    child.stdout.on('data', (chunk: Buffer) => {
      this.#take(chunk);
    });
    this.#take(received);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    for (;;) {
      const end = this.#received.indexOf(newline);
      if (end === -1) return;
      const [number = 0, packets = 0, leftOut = 0, bytes = 0] = this.#received
        .toString('latin1', 0, end)
        .split(' ')
        .map(Number);
      const rest = end + 1 + bytes;
      if (this.#received.length < rest) return;
      const records = Buffer.from(this.#received.subarray(end + 1, rest));
      this.#received = this.#received.subarray(rest);
      this.#questions.get(number)?.({ packets, leftOut, records });
      this.#questions.delete(number);
    }
  }

  /** Sends a question; null when the relay ends before it answers, or when the caller aborts. */
  ask(question: string, signal: AbortSignal): Promise<RelayAnswer | null> {
    this.#asked += 1;
    const number = this.#asked;
    return new Promise((resolve) => {
      const onAbort = (): void => {
        this.#questions.delete(number);
        resolve(null);
      };
      if (signal.aborted || this.#child.exitCode !== null || this.#child.signalCode !== null) {
        resolve(null);
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#questions.set(number, (answer) => {
        signal.removeEventListener('abort', onAbort);
        resolve(answer);
      });
      this.#child.stdin.write(`${number} ${question}\n`);
    });
  }

  /** Ends it. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), killAfterMs);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Starts a relay with a ring of so many megabytes. Never rejects. */
export function startCaptureRelay(
  perl: string,
  bufferMb: number,
): Promise<CaptureRelay | RelayProblem> {
  return new Promise((resolve) => {
    const child = spawn(perl, [program, String(bufferMb)], {
      argv0: 'monitor-agent-capture',
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let said: Buffer = Buffer.alloc(0);
    let complaint = '';
    const fail = (name: string, text: string): void => {
      resolve({ name, text });
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      fail(error.code ?? 'EIO', error.message);
    });
    child.stdin.on('error', () => undefined);
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString()).slice(0, 500);
    });
    child.once('close', () => {
      fail('EIO', complaint === '' ? 'the process that keeps them ended' : complaint.trim());
    });
    const listen = (chunk: Buffer): void => {
      said = Buffer.concat([said, chunk]);
      const end = said.indexOf(newline);
      if (end === -1) return;
      child.stdout.off('data', listen);
      const [word, name = '', ...text] = said.toString('utf8', 0, end).split(' ');
      if (word === 'ready') resolve(new CaptureRelay(child, said.subarray(end + 1)));
      else fail(name, text.join(' '));
    };
    child.stdout.on('data', listen);
  });
}
