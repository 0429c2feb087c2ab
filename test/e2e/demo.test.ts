import assert from 'node:assert/strict';
import test from 'node:test';
import { freePort, Program } from '../support/program.ts';
import { temporaryFolder } from '../support/system.ts';

test('npm start shows results of every monitor type, ends with 0, and finds everything again', async () => {
  using folder = temporaryFolder();
  const environment = {
    DEMO_DATA_DIR: folder.path,
    PORT: String(await freePort()),
    AGENT_HEALTH_PORT: String(await freePort()),
    DEMO_TARGET_PORT: String(20_000 + Math.floor(Math.random() * 30_000)),
  };
  await using demo = new Program(['scripts/demo.ts'], environment);
  for (const shown of [
    'PASSING  healthy website (URL',
    'DEGRADED slow website (URL',
    'FAILING  failing website (URL',
    'flapping website (URL',
    'PASSING  echo server (TCP',
    'PASSING  name server (DNS',
    'loopback ping (ICMP',
    'nightly job (heartbeat) (HEARTBEAT',
  ]) {
    await demo.line(shown);
  }
  demo.signal('SIGINT');
  assert.deepEqual(await demo.exited, { code: 0, signal: null });
  const keyOf = (program: Program) =>
    program.lines.find((line) => line.startsWith('results'))?.match(/cu_\w+/)?.[0];

  await using again = new Program(['scripts/demo.ts'], environment);
  await again.line('PASSING  healthy website (URL');
  assert.equal(keyOf(again), keyOf(demo));
  again.signal('SIGTERM');
  assert.deepEqual(await again.exited, { code: 0, signal: null });
});
