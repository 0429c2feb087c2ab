// Own process: it waits for polls that are held.
import assert from 'node:assert/strict';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { collectFindings } from '../../../../agent/doctor/collect-findings.ts';
import { showsHeldPolls } from '../../../../agent/doctor/steps/calls.ts';
import { FakeControlPlane } from '../../../support/fake-control-plane.ts';
import { temporaryFolder } from '../../../support/system.ts';

type Gateway = (request: IncomingMessage, response: ServerResponse, pass: () => void) => void;

/** What doctor says behind a gateway. */
async function behind(gateway: Gateway) {
  await using fake = await FakeControlPlane.start();
  using folder = temporaryFolder();
  const server = createServer((incoming, response) => {
    gateway(incoming, response, () => {
      const { method, url, headers } = incoming;
      const onward = request(fake.url + (url ?? ''), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      incoming.pipe(onward);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { report } = await collectFindings({
    environment: {
      ...{ PATH: process.env['PATH'], API_KEY: fake.key, AGENT_DATA_DIR: folder.path },
      CONTROL_PLANE_URL: `http://127.0.0.1:${port}`,
    },
    clock: systemClock,
    choice: { only: ['calls'] },
  });
  server.closeAllConnections();
  server.close();
  const failed = report.findings.filter(({ verdict }) => verdict === 'fail');
  return {
    isOk: report.ok,
    text: failed.map(({ id, evidence }) => `${id}: ${evidence}`).join('\n'),
  };
}

const page =
  (path: RegExp, status: number): Gateway =>
  ({ url }, response, pass) => {
    if (path.test(url ?? '')) response.writeHead(status).end(`<h1>${status} by the gateway</h1>`);
    else pass();
  };

test('doctor ends well where every kind of call passes, and names the one that does not', async () => {
  let polls = 0;
  const rows: [string, Gateway, RegExp][] = [
    ['all pass', (_request, _response, pass) => pass(), /^$/],
    ['results', page(/results$/, 413), /^calls: results is not taken.*413 came.*by the gateway"$/],
    ['results, in place of an answer', page(/results$/, 200), /^calls: results is not taken.*200/],
    ['results, 400', page(/results$/, 400), /^calls: results is not taken.*400/],
    ['files, a proxy wants a login', page(/artifacts/, 407), /^calls: files is not taken.*407/],
    ['files', page(/artifacts/, 404), /^calls: files is not taken.*404/],
    [
      'polls are cut',
      ({ url }, response, pass) => {
        if (/check-in$/.test(url ?? '') && (polls += 1) > 1) response.writeHead(504).end();
        else pass();
      },
      /^calls: a poll that waits is not taken.*504/,
    ],
    [
      'Content-Type is taken away',
      (_request, response) =>
        response
          .writeHead(415, { 'content-type': 'application/json' })
          .end('{"message":"no JSON"}'),
      /^control-plane: .*answered 415 with a page: "\{"message":"no JSON"\}"/,
    ],
    [
      'the key is taken away',
      ({ headers }, _response, pass) => {
        delete headers.authorization;
        pass();
      },
      /^key: .*401: no key arrived: something in between takes the header Authorization away/,
    ],
  ];
  for (const [name, gateway, words] of rows) {
    const { isOk, text } = await behind(gateway);
    assert.match(text, words, name);
    assert.equal(isOk, text === '', name);
  }
});

test('a poll is held for long only where no agent has shown that its polls are held', () => {
  const link = {
    ...({ state: 'up', since: 0, lastAnswerAt: 1, lastFailure: null } as const),
    ...{ clockOffsetMs: 0, clockUncertaintyMs: 0, cutPolls: { count: 0, afterMs: 0 } },
  };
  const now = 10 * 60_000;
  assert.equal(showsHeldPolls({ link, now }), true);
  assert.equal(showsHeldPolls(undefined), false);
  assert.equal(showsHeldPolls({ link, now: 60_000 }), false, 'it has just begun');
  assert.equal(showsHeldPolls({ link: { ...link, state: 'down' }, now }), false);
  const cutPolls = { count: 1, afterMs: 10_000 };
  assert.equal(showsHeldPolls({ link: { ...link, cutPolls }, now }), false);
});
