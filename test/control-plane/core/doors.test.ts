/** What listens, connects or takes a signal is in the table of doors, and what the table names is there. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { doors, egress, ports, routeDoors, signals } from '../../../control-plane/core/doors.ts';
import { describeSettings } from '../../../control-plane/core/config.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';

const root = join(import.meta.dirname, '..', '..', '..', 'control-plane');
const sources = globSync('**/*.ts', { cwd: root, exclude: ['console/**', 'node_modules/**'] }).map(
  (path) => ({ path, text: readFileSync(join(root, path), 'utf8') }),
);
const filesWith = (pattern: RegExp): string[] =>
  sources
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path)
    .sort();

test('each file that connects to the outside has its class', () => {
  const clients =
    /(?<![.\w])fetch\(|import\('(undici|nodemailer|openid-client)'\)|from '(pg|@aws-sdk\/client-s3|node:dns\/promises)'|from 'node:https'|\bconnect\(\s*\d/;
  assert.deepEqual(filesWith(clients), Object.keys(egress).sort());
});

test('each file that listens has its port, and opens it as all others do', () => {
  assert.deepEqual(filesWith(/server\.listen\(/), Object.keys(ports).sort());
  assert.deepEqual(filesWith(/\bopenServer\((limits|smallRequests)/), Object.keys(ports).sort());
  assert.deepEqual(
    filesWith(/import \{[^}]*\bcreateServer\b[^}]*\} from 'node:(http|https|net)'/),
    [],
  );
  assert.deepEqual(filesWith(/\.on\('upgrade'/), ['compat/broker/result-broker.ts']);
});

test('each signal that is taken is named', () => {
  assert.deepEqual(
    filesWith(/'SIG(TERM|INT|HUP|USR1|USR2)'/),
    ['core/doors.ts', ...Object.keys(signals)].sort(),
  );
  for (const [path, names] of Object.entries(signals)) {
    const text = sources.find((source) => source.path === path)?.text ?? '';
    for (const name of names) assert.ok(text.includes(`'${name}'`), `${path} ${name}`);
  }
});

test('quotas are settings, and limits of requests stand in the table or the contract', () => {
  const known = new Set(describeSettings().map(({ name }) => name));
  for (const { quota } of [...Object.values(doors), ...Object.values(routeDoors)]) {
    for (const name of quota as readonly string[]) assert.ok(known.has(name), name);
  }
  assert.deepEqual(filesWith(/\{ requests: [\d_]+, seconds: [\d_]+ \}/), []);
});

test('strangers at links of alerts are limited by their address', async () => {
  await using cp = await startTestControlPlane();
  const { uses } = doors.alertLinks.address;
  const statuses = new Map<number, number>();
  for (let count = 0; count < uses.requests + 5; count += 1) {
    const { status } = await fetch(`${cp.url}/alert-links/alert/guess/mute`);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  assert.deepEqual(
    [...statuses],
    [
      [404, uses.requests],
      [429, 5],
    ],
  );
});
