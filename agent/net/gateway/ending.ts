/** When to give up on opening a connection for a client: at a time limit, or when the client is gone. */

export interface Ending {
  /** In ms, from the beginning of a step. */
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

/** The ending of what is opened for a client. */
export function endingWith(client: Client, withinMs: number): Ending {
  const controller = new AbortController();
  if (client.destroyed) controller.abort();
  else {
    client.once('close', () => {
      controller.abort();
    });
  }
  return { withinMs, signal: controller.signal };
}

/** Calls back, never at once, when a step is to be given up, with why; what it gives calls that off. */
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
