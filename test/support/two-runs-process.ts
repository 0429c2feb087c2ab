/**
 * A process with a script host and a gateway: two runs go out by the port of the first. Prints as JSON
 * what each of them reached. Arguments: a folder to work in, and the way of keeping runs apart as JSON.
 */
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createGateway } from '../../agent/net/gateway/gateway.ts';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import type { Way } from '../../agent/script-host/sandbox.ts';
import type { Workspace } from '../../agent/script-host/script-host.ts';
import { makeAuthority } from './certificates.ts';
import { mutualServer } from './mutual-server.ts';

const [workFolder = '', wayText = ''] = process.argv.slice(2);

/** Run as code of a customer: what a browser does at a proxy, without the browser. */
const client = `
const { request } = require('node:http');
const tls = require('node:tls');
const [, proxy, plain, secure] = process.argv;
const { hostname, port } = new URL(proxy);
const get = (path, headers = {}) => new Promise((resolve, reject) => {
  request({ hostname, port, path: plain + path, headers: { host: new URL(plain).host, ...headers } })
    .on('response', (answer) => {
      let text = '';
      answer.on('data', (part) => (text += part)).on('end', () => resolve(
        [answer.statusCode, answer.headers['www-authenticate'] || answer.headers['proxy-authenticate'] || answer.headers.location || text].join(' ')));
    })
    .on('error', reject).end();
});
const tunnel = (to) => new Promise((resolve, reject) => {
  request({ hostname, port, method: 'CONNECT', path: to })
    .on('connect', (answer, socket) => resolve(socket)).on('error', reject).end();
});
const firstPart = (socket) => new Promise((resolve, reject) => {
  socket.once('data', (part) => resolve(String(part))).on('error', reject).on('close', () => reject(new Error('closed')));
});
const asks = {
  http: () => get('/'),
  redirect: () => get('/moved'),
  challenge: () => get('/private'),
  login: () => get('/private', { authorization: 'Basic YTpi' }),
  ownProxyWords: () => get('/words', { 'proxy-authorization': 'Basic eDp5' }),
  targetOf407: () => get('/407'),
  async webSocket() {
    const socket = await tunnel(new URL(plain).host);
    socket.write('GET /socket HTTP/1.1\\r\\nHost: x\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n');
    await firstPart(socket);
    socket.write('frame');
    return firstPart(socket);
  },
  async https() {
    const socket = tls.connect({ socket: await tunnel(secure), servername: 'localhost', rejectUnauthorized: false });
    socket.write('GET / HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n');
    let text = '';
    for await (const part of socket) text += part;
    return /<body>(.*)/.exec(text)?.[1];
  },
};
(async () => {
  const seen = {};
  for (const [name, ask] of Object.entries(asks)) seen[name] = await ask().catch((error) => error.code || error.message);
  console.log(JSON.stringify(seen));
  process.exit();
})();
`;

const target = createServer((asked, response) => {
  const login = asked.headers.authorization;
  if (asked.url === '/moved') response.writeHead(302, { location: '/' });
  else if (asked.url === '/407')
    response.writeHead(407, { 'proxy-authenticate': 'Basic of-target' });
  else if (asked.url === '/private' && login !== 'Basic YTpi')
    response.writeHead(401, { 'www-authenticate': 'Basic realm="shop"' });
  response.end(asked.url === '/words' ? String(asked.headers['proxy-authorization']) : 'welcome');
});
target.on('upgrade', (_asked, socket) => {
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  );
  socket.pipe(socket);
});
target.listen(0, '127.0.0.1');
await once(target, 'listening');
const { port } = target.address() as AddressInfo;

const [servers, clients] = [await makeAuthority('Servers'), await makeAuthority('Clients')];
const own = await servers.issue({ host: 'localhost', validForDays: 9 });
const person = await clients.issue({ host: 'agent', validForDays: 9 });
await using mutual = await mutualServer({ own, accepts: clients });

const gateway = createGateway({ now: () => Date.now() });
await using host = await createScriptHost({
  workFolder,
  limits: { memoryBytes: 1e9, diskBytes: 1e8, files: 1e4, processes: 64, outputBytes: 1e5 },
  ways: [JSON.parse(wayText) as Way],
  graceMs: 200,
});
await using first = await host.open();
await using second = await host.open();
await using proxySession = await gateway.open({
  clientCertificates: [{ host: 'localhost', ...person, passphrase: null, ca: servers.cert }],
  proxyUrl: null,
  onProblem: (sentence) => console.error(sentence),
});
proxySession.admit(first.allowedClient);

async function reached(by: Workspace): Promise<unknown> {
  const { done } = by.start({
    command: process.execPath,
    args: [
      '-e',
      client,
      proxySession.server,
      `http://localhost:${port}`,
      `localhost:${mutual.port}`,
    ],
    ...{ environment: {}, timeoutMs: 20_000, signal: new AbortController().signal },
  });
  const end = await done;
  return end.stdout === '' ? end : JSON.parse(end.stdout);
}

// At the same time, as two checks of one agent are.
const [ofFirst, ofSecond] = await Promise.all([reached(first), reached(second)]);
console.log(JSON.stringify({ isolation: first.isolation, first: ofFirst, second: ofSecond }));
target.close();
target.closeAllConnections();
