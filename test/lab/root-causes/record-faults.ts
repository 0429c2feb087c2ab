/**
 * Records what runs of an agent hold about every fault of the lab: real packets between namespaces, real
 * runners with their evidence. Each fault is made once; `matrix.ts` makes the matrix of them.
 */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Recorded, RecorderQuestion } from '../../support/fact-recorder.ts';
import type { AilingServices } from '../../support/ailing-services.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { serveIn } from '../../support/lab-host.ts';
import { openNetworkLab, type LabHost } from '../../support/network-lab.ts';
import { routerChain } from '../../support/router-chain.ts';

export type Recordings = Record<string, Recorded>;

/** What all recordings ask, and the matrix replaces by the host and address of its own checks. */
export const recordedHost = 'x.lab.test';
export const recordedAddress = '10.80.3.2';

type Question = Omit<RecorderQuestion, 'id' | 'proxyUrl'> & { proxyUrl?: string };

const tcp = (port: number, hostname = recordedHost): Question => ({
  ...{ type: 'TCP', timeoutMs: 2_000, fields: { request: { hostname, port } } },
});
const url = (address: string, further: Record<string, unknown> = {}): Question => ({
  ...{ type: 'URL', timeoutMs: 2_000, fields: { request: { url: address }, ...further } },
});
const web = (path: string): Question => url(`http://${recordedHost}:8080${path}`);
const tls = (port: number): Question => url(`https://${recordedHost}:${port}/`);
const name = (query: string, assertions: unknown[] = []): Question => ({
  ...{ type: 'DNS', timeoutMs: 2_000 },
  fields: { request: { query, recordType: 'A', assertions } },
});
const echo = (hostname = recordedHost): Question => ({
  ...{ type: 'ICMP', timeoutMs: 3_000, fields: { request: { hostname, pingCount: 2 } } },
});
const saysShop = { source: 'TEXT_BODY', comparison: 'CONTAINS', property: '', target: 'Shop sale' };

const questions: Record<string, Question> = {
  'pass-tcp': tcp(2222),
  'pass-url': web('/'),
  'pass-icmp': echo(),
  'pass-dns': name(recordedHost),
  refused: tcp(2323),
  'refused-url': url(`http://${recordedHost}:8181/`),
  'silent-port': tcp(5432),
  'silent-way': tcp(2222, '10.90.1.5'),
  'silent-echo': echo('10.90.1.5'),
  forbidden: tcp(2222, '10.90.2.5'),
  unreachable: tcp(2222, '10.90.3.5'),
  'dead-gateway': tcp(2222, '10.91.0.5'),
  'no-name': tcp(2222, 'gone.lab.test'),
  'no-name-dns': name('gone.lab.test'),
  'name-fails': tcp(2222, 'fails.lab.test'),
  'no-record': tcp(2222, 'empty.lab.test'),
  'other-record': name(recordedHost, [
    { source: 'TEXT_ANSWER', comparison: 'CONTAINS', property: '', target: '10.1.1.1' },
  ]),
  'certificate-expired': tls(9001),
  'certificate-name': tls(9002),
  'certificate-authority': tls(9003),
  'certificate-chain': tls(9004),
  'certificate-client': tls(9005),
  'tls-version': tls(9006),
  'tls-none': url(`https://${recordedHost}:8080/`),
  ...Object.fromEntries(
    [500, 503, 404, 403, 429].map((code) => [`status-${code}`, web(`/${code}`)]),
  ),
  'cut-before': web('/cut'),
  'cut-within': web('/half'),
  'no-answer': web('/silent'),
  slow: {
    ...web('/slow'),
    fields: {
      request: { url: `http://${recordedHost}:8080/slow` },
      degradedResponseTime: 200,
      maxResponseTime: 5_000,
    },
  },
  content: {
    ...{ type: 'API', timeoutMs: 2_000 },
    fields: {
      request: { method: 'GET', url: `http://${recordedHost}:8080/`, assertions: [saysShop] },
    },
  },
  'dead-proxy': { ...web('/'), proxyUrl: `http://${recordedAddress}:3999` },
  'no-scripts': { type: 'MULTI_STEP', timeoutMs: 2_000, fields: { script: 'x' } },
};

