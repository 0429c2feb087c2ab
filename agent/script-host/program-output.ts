/**
 * What a program writes: lines and tails of its output, and its messages. Reading goes on when a
 * ceiling is reached, since a program that is not read stands still; it is only slowed down then.
 */
import type { Readable } from 'node:stream';
import { BoundedLines, Tail } from './bounded-lines.ts';
import type { Program } from './script-host.ts';

/** What tells that a process was killed, rather than that its target failed, as Node, npm, shells, browsers and what drives browsers say it. */
const signs = [
  ...['SIGKILL', 'Killed', 'exit code 137', 'exit code: 137', 'code=137', 'with code 137'],
  ...['exited unexpectedly', 'ENOMEM', 'Cannot allocate memory'],
  ...['Page crashed', 'Target crashed', 'has been closed', 'Target closed', 'browserGone'],
  // The event of a page.
  '"type":"crash"',
] as const;

/** Searches raw bytes: most output is never needed as text. */
function mentionsLostProcess(text: Buffer | string): boolean {
  return signs.some((sign) => text.includes(sign));
}

/** Ceilings that protect the agent rather than the machine. */
export interface OutputCeilings {
  readonly outputBytes: number;
  readonly maxLineBytes: number;
  readonly maxTailBytes: number;
  readonly maxMessageBytes: number;
  /** All messages of a program together. */
  readonly maxMessagesBytes: number;
}

/** What comes beyond a ceiling is read at about 16 MB/s: 64 KiB each time. */
const slowReadMs = 4;

export class ProgramOutput {
  readonly #program: Program;
  readonly #ceilings: OutputCeilings;
  readonly #tails: Record<'stdout' | 'stderr', Tail>;
  readonly #notes = new Set<string>();
  #outputBytes = 0;
  #messagesBytes = 0;
  #hasMentionedLoss = false;
  isTruncated = false;

  constructor(program: Program, ceilings: OutputCeilings) {
    this.#program = program;
    this.#ceilings = ceilings;
    this.#tails = {
      stdout: new Tail(ceilings.maxTailBytes),
      stderr: new Tail(ceilings.maxTailBytes),
    };
  }

  /** Reads a standard stream to its end. */
  readStandard(stream: Readable, name: 'stdout' | 'stderr'): Promise<void> {
    const lines = new BoundedLines(this.#ceilings.maxLineBytes, (line, isCut) => {
      this.#program.onLine?.(`${line.toString()}${isCut ? ' […]' : ''}`, name);
    });
    return drain(
      stream,
      (chunk) => {
        this.#tails[name].push(chunk);
        const room = this.#ceilings.outputBytes - this.#outputBytes;
        this.#outputBytes += chunk.length;
        if (room > 0) lines.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
        if (chunk.length <= room) return true;
        this.isTruncated = true;
        return false;
      },
      () => lines.end(),
    );
  }

  /** Reads the messages to their end. */
  readMessages(stream: Readable): Promise<void> {
    const { maxMessageBytes, maxMessagesBytes } = this.#ceilings;
    const lines = new BoundedLines(maxMessageBytes, (line, isCut) => {
      if (isCut) this.note(`a message of more than ${maxMessageBytes} bytes was left out`);
      else this.#deliver(line);
    });
    return drain(
      stream,
      (chunk) => {
        this.#messagesBytes += chunk.length;
        if (this.#messagesBytes <= maxMessagesBytes) {
          lines.push(chunk);
          return true;
        }
        this.note(`messages beyond ${maxMessagesBytes} bytes were left out`);
        return false;
      },
      () => undefined,
    );
  }

  /** Writes to the error output what was done to the program; each thing once. */
  note(text: string): void {
    if (this.#notes.has(text)) return;
    this.#notes.add(text);
    this.#program.onLine?.(`[monitor] ${text}`, 'stderr');
  }

  /** True when it has said, in whatever way, that a process of it was killed. */
  get mentionsLostProcess(): boolean {
    const { stdout, stderr } = this.#tails;
    return (
      this.#hasMentionedLoss || [stdout, stderr].some((tail) => mentionsLostProcess(String(tail)))
    );
  }

  get stdout(): string {
    return this.#tails.stdout.toString();
  }

  get stderr(): string {
    const written = this.#tails.stderr.toString();
    const notes = [...this.#notes].map((text) => `[monitor] ${text}`).join('\n');
    return notes === '' ? written : `${written}${written === '' ? '' : '\n'}${notes}`;
  }

  #deliver(line: Buffer): void {
    if (line.length === 0) return;
    this.#hasMentionedLoss ||= mentionsLostProcess(line);
    let message: unknown;
    try {
      message = JSON.parse(line.toString());
    } catch {
      this.note('a message that is not JSON was left out');
      return;
    }
    try {
      this.#program.onMessage?.(message);
    } catch (error) {
      // Thrown into the stream it would end the agent; it is what the program sent that was wrong.
      this.note(`a message was refused: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

/** Reads until the stream ends, or breaks, or is destroyed; slower once `take` says false. */
function drain(
  stream: Readable,
  take: (chunk: Buffer) => boolean,
  onEnd: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      if (take(chunk)) return;
      stream.pause();
      setTimeout(() => stream.resume(), slowReadMs);
    });
    stream.on('error', () => undefined);
    stream.once('close', () => {
      onEnd();
      resolve();
    });
  });
}
