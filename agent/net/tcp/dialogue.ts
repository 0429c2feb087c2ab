/** A line-based dialogue over TCP: expected lines, sent lines, and optionally STARTTLS. */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { failureOf, observeError, timedOut } from '../failure.ts';
import type { Address } from '../dns/resolve.ts';

export interface DialogueTurn {
  /** Matches the expected line; null sends without waiting. */
  readonly awaits: ((line: string) => boolean) | null;
  /** The next line to send, without its end; empty for none. */
  readonly says: () => string;
  readonly startsTls: boolean;
}

export interface DialogueTls {
  readonly secureContext: SecureContext;
  readonly serverName: string;
  readonly skipVerify: boolean;
  /** Called when the handshake is complete. */
  readonly onSecure: (socket: TLSSocket) => void;
}

export interface Dialogue {
  readonly address: Address;
  readonly port: number;
  /** TLS from the first byte. */
  readonly isTls: boolean;
  readonly tls: DialogueTls;
  readonly turns: readonly DialogueTurn[];
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Longer lines are refused. */
const maxLineLength = 65_536;

/** Received lines; waits for the next one. */
class Lines {
  #text = '';
  #isOver = false;
  #wake: () => void = () => undefined;

  take(chunk: Buffer): void {
    this.#text += chunk.toString('latin1');
    if (this.#text.length > maxLineLength && !this.#text.includes('\n')) this.#isOver = true;
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Null at the end, after an unterminated last line. */
  async next(): Promise<string | null> {
    for (;;) {
      const end = this.#text.indexOf('\n');
      if (end !== -1 || (this.#isOver && this.#text !== '')) {
        const line = this.#text.slice(0, end === -1 ? undefined : end);
        this.#text = end === -1 ? '' : this.#text.slice(end + 1);
        return Buffer.from(line.replace(/\r$/, ''), 'latin1').toString('utf8');
      }
      if (this.#isOver) return null;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** The peer closed before the expected line. */
export const nothingAwaited = 'NOT_SAID';

/** Runs a dialogue. Gives null on success and a failure otherwise; rejects only with an AgentError. */
export async function holdDialogue(dialogue: Dialogue): Promise<Failure | null> {
  const { address, port, clock, signal, tls, timeoutMs } = dialogue;
  const subject = `${address.address}:${port}`;
  const open = new Set<Socket>();
  let phase = 'connect';
  const { promise: ended, reject: end } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  const cancel = clock.after(timeoutMs, () => end(new Ended(timedOut(phase, subject, timeoutMs))));
  const onAbort = (): void => {
    end(new Ended(failureOf(phase, 'CANCELLED', subject, 'the probe was cancelled')));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const watched = <S extends Socket>(socket: S): S => {
    open.add(socket);
    socket.on('error', end);
    return socket;
  };
  const happened = (socket: Socket, event: string) =>
    Promise.race([ended, new Promise<void>((resolve) => socket.once(event, () => resolve()))]);
  const secure = async (below: Socket): Promise<TLSSocket> => {
    phase = 'tls';
    const { secureContext, serverName, skipVerify, onSecure } = tls;
    const isName = /[a-z]/i.test(serverName) && !serverName.includes(':');
    const socket = watched(
      connectTls({
        ...{ socket: below, secureContext, rejectUnauthorized: !skipVerify },
        ...(isName ? { servername: serverName } : { host: serverName }),
      }),
    );
    await happened(socket, 'secureConnect');
    onSecure(socket);
    return socket;
  };
  const listen = (socket: Socket): Lines => {
    const lines = new Lines();
    socket.on('data', (chunk: Buffer) => lines.take(chunk));
    socket.once('close', () => lines.end());
    return lines;
  };
  const converse = async (): Promise<Failure | null> => {
    let socket: Socket = watched(
      connectTcp({ host: address.address, port, autoSelectFamily: false }),
    );
    await happened(socket, 'connect');
    if (dialogue.isTls) socket = await secure(socket);
    if (dialogue.turns.length === 0) return null;
    phase = 'answer';
    let lines = listen(socket);
    for (const { awaits, says, startsTls } of dialogue.turns) {
      while (awaits !== null) {
        const line = await Promise.race([ended, lines.next()]);
        if (line === null) {
          return failureOf('answer', nothingAwaited, subject, 'the connection ended before that');
        }
        if (awaits(line)) break;
      }
      const said = says();
      if (said !== '') socket.write(`${said}\n`);
      if (!startsTls) continue;
      socket.removeAllListeners('data');
      socket = await secure(socket);
      lines = listen(socket);
      phase = 'answer';
    }
    return null;
  };
  try {
    return await converse();
  } catch (error) {
    return error instanceof Ended ? error.failure : observeError(phase, error, subject);
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
    for (const socket of open) {
      socket.destroySoon();
      socket.on('error', () => undefined);
    }
  }
}

/** The dialogue was ended from outside. */
class Ended extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}