async function started(host: LabHost, program: string, environment: Record<string, string> = {}) {
  const child = host.spawn(process.execPath, [program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...environment },
  });
  return child;
}

async function recorderIn(host: LabHost, environment: Record<string, string>) {
  const child = await started(host, 'test/support/fact-recorder.ts', environment);
  await once(child, 'message');
  const waiting = new Map<number, (recorded: Recorded) => void>();
  child.on('message', (message) => {
    const { id, recorded } = message as { id: number; recorded: Recorded };
    waiting.get(id)?.(recorded);
  });
  let asked = 0;
  return ({
    proxyUrl = null,
    ...question
  }: Omit<Question, 'proxyUrl'> & { proxyUrl?: string | null }) => {
    const id = (asked += 1);
    return new Promise<Recorded>((resolve) => {
      waiting.set(id, resolve);
      child.send({ id, proxyUrl, ...question } satisfies RecorderQuestion);
    });
  };
}

async function servicesOf(): Promise<{ services: AilingServices; authority: string }> {
  const authority = await makeAuthority('Lab authority');
  const host = recordedHost;
  const good = { host, validForDays: 30 };
  const own = await selfSigned(good);
  const below = await authority.intermediate('Lab intermediate');
  const chained = await below.issue(good);
  const [leaf = ''] = chained.cert.split(/(?<=-----END CERTIFICATE-----)/);
  const plain = await authority.issue(good);
  return {
    authority: authority.cert,
    services: {
      secure: {
        9001: await authority.issue({ host, validForDays: -2 }),
        9002: await authority.issue({ host: 'other.lab.test', validForDays: 30 }),
        9003: own,
        9004: { key: chained.key, cert: leaf },
        9005: { ...plain, wantsCertificate: true },
        9006: { ...plain, maxVersion: 'TLSv1.1' },
      },
    },
  };
}

/** Needs `labProblem` to be null. */
export async function recordFaults(): Promise<Recordings> {
  const { services, authority } = await servicesOf();
  const folder = await mkdtemp(join(tmpdir(), 'causes-'));
  const file = join(folder, 'authority.pem');
  await writeFile(file, authority);
  await using lab = openNetworkLab();
  const { client, routers, target } = await routerChain(lab, 3);
  const last = routers.at(-1);
  // What lies behind the last router, and what becomes of it there.
  await last?.ipBatch([
    'route add blackhole 10.90.1.0/24',
    'route add prohibit 10.90.2.0/24',
    'route add unreachable 10.90.3.0/24',
    `rule add to ${recordedAddress} ipproto tcp dport 5432 blackhole`,
  ]);
  await client.ipBatch(['route add 10.91.0.0/16 via 10.80.0.99']);
  await serveIn(target, {
    [recordedAddress]: {
      [recordedHost]: [recordedAddress],
      'fails.lab.test': 'SERVFAIL',
      'empty.lab.test': [],
    },
  });
  const ailing = await started(target, 'test/support/ailing-services.ts');
  ailing.send(services);
  await once(ailing, 'message');
  await client.resolvConf(`nameserver ${recordedAddress}\n`);
  await client.sysctl('net.ipv4.ping_group_range', '0 2147483647');
  const ask = await recorderIn(client, { NODE_EXTRA_CA_CERTS: file });
  const recorded = await Promise.all(
    Object.entries(questions).map(async ([key, question]) => [key, await ask(question)] as const),
  );
  // A program that starts from now on has a resolver that answers nothing.
  await client.resolvConf('nameserver 10.90.1.53\n');
  const unresolved = await recorderIn(client, { NODE_EXTRA_CA_CERTS: file });
  const dead = await unresolved(tcp(2222));
  await rm(folder, { recursive: true });
  return { ...Object.fromEntries(recorded), 'dead-resolver': dead };
}
