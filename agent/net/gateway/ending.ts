/** When to give up on opening a connection for a client: at a time limit, or when the client is gone. */

export interface Ending {
  /** Time limit of a step in ms. */
  readonly withinMs: number;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/** The client disconnected; this is not worth a log line. */
export class ClientGone extends Error {}

interface Client {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** The time limit and signal for a client. */
export function endingWith(client: Client, withinMs: number): Ending {
  const controller = new AbortController();
  if (client.destroyed) controller.abort();
  else {
    client.once('close', () => controller.abort());
  }
  return { withinMs, signal: controller.signal };
}

/**
 * Calls back asynchronously with the reason when a step must be given up; gives a function that
 * cancels this.
 */
export function onEnding(
  { withinMs, signal }: Ending,
  code: 'CONNECT_TIMEOUT' | 'TIMEOUT',
  giveUp: (error: Error) => void,
): () => void {
  const onAbort = (): void => {
    callOff();
    giveUp(new ClientGone('the client is gone'));
  };
  const timer = setTimeout(() => {
    callOff();
    giveUp(Object.assign(new Error(`no answer within ${withinMs / 1000} s`), { code }));
  }, withinMs);
  const callOff = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  if (signal.aborted) queueMicrotask(onAbort);
  else signal.addEventListener('abort', onAbort, { once: true });
  return callOff;
}
