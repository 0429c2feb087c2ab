// Own process: it adds authorities to those of the process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import test, { before, suite } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { request } from 'undici';
import { readConfig } from '../../../agent/config.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { LinkProblem, type LinkProblemKind } from '../../../agent/link/link-problem.ts';
import { makeAuthority, selfSigned, type Authority } from '../../support/certificates.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { httpServer, httpsServer, tcpServer, listening } from '../../support/servers.ts';
import { freePort } from '../../../proof/program.ts';

let authority: Authority;
before(async () => {
  authority = await makeAuthority();
  setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
});

/** Asks as the agent does with these settings; gives the answer, or the fault. */
async function ask(
  url: string,
  environment: Record<string, string>,
): Promise<string | LinkProblem> {
  const { config } = readConfig({ environment });
  const dispatcher = createDispatcher(config);
  try {
    const { statusCode, body } = await request(url, {
      ...{ dispatcher, method: 'POST', body: 'question' },
    });
    return `${statusCode} ${await body.text()}`;
  } catch (error) {
    if (error instanceof LinkProblem) return error;
    throw error;
  } finally {
    await dispatcher.destroy();
  }
}

async function faultOf(url: string, environment: Record<string, string>): Promise<LinkProblem> {
  const answer = await ask(url, environment);
  assert.ok(answer instanceof LinkProblem, `answered: ${String(answer)}`);
  return answer;
}

async function secureServer(host: string) {
  const { key, cert } = await authority.issue({ host, validForDays: 5 });
  const server = createHttpsServer({ key, cert }, (_request, response) => response.end('secure'));
  const opened = await listening(server, 'https', host.includes(':') ? host : '127.0.0.1');
  return { ...opened, url: opened.url.replace('127.0.0.1', host) };
}

const plain: RequestListener = (asked, response) => response.end(`plain ${asked.url}`);

suite('through a proxy', () => {
  test('an https address is reached by a tunnel, with credentials', async () => {
    await using target = await secureServer('localhost');
    await using proxy = await proxyServer({ credentials: 'us%er:p@ss/w:ö' });
    const login = 'us%25er:p%40ss%2Fw:%C3%B6';
    const proxyUrl = `http://${login}@127.0.0.1:${proxy.port}`;
    assert.equal(await ask(target.url, { HTTPS_PROXY: proxyUrl }), '200 secure');
    assert.deepEqual(proxy.asked, [`CONNECT localhost:${target.port}`]);
  });

  test('an http URL is sent to the proxy as a whole, without a tunnel', async () => {
    await using target = await httpServer(plain);
    await using proxy = await proxyServer({ credentials: 'user:pass' });
    const url = `${target.url}/v1/agent?x=1`;
    assert.equal(await ask(url, { HTTP_PROXY: proxy.url }), '200 plain /v1/agent?x=1');
    assert.deepEqual(proxy.asked, [`POST ${url}`]);
  });

  test('both work with a proxy that is spoken to in TLS', async () => {
    await using secure = await secureServer('localhost');
    await using open = await httpServer(plain);
    const tls = await authority.issue({ host: '127.0.0.1', validForDays: 5 });
    await using proxy = await proxyServer({ tls, credentials: 'user:pass' });
    const settings = { ALL_PROXY: proxy.url };
    assert.equal(await ask(secure.url, settings), '200 secure');
    assert.equal(await ask(open.url, settings), '200 plain /');
    assert.equal(proxy.asked.length, 2);
  });

  test('proxy and target may be IPv6 addresses', async () => {
    await using target = await secureServer('::1');
    await using proxy = await proxyServer({ host: '::1' });
    assert.equal(await ask(target.url, { https_proxy: proxy.url }), '200 secure');
    assert.deepEqual(proxy.asked, [`CONNECT [::1]:${target.port}`]);
  });

  test('what NO_PROXY names goes past it, by network too', async () => {
    await using target = await httpServer(plain);
    await using proxy = await proxyServer();
    const settings = { HTTP_PROXY: proxy.url, NO_PROXY: 'other.test 127.0.0.0/8' };
    assert.equal(await ask(target.url, settings), '200 plain /');
    assert.deepEqual(proxy.asked, []);
  });

  test('the proxy of one scheme is not used for the other, and no scheme means http', async () => {
    await using target = await httpServer(plain);
    await using proxy = await proxyServer();
    assert.equal(await ask(target.url, { HTTPS_PROXY: proxy.url }), '200 plain /');
    assert.deepEqual(proxy.asked, []);
    await ask(target.url, { HTTP_PROXY: `127.0.0.1:${proxy.port}` });
    assert.equal(proxy.asked.length, 1);
  });

  test('one that reads along is trusted when its authority is', async () => {
    await using target = await secureServer('localhost');
    await using proxy = await proxyServer({
      intercept: (host) => authority.issue({ host, validForDays: 1 }),
    });
    assert.equal(await ask(target.url, { HTTPS_PROXY: proxy.url }), '200 secure');
  });
});

