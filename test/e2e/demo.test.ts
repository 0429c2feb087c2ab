import assert from 'node:assert/strict';
import test from 'node:test';
import { request } from 'undici';
import { freePort, Program } from '../../proof/program.ts';
import { isLong } from '../support/random.ts';
import { temporaryFolder } from '../support/system.ts';

/** A browser gets a run a minute. */
const undecidedRuns = 5;

/** Browsers know that names below `localhost` are this machine; not every resolver does. */
async function openViewer(link: string): Promise<string> {
  const { hostname, host, port, pathname, search } = new URL(link);
  assert.match(hostname, /\.localhost$/);
  const { body } = await request(`http://127.0.0.1:${port}${pathname}${search}`, {
    headers: { host },
  });
  return body.text();
}

test('npm start shows results of eleven check types and links to files, and ends with 0; in the long tier it finds everything again, and says where no browser is found', async ({
  signal,
}) => {
  using folder = temporaryFolder();
  // The second agent listens beside the first; targets need five ports.
  const first = await freePort(8);
  const environment = {
    DEMO_DATA_DIR: folder.path,
    PORT: String(first),
    AGENT_HEALTH_PORT: String(first + 1),
    DEMO_TARGET_PORT: String(first + 3),
  };
  await using demo = new Program(['scripts/demo.ts'], environment);
  signal.addEventListener('abort', () => process.stderr.write(demo.lines.slice(-60).join('\n')));
  for (const shown of [
    'PASSING  healthy website (URL',
    'FAILING  failing website (URL',
    'flapping website (URL',
    'PASSING  echo server (TCP',
    'PASSING  name server (DNS',
    'PASSING  certificate (SSL) (SSL',
    'PASSING  health of a gRPC server (GRPC',
    'loopback ping (ICMP',
    'way to the echo server (TRACEROUTE',
    'nightly job (heartbeat) (HEARTBEAT',
    'PASSING  signed request (API) (API',
    'PASSING  order in two steps (MULTI_STEP',
    'webhook received ALERT_FAILURE failing website',
  ]) {
    await demo.line(shown);
  }
  /** Null when the machine left its agents so little CPU, again and again, that a run decides nothing. */
  const unlessStarved = (shown: string, check: string): Promise<string | null> =>
    Promise.any([
      demo.line(shown),
      demo.line(`ERROR    ${check} (`, undecidedRuns).then(() => null),
    ]);
  for (const [state, check] of [
    ['DEGRADED', 'slow website'],
    ['PASSING ', 'shop in a browser'],
    ['FAILING ', 'checkout in a browser'],
  ] as const) {
    await unlessStarved(`${state} ${check} (`, check);
  }
  const page = await (await fetch(`http://127.0.0.1:${environment.PORT}/status/demo`)).text();
  assert.match(page, /Demo shop/);
  const linkIn = (line: string): string => /https?:\S+/.exec(line)?.[0] ?? '';
  const vitals = await unlessStarved('shop in a browser: ', 'shop in a browser');
  if (vitals !== null) {
    assert.match(vitals, /FCP \d+.*TTFB \d/);
    const screenshot = await fetch(linkIn(await demo.line('  screenshot ')));
    assert.equal(screenshot.headers.get('content-type'), 'image/png');
    assert.ok((await screenshot.arrayBuffer()).byteLength > 1_000);
  }
  const trace = await unlessStarved('  trace ', 'checkout in a browser');
  if (trace !== null) assert.match(await openViewer(linkIn(trace)), /Playwright/);
  demo.signal('SIGINT');
  assert.deepEqual(await demo.exited, { code: 0, signal: null });
  // The address comes first, and stands alone on its line.
  const addresses = demo.lines.filter((line) => /https?:/.test(line));
  assert.equal(addresses[0], `http://127.0.0.1:${first}/console/`);
  await demo.line('not well on purpose');
  const passwordOf = (program: Program) =>
    program.lines.find((line) => line.startsWith('Sign in as'));
  const steps = demo.lines.filter((line) => /^ *\d+ s {2}/.test(line));
  assert.match(demo.lines[0] ?? '', /^ *0 s {2}opening targets/);
  assert.ok(steps.some((line) => line.includes('starting the control plane')));
  assert.ok(steps.some((line) => line.includes('starting two agents')));
  assert.notEqual(passwordOf(demo), undefined);
  if (!isLong) return;
  // The browser has gone meanwhile.
  await using again = new Program(['scripts/demo.ts'], {
    ...environment,
    AGENT_CHROMIUM_PATH: '/nowhere/chromium',
  });
  await again.line('PASSING  healthy website (URL');
  assert.equal(passwordOf(again), passwordOf(demo));
  await again.line('shop in a browser (BROWSER');
  await again.line('  AGENT_CHROMIUM_PATH: /nowhere/chromium is not there');
  await again.line('or set AGENT_CHROMIUM_PATH to one');
  again.signal('SIGTERM');
  assert.deepEqual(await again.exited, { code: 0, signal: null });
});
