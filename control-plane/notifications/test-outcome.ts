/** Sends a test, and waits a while for its outcome. */
import type { z } from 'zod';
import { type channelTest, testWaitMs } from '@monitor/shared/contract/alert-delivery.ts';
import type { Services } from '../core/services.ts';

/** `enqueue` adds it to the outbox with this id. */
export async function outcomeOfTest(
  { outbox, clock, newId }: Pick<Services, 'outbox' | 'clock' | 'newId'>,
  signal: AbortSignal,
  enqueue: (id: string) => Promise<void>,
): Promise<z.input<typeof channelTest>> {
  const id = newId();
  const enough = new AbortController();
  const giveUp = (): void => {
    enough.abort();
  };
  const cancel = clock.after(testWaitMs, giveUp);
  signal.addEventListener('abort', giveUp, { once: true });
  const ending = outbox.whenEnded(id, enough.signal);
  try {
    await enqueue(id);
    outbox.wake();
  } catch (error) {
    giveUp();
    cancel();
    throw error;
  }
  const outcome = await ending;
  cancel();
  return outcome === null
    ? { id, status: 'IN_PROGRESS', result: null }
    : { id, status: outcome.status, result: outcome.result };
}