suite('what is wrong is named, with what helps:', () => {
  const says = async (
    url: string,
    environment: Record<string, string>,
    kind: LinkProblemKind,
    ...words: RegExp[]
  ): Promise<void> => {
    const fault = await faultOf(url, environment);
    assert.equal(fault.kind, kind, fault.message);
    for (const word of words) assert.match(`${fault.message}; ${fault.fix}`, word);
    assert.doesNotMatch(`${fault.message}; ${fault.fix}`, /s3cret/);
  };
  const site = 'https://monitor.test';

  test('the proxy is not there', async () => {
    const gone = await tcpServer(() => undefined);
    await gone[Symbol.asyncDispose]();
    const HTTPS_PROXY = `http://user:s3cret@127.0.0.1:${gone.port}`;
    await says(
      site,
      { HTTPS_PROXY },
      'refused',
      /the proxy 127\.0\.0\.1:\d+ refuses/,
      /HTTPS_PROXY/,
    );
  });

  test('the proxy has a name that does not exist', async () => {
    await says(site, { ALL_PROXY: 'http://proxy.invalid:3128' }, 'name', /ALL_PROXY/);
  });

  for (const scheme of ['https', 'http'] as const) {
    test(`the proxy wants credentials for ${scheme}`, async () => {
      await using proxy = await proxyServer({ credentials: 'user:pass' });
      const address = `http://127.0.0.1:${proxy.port}`;
      await says(
        `${scheme}://monitor.test`,
        { ALL_PROXY: address },
        'proxy-credentials',
        /asks for credentials \(407\)/,
        /user:password@/,
      );
      const wrong = `http://user:s3cret@127.0.0.1:${proxy.port}`;
      await says(
        `${scheme}://monitor.test`,
        { ALL_PROXY: wrong },
        'proxy-credentials',
        /refuses the credentials/,
        /ALL_PROXY/,
      );
    });
  }

  test('the proxy wants credentials of a kind that the agent has not', async () => {
    await using proxy = await proxyServer({ credentials: 'a:b', offers: ['NTLM', 'Negotiate'] });
    await says(
      site,
      { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` },
      'proxy-credentials',
      /NTLM or Negotiate/,
      /only do Basic/,
    );
  });

  test('the proxy does not let it pass', async () => {
    await using proxy = await proxyServer({ refusesWith: 403 });
    await says(
      `${site}:8443`,
      { HTTPS_PROXY: proxy.url },
      'proxy-refused',
      /\(403\); allow monitor\.test:8443/,
    );
  });

  test('the proxy cannot reach the control plane', async () => {
    await using proxy = await proxyServer({ refusesWith: 503 });
    await says(
      site,
      { HTTPS_PROXY: proxy.url },
      'proxy-target',
      /could not reach monitor\.test:443 \(503\)/,
    );
  });

  test('a page comes instead of a tunnel', async () => {
    await using proxy = await proxyServer({ answersPage: true });
    await says(site, { HTTPS_PROXY: proxy.url }, 'proxy-answer', /a page of its own/);
  });

  test('the proxy hangs up', async () => {
    await using proxy = await tcpServer((socket) => socket.once('data', () => socket.destroy()));
    await says(site, { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }, 'reset', /the proxy/);
  });

  test('the proxy does not speak TLS, or only TLS', async () => {
    await using open = await proxyServer();
    await says(
      site,
      { HTTPS_PROXY: `https://127.0.0.1:${open.port}` },
      'scheme',
      /write http:\/\/ in HTTPS_PROXY/,
    );
    const tls = await authority.issue({ host: '127.0.0.1', validForDays: 5 });
    await using secure = await proxyServer({ tls });
    await says(
      site,
      { HTTPS_PROXY: `http://127.0.0.1:${secure.port}` },
      // An OpenSSL of another day would send an alert first.
      'reset',
      /HTTPS_PROXY: whether it needs https:\/\//,
    );
  });

  test('a proxy reads along and its authority is not known', async () => {
    await using target = await secureServer('localhost');
    const strange = await makeAuthority();
    await using proxy = await proxyServer({
      intercept: (host) => strange.issue({ host, validForDays: 1 }),
    });
    await says(
      target.url,
      { HTTPS_PROXY: proxy.url },
      'untrusted',
      /signed by "CN=Test authority"/,
      /NODE_EXTRA_CA_CERTS/,
    );
  });

  test('the certificate is self-signed, expired, or for another name', async () => {
    const own = await selfSigned({ host: '127.0.0.1', validForDays: 3 });
    await using unknown = await httpsServer(own.key, own.cert);
    await says(unknown.url, {}, 'untrusted', /signed by "CN=127\.0\.0\.1"/);
    const old = await authority.issue({ host: '127.0.0.1', validForDays: -1 });
    await using expired = await httpsServer(old.key, old.cert);
    await says(expired.url, {}, 'expired', /renew it/);
    const other = await authority.issue({ host: 'other.test', validForDays: 3 });
    await using wrong = await httpsServer(other.key, other.cert);
    await says(wrong.url, {}, 'wrong-name', /other\.test/, /CONTROL_PLANE_URL/);
  });

  test('the scheme is wrong', async () => {
    await using open = await httpServer(plain);
    await says(
      `https://127.0.0.1:${open.port}`,
      {},
      'scheme',
      /write http:\/\/ in CONTROL_PLANE_URL/,
    );
  });

  test('the port is closed, and the name does not exist', async () => {
    await says(`https://127.0.0.1:${await freePort()}`, {}, 'refused', /CONTROL_PLANE_URL/);
    await says('https://monitor.invalid', {}, 'name', /monitor\.invalid:443/);
  });
});

test('a connection is used again', async () => {
  let connections = 0;
  const counted = createHttpServer(plain).on('connection', () => (connections += 1));
  await using server = await listening(counted);
  const dispatcher = createDispatcher({});
  for (let round = 0; round < 3; round += 1) {
    await (await request(server.url, { dispatcher })).body.text();
    await setImmediate();
  }
  await dispatcher.destroy();
  assert.equal(connections, 1);
});

test('an answer and the rest of it may take an hour: the idle timeout of the call decides', async () => {
  // The clock by which the library would end a call after five minutes.
  const { tick } = createRequire(import.meta.url)('undici/lib/util/timers.js') as {
    tick(ms: number): void;
  };
  const passAnHour = () => {
    tick(1_000);
    tick(3_600_000);
  };
  const slow = createHttpServer();
  await using server = await listening(slow);
  const dispatcher = createDispatcher({});
  const asked = request(server.url, { dispatcher });
  const [, response] = (await once(slow, 'request')) as [unknown, ServerResponse];
  passAnHour();
  response.write('half and ');
  const { body } = await asked;
  passAnHour();
  response.end('half');
  assert.equal(await body.text(), 'half and half');
  await dispatcher.destroy();
});
