/**
 * What a script prints, for somebody who watches it: a line is shown once the secrets before it are known.
 * The lines of a test are events, which are looked for as long as it runs.
 */
import type { Workspace } from '../../script-host/script-host.ts';
import type { RunnerContext } from '../runner.ts';
import { eventOf, maxBytes, maxOfType, runEventsFile } from './run-events.ts';

const pieceBytes = 1_048_576;
const lookEveryMs = 250;

export class LiveOutput implements AsyncDisposable {
  readonly #workspace: Workspace;
  readonly #context: Pick<RunnerContext, 'addSecret' | 'clock'>;
  readonly #print: (line: string) => void;
  #waiting: string[] = [];
  #shown: Promise<void> = Promise.resolve();
  #bytesRead = 0;
  /** The beginning of an event that is not complete. */
  #rest: Buffer = Buffer.alloc(0);
  #secrets = 0;
  #cancel: () => void = () => undefined;

  constructor(
    workspace: Workspace,
    context: Pick<RunnerContext, 'addSecret' | 'clock'>,
    print: (line: string) => void,
  ) {
    this.#workspace = workspace;
    this.#context = context;
    this.#print = print;
    this.#lookSoon();
  }

  add(line: string): void {
    this.#waiting.push(line);
    if (this.#waiting.length === 1) this.#showSoon();
  }

  /** Resolves when all of it was shown. Never rejects. */
  end(): Promise<void> {
    this.#cancel();
    this.#showSoon();
    return this.#shown;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  #lookSoon(): void {
    this.#cancel = this.#context.clock.after(lookEveryMs, () => {
      this.#showSoon();
      this.#lookSoon();
    });
  }

  #showSoon(): void {
    // What cannot be shown without a secret is left out: the result holds it.
    this.#shown = this.#shown.then(() => this.#show()).catch(() => undefined);
  }

  async #show(): Promise<void> {
    const lines = this.#waiting;
    this.#waiting = [];
    await this.#learn();
    for (const line of lines) this.#print(line);
  }

  /** Reads what the run has reported since, in its order. */
  async #learn(): Promise<void> {
    const handle = await this.#workspace.read(runEventsFile);
    if (handle === null) return;
    try {
      while (this.#bytesRead < maxBytes) {
        const piece = Buffer.alloc(Math.min(pieceBytes, maxBytes - this.#bytesRead));
        const { bytesRead } = await handle.read(piece, 0, piece.length, this.#bytesRead);
        if (bytesRead === 0) return;
        this.#bytesRead += bytesRead;
        this.#take(Buffer.concat([this.#rest, piece.subarray(0, bytesRead)]));
      }
    } finally {
      await handle.close();
    }
  }

  #take(bytes: Buffer): void {
    const end = bytes.lastIndexOf('\n') + 1;
    this.#rest = bytes.subarray(end);
    for (const line of bytes.toString('utf8', 0, end).split('\n')) {
      // Others may be long.
      if (!/"type":"(secret|output)"/.test(line)) continue;
      const event = eventOf(line);
      if (event?.type === 'output') this.#print(event.text);
      if (event?.type !== 'secret' || this.#secrets >= maxOfType) continue;
      this.#secrets += 1;
      this.#context.addSecret(event.value);
    }
  }
}
