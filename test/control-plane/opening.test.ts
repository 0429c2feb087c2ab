// PostgreSQL in the long tier: it asks before any statement; certificates.test.ts runs those of a start on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../support/control-plane.ts';
import { freePort } from '../../proof/program.ts';
import { eventually } from '../support/system.ts';

test('a client that connects while the server starts is answered once it is ready', async () => {
  const port = await freePort();
  const asking = new AbortController();
  const answers: number[] = [];
  const ask = async (): Promise<void> => {
    while (!asking.signal.aborted) {
      await fetch(`http://127.0.0.1:${port}/openapi.json`, {
        signal: AbortSignal.timeout(60_000),
      }).then(
        (response) => answers.push(response.status),
        (error: unknown) => {
          // Nobody listens yet; a connection without an answer is the one thing that may not be.
          if (error instanceof Error && error.name === 'TimeoutError') answers.push(0);
        },
      );
    }
  };
  const callers = Array.from({ length: 8 }, ask);
  await using cp = await startTestControlPlane({ settings: { PORT: String(port) } });
  assert.equal((await cp.api('GET', '/v1/check-statuses')).status, 200);
  await eventually(
    () => answers.length > 0,
    () => 'nobody was answered',
  );
  asking.abort();
  await Promise.all(callers);
  assert.deepEqual(new Set(answers), new Set([200]));
});
