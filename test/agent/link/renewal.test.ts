// Own process: it changes the authorities of its process.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlain, type RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../../agent/config.ts';
import type { CallFailure } from '../../../agent/link/control-plane-client.ts';
import { ControlPlaneClient } from '../../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { renewTrust } from '../../../agent/link/extra-authorities.ts';
import { LocationKey } from '../../../agent/link/location-key.ts';
import { Secret } from '../../../agent/secret.ts';
import { makeAuthority } from '../../support/certificates.ts';
import { locationKey } from '../../support/fake-control-plane.ts';
import { temporaryFolder } from '../../support/system.ts';
import { listening } from '../../support/servers.ts';

const oldKey = locationKey;
const newKey = `pl_${'1'.repeat(64)}`;

function clientFor(
  url: string,
  apiKey: { reveal(): string },
  renew: (failure: CallFailure, used: string) => boolean,
) {
  const dispatcher = createDispatcher({});
  const client = new ControlPlaneClient({
    ...{ baseUrl: url, apiKey, dispatcher, renew, agentId: randomUUID(), version: '1' },
  });
  return { client, [Symbol.asyncDispose]: () => dispatcher.destroy() };
}

test('a key that was replaced in its file is used before the next try, and nothing that cannot be one', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'key');
  const asked: string[] = [];
  const answer: RequestListener = (request, response) => {
    asked.push((request.headers.authorization ?? '').replace('Bearer ', ''));
    const isGood = asked.at(-1) === newKey;
    const refusal = {
      ...{ statusCode: 401, error: 'Unauthorized', message: 'no', attributes: { code: 'X' } },
    };
    response.writeHead(isGood ? 204 : 401, { 'content-type': 'application/json' });
    response.end(isGood ? '' : JSON.stringify(refusal));
  };
  await using server = await listening(createPlain(answer));
  const { keySource } = readConfig({
    environment: { API_KEY_FILE: file, AGENT_DATA_DIR: '/x' },
    readFile: () => oldKey,
  });
  const source = {
    ...keySource,
    read: () => readConfig({ environment: { API_KEY_FILE: file } }).config.API_KEY?.reveal(),
  };
  const logged: string[] = [];
  const logger = pino({}, { write: (line) => void logged.push(line) });
  const key = new LocationKey(new Secret(oldKey), source, logger);
  await using opened = clientFor(
    `http://127.0.0.1:${server.port}`,
    key,
    ({ code }, used) => code === 'KEY_REFUSED' && key.renew(used),
  );
  for (const content of [oldKey, `API_KEY=${newKey}`, newKey.slice(0, -1), 'x']) {
    writeFileSync(file, content);
    await assert.rejects(opened.client.goodbye(), { code: 'KEY_REFUSED' });
  }
  rmSync(file);
  await assert.rejects(opened.client.goodbye(), { code: 'KEY_REFUSED' });
  assert.deepEqual(
    asked.splice(0),
    Array.from({ length: 5 }, () => oldKey),
  );
  assert.match(logged.at(-1) ?? '', /the new one cannot be one.*ENOENT|ENOENT.*cannot be one/);
  assert.equal(logged.length, 4, 'the same key again is no news');
  writeFileSync(file, `${newKey}\n`);
  await opened.client.goodbye();
  await opened.client.goodbye();
  assert.deepEqual(asked, [oldKey, newKey, newKey]);
});

test('an authority that was put into its file is trusted before the next try', async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'ca.pem');
  const [old, renewed] = [await makeAuthority(), await makeAuthority()];
  const { key, cert } = await renewed.issue({ host: '127.0.0.1', validForDays: 30 });
  writeFileSync(path, old.cert);
  await using server = await listening(
    createServer({ key, cert }, (_request, response) => void response.writeHead(204).end()),
  );
  await using opened = clientFor(`https://127.0.0.1:${server.port}`, new Secret('pl_a_key'), () =>
    renewTrust(path),
  );
  // What is in the file already is trusted, and is no news after that.
  renewTrust(path);
  await assert.rejects(opened.client.goodbye(), { code: 'CONTROL_PLANE_UNREACHABLE' });
  // Of the same name, as authorities are renewed.
  writeFileSync(path, renewed.cert);
  await opened.client.goodbye();
});
