// SQLite only: it reads sources.
/** What listens, connects or takes a signal is in the table of doors, and what the table names is there. */
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  commandDoors,
  doors,
  egress,
  ports,
  readers,
  routeDoors,
  signals,
} from '../../../control-plane/core/doors.ts';
import { commands, newProgram } from '../../../control-plane/app/program.ts';
import { describeSettings } from '../../../control-plane/core/config.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import {
  assertSignals,
  commandNames,
  filesWith as filesOf,
  openings,
  sourcesOf,
} from '../../support/doors.ts';

const sources = sourcesOf('control-plane');
const filesWith = (pattern: RegExp, under?: string): string[] => filesOf(sources, pattern, under);

test('each file that connects to the outside has its class', () => {
  const clients =
    /(?<![.\w])fetch\(|import\('(undici|nodemailer|openid-client)'\)|from '(pg|@aws-sdk\/client-s3|node:dns\/promises)'|from 'node:https'|\bconnect\(\s*\d/;
  assert.deepEqual(filesWith(clients), Object.keys(egress).sort());
});

test('each file that listens has its port, and opens it as all others do', () => {
  assert.deepEqual(filesWith(openings.listens), Object.keys(ports).sort());
  assert.deepEqual(filesWith(/\bopenServer\((limits|smallRequests)/), Object.keys(ports).sort());
  assert.deepEqual(filesWith(openings.makesServer), ['../shared/open-server.ts']);
  assert.deepEqual(filesWith(/\.on\('upgrade'/), ['compat/broker/result-broker.ts']);
});

test('each signal that is taken is named', () => {
  assertSignals(sources, signals);
});

test('each command has a row, and each row is of a command', async () => {
  assert.deepEqual(await commandNames(newProgram(), commands), Object.keys(commandDoors).sort());
});

test('each file of a command that reads is named with its commands', () => {
  const found = ['app/commands/', 'as-code/'].flatMap((folder) =>
    filesWith(openings.reads, folder),
  );
  assert.deepEqual(found, Object.keys(readers).sort());
});

test('quotas are settings, and limits of requests stand in the table or the contract', () => {
  const known = new Set(describeSettings().map(({ name }) => name));
  for (const { quota } of [...Object.values(doors), ...Object.values(routeDoors)]) {
    for (const name of quota as readonly string[]) assert.ok(known.has(name), name);
  }
  const limiting = filesWith(/\{ requests: [\d_]+, seconds: [\d_]+ \}/);
  assert.deepEqual(
    limiting.filter((path) => !path.startsWith('../shared/contract/')),
    [],
  );
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
