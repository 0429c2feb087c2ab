/** What the steps along the way to the control plane make of what they see: tables. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Finding } from '../../../../agent/doctor/finding.ts';
import type { AuthoritiesFile } from '../../../../agent/doctor/link/authorities.ts';
import { noProxyEntryFor } from '../../../../agent/doctor/link/chosen-proxy.ts';
import type { Destination, Proxy } from '../../../../agent/doctor/link/destination.ts';
import type { CheckInFacts } from '../../../../agent/doctor/link/exchange.ts';
import type { HandshakeFacts } from '../../../../agent/doctor/link/handshake.ts';
import {
  addressesInHosts,
  parseResolvConf,
  type ServerAnswer,
} from '../../../../agent/doctor/link/names.ts';
import { judgeClock } from '../../../../agent/doctor/steps/clock.ts';
import { judgeDirect, judgeTunnel } from '../../../../agent/doctor/steps/connect.ts';
import { judgeControlPlane } from '../../../../agent/doctor/steps/control-plane.ts';
import { judgeDns, type DnsFacts } from '../../../../agent/doctor/steps/dns.ts';
import { maskedKey } from '../../../../agent/key-problem.ts';
import { judgeKey } from '../../../../agent/doctor/steps/key.ts';
import { judgeTrips } from '../../../../agent/doctor/steps/link-quality.ts';
import { judgeProtocol } from '../../../../agent/doctor/steps/protocol.ts';
import { judgeProxy } from '../../../../agent/doctor/steps/proxy.ts';
import { judgeNextHops, judgeRoute } from '../../../../agent/doctor/steps/route.ts';
import { judgeTls, type TlsFacts } from '../../../../agent/doctor/steps/tls.ts';
import { assertSays } from '../../../support/doctor-findings.ts';

const direct: Destination = {
  baseUrl: 'https://cp.example',
  url: new URL('https://cp.example'),
  ...{ host: 'cp.example', port: 443, isSecure: true, proxy: null },
  because: 'HTTPS_PROXY is not set',
  hop: { host: 'cp.example', port: 443, whose: 'the control plane', shown: 'cp.example:443' },
};
const plainProxy: Proxy = {
  ...{ host: '10.0.0.3', port: 3128, isSecure: false, authorization: null },
  setting: 'HTTPS_PROXY',
  shown: 'http://10.0.0.3:3128',
};
const proxied: Destination = {
  ...direct,
  proxy: plainProxy,
  because: 'HTTPS_PROXY is set',
  hop: { host: '10.0.0.3', port: 3128, whose: 'the proxy', shown: plainProxy.shown },
};

/** The first hop of every way, where nothing gets out. */
const deadWay = { what: 'its gateway is dead', fix: 'wake it up again' };

test('dns: who does not answer, who does not know, and where the ways differ', () => {
  const answer = (server: string, more: Partial<ServerAnswer>): ServerAnswer => ({
    ...{ server, durationMs: 3, addresses: [], returnCode: null, failure: null },
    ...more,
  });
  const knows = answer('10.0.0.2', { returnCode: 'NOERROR', addresses: ['10.1.1.1'] });
  const denies = answer('10.0.0.2', { returnCode: 'NXDOMAIN' });
  const silent = answer('10.0.0.9', {
    failure: 'the name server 10.0.0.9:53 did not answer in 2500 ms (TIMEOUT)',
  });
  const found = { addresses: ['10.1.1.1'], code: null, durationMs: 4 };
  const lost = { addresses: [], code: 'ENOTFOUND', durationMs: 4 };
  const sound: DnsFacts = {
    ...{ host: 'cp.example', isAddress: false, os: found, servers: [knows], search: [] },
    ...{ hostsFile: [], hasResolvConf: true, whose: 'the control plane' },
    ...{ setting: 'CONTROL_PLANE_URL', hasIpv6: false, deadWay: null, isOpen: null },
    isAccepted: false,
  };
  const answers = (...addresses: string[]) => ({
    os: { ...found, addresses },
    servers: [{ ...knows, addresses }],
  });
  const rows: [Partial<DnsFacts>, string, RegExp][] = [
    [{}, 'ok', /cp\.example is 10\.1\.1\.1 \(4 ms\); 10\.0\.0\.2: 10\.1\.1\.1/],
    [{ isAddress: true }, 'ok', /no name has to be resolved/],
    [
      { os: lost, servers: [silent], deadWay },
      'fail',
      /has no address: its gateway is dead; 10\.0\.0\.9.*wake it/,
    ],
    [
      { os: lost, servers: [silent] },
      'fail',
      /no name server of \/etc\/resolv\.conf answers: 10\.0\.0\.9: did not answer.*port 53/,
    ],
    [{ os: lost, servers: [] }, 'fail', /names no server/],
    [
      {
        os: { ...sound.os, durationMs: 15_000 },
        servers: [
          { ...knows, failure: 'the name server 1:53 did not answer in 2500 ms (TIMEOUT)' },
        ],
      },
      'warn',
      /that is slow; .*but asked for AAAA it did not answer in 2500 ms/,
    ],
    [
      { os: lost, servers: [], hasResolvConf: false },
      'fail',
      /resolv\.conf is missing, or cannot be read/,
    ],
    [
      { os: lost, servers: [denies], search: ['corp'] },
      'fail',
      /does not exist.*search domains: corp.*split DNS/,
    ],
    [{ os: lost, servers: [denies, knows] }, 'fail', /although there is one.*first or only/],
    [
      { os: lost, servers: [answer('1', { returnCode: 'SERVFAIL' })] },
      'fail',
      /SERVFAIL.*forwarding/,
    ],
    [
      { os: lost, servers: [answer('1', { returnCode: 'NOERROR' })] },
      'fail',
      /without an A or AAAA/,
    ],
    [
      { servers: [silent, knows] },
      'warn',
      /a server of \/etc\/resolv\.conf does not answer: 10\.0\.0\.9/,
    ],
    [{ servers: [knows, denies] }, 'warn', /not every server.*knows it/],
    [{ servers: [denies] }, 'ok', /by the operating system alone/],
    [{ hostsFile: ['10.1.1.1'] }, 'ok', /from \/etc\/hosts/],
    [
      { hostsFile: ['10.9.9.9'], os: { ...found, addresses: ['10.9.9.9'] } },
      'warn',
      /DNS says otherwise/,
    ],
    [{ os: { ...found, addresses: ['fd00::1'] } }, 'fail', /IPv6 only/],
    [{ os: { ...found, addresses: ['fd00::1'] }, hasIpv6: true, servers: [] }, 'ok', /fd00::1/],
    [
      { ...answers('0.0.0.0', '::'), isOpen: true },
      'fail',
      /10\.0\.0\.2: 0\.0\.0\.0, ::.*no address of any server.*DNS filter.*keeper of the DNS server 10\.0\.0\.2/,
    ],
    [{ ...answers('::') }, 'fail', /no address of any server/],
    [{ ...answers('::ffff:0.0.0.0') }, 'fail', /no address of any server/],
    [
      { ...answers('127.0.0.1'), isOpen: false },
      'fail',
      /nothing listens here.*exempt cp\.example/,
    ],
    [
      { ...answers('127.0.0.1', '::1'), isOpen: true },
      'warn',
      /this machine itself.*if the control/,
    ],
    [{ ...answers('0.0.0.0', '10.1.1.1') }, 'ok', /10\.1\.1\.1/],
    [
      { ...answers('127.0.0.1'), servers: [denies], isOpen: false },
      'ok',
      /by the operating system/,
    ],
    [{ ...answers('127.0.0.1'), isOpen: true, isAccepted: true }, 'ok', /is 127\.0\.0\.1/],
    [{ ...answers('127.0.0.1'), host: 'cp.localhost', isOpen: false }, 'ok', /127\.0\.0\.1/],
    [{ ...answers('0.0.0.0'), hostsFile: ['0.0.0.0'] }, 'fail', /remove the line.*\/etc\/hosts/],
    [{ ...answers('127.0.0.1'), hostsFile: ['127.0.0.1'], isOpen: false }, 'ok', /\/etc\/hosts/],
    [
      { servers: [knows, { ...knows, server: '10.0.0.3', addresses: ['0.0.0.0'] }] },
      'warn',
      /leads the name to nowhere.*10\.0\.0\.3: 0\.0\.0\.0/,
    ],
    [{ os: { ...found, durationMs: 3_000 } }, 'warn', /slow/],
  ];
  for (const [facts, verdict, words] of rows)
    assertSays(judgeDns({ ...sound, ...facts }), verdict, words);
});

test('files of the resolver are read as the C library reads them', () => {
  const text =
    '# nameserver 9.9.9.9\nnameserver 10.0.0.2 # ours\nsearch a.corp b.corp\nnameserver fd00::2\n';
  assert.deepEqual(parseResolvConf(text), {
    servers: ['10.0.0.2', 'fd00::2'],
    search: ['a.corp', 'b.corp'],
  });
  const hosts = '127.0.0.1 localhost\n10.0.0.7 other CP.example # moved\n# 10.0.0.8 cp.example\n';
  assert.deepEqual(addressesInHosts(hosts, 'cp.example'), ['10.0.0.7']);
});

test('route: where the kernel cannot be asked for next hops, it says why and what is lost', () => {
  assert.deepEqual(judgeNextHops(null), []);
  assertSays(
    judgeNextHops('the kernel cannot be asked (socket: EPERM)'),
    'warn',
    /socket: EPERM.*dead gateway.*failure of the target/,
  );
});

test('route: one way is enough; without any, the kernel says why', () => {
  const open = {
    ...{ address: '10.1.1.1', source: '10.0.0.5', code: null },
    ...{ via: 'eth0 by 10.0.0.1', dead: null },
  };
  const closed = (address: string, code: string) => ({
    ...{ address, source: null, code, via: null, dead: null },
  });
  const dead = { ...open, dead: deadWay };
  assertSays(
    judgeRoute([open, closed('fd00::1', 'ENETUNREACH')], false),
    'ok',
    /from 10\.0\.0\.5 through eth0 by 10\.0\.0\.1; none to fd00::1/,
  );
  assertSays(judgeRoute([dead], false), 'fail', /10\.1\.1\.1: its gateway is dead.*wake it/);
  assertSays(judgeRoute([open, { ...dead, address: 'fd00::1' }], false), 'ok', /none to fd00::1/);
  assertSays(
    judgeRoute([closed('10.1.1.1', 'ENETUNREACH')], false),
    'fail',
    /no route.*default route/,
  );
  assertSays(
    judgeRoute([closed('10.1.1.1', 'EINVAL')], false),
    'fail',
    /black hole.*ip route get 10\.1\.1\.1/,
  );
  assertSays(judgeRoute([closed('10.1.1.1', 'EACCES')], false), 'fail', /prohibit/);
  assertSays(
    judgeRoute([closed('fd00::1', 'EADDRNOTAVAIL')], true),
    'fail',
    /disable_ipv6=1.*A record/,
  );
});

test('proxy: which one and why; unreachable, login, refusal, no proxy at all', () => {
  const open = [{ address: '10.0.0.3', durationMs: 1, code: null }];
  const refused = [{ address: '10.0.0.3', durationMs: null, code: 'ECONNREFUSED' }];
  const answers = (status: number, headers = {}) => ({ facts: { status, headers }, problem: null });
  const fails = (code: string) => ({ facts: null, problem: { code, message: code } });
  const judged = (
    answer: ReturnType<typeof answers> | ReturnType<typeof fails>,
    destination = proxied,
  ) => judgeProxy({ destination, connections: open, answer });
  const withLogin: Destination = {
    ...proxied,
    proxy: { ...plainProxy, authorization: 'Basic eDp5' },
  };
  const secure: Destination = { ...proxied, proxy: { ...plainProxy, isSecure: true } };
  const rows: [Finding[], string, RegExp][] = [
    [
      judgeProxy({ destination: direct, connections: [], answer: null }),
      'ok',
      /none is used: HTTPS_PROXY is not set/,
    ],
    [judged(answers(200)), 'ok', /answers and allows cp\.example:443; HTTPS_PROXY is set/],
    [judged(answers(502)), 'ok', /shown below/],
    [
      judged(answers(407, { 'proxy-authenticate': 'Basic realm="x"' })),
      'fail',
      /asks for credentials \(407\) -> write them into HTTPS_PROXY/,
    ],
    [
      judged(answers(407, { 'proxy-authenticate': 'Basic realm="x"' }), withLogin),
      'fail',
      /refuses the credentials \(407\) -> correct user and password in HTTPS_PROXY/,
    ],
    [
      judged(answers(407, { 'proxy-authenticate': ['Negotiate', 'NTLM'] })),
      'fail',
      /by Negotiate or NTLM \(407\); the agent can only do Basic/,
    ],
    [
      judged(answers(403, { 'x-squid-error': 'ERR_ACCESS_DENIED 0' })),
      'fail',
      /refuses the way to cp\.example:443 \(403\); it says ERR_ACCESS_DENIED/,
    ],
    [judged(answers(404)), 'fail', /a web server rather than a proxy/],
    [judged(fails('HPE_INVALID_CONSTANT')), 'fail', /does not answer as a proxy/],
    [
      judged(fails('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), secure),
      'fail',
      /its own certificate is not trusted/,
    ],
    [judged(fails('ERR_SSL_WRONG_VERSION_NUMBER'), secure), 'fail', /write the proxy as http:/],
    [
      judgeProxy({ destination: proxied, connections: refused, answer: null }),
      'fail',
      /10\.0\.0\.3:3128 refuses the connection.*start the proxy/,
    ],
  ];
  for (const [findings, verdict, words] of rows) assertSays(findings, verdict, words);
});

test('NO_PROXY: the finding names the matching entry', () => {
  const rows: [string, string | null][] = [
    ['', null],
    ['other.example, cp.example', 'cp.example'],
    ['example', 'example'],
    ['.example', '.example'],
    ['.cp.example', null],
    ['*', '*'],
    ['cp.example:8443', null],
    ['cp.example:443', 'cp.example:443'],
    ['10.0.0.0/8', null],
  ];
  for (const [list, entry] of rows)
    assert.equal(noProxyEntryFor('cp.example', 443, list), entry, list);
  assert.equal(noProxyEntryFor('10.1.2.3', 443, '10.0.0.0/8'), '10.0.0.0/8');
  assert.equal(noProxyEntryFor('fd00::1', 443, '[fd00::1]:443'), '[fd00::1]:443');
});

test('connection: refused, dropped, reset and forbidden are distinguished', () => {
  const at = (code: string | null, address = '10.1.1.1') => ({
    ...{ address, code, durationMs: code === null ? 5 : null },
  });
  const rows: [string, RegExp][] = [
    ['ECONNREFUSED', /10\.1\.1\.1:443 refuses.*nothing listens on port 443/],
    ['TIMEOUT', /dropped silently, by a firewall.*allow TCP/],
    ['ECONNRESET', /cut the connection/],
    ['EHOSTUNREACH', /a router, or the network/],
    ['EPERM', /a rule of this machine/],
  ];
  for (const [code, words] of rows) assertSays(judgeDirect([at(code)], direct), 'fail', words);
  assertSays(judgeDirect([at(null)], direct), 'ok', /connected to 10\.1\.1\.1:443 in 5 ms/);
  assertSays(
    judgeDirect([at(null), at('TIMEOUT', 'fd00::1')], direct),
    'warn',
    /not to fd00::1: TIMEOUT.*repair IPv6/,
  );
  const tunnel = (status: number) =>
    judgeTunnel({ facts: { status, headers: {} }, problem: null }, proxied);
  assertSays(tunnel(200), 'ok', /opened a tunnel/);
  assertSays(tunnel(503), 'fail', /could not connect to cp\.example:443 \(503\).*NO_PROXY/);
});

test('tls: whom we would have to trust, and when it is the clock that is wrong', () => {
  const now = Date.parse('2026-06-15T12:00:00Z');
  const day = 86_400_000;
  const leaf = {
    ...{ subject: 'CN=cp.example', issuer: 'CN=Corporate CA, O=Corp', validFrom: now - 30 * day },
    ...{ validTo: now + 60 * day, hasIssuerAddress: false },
  };
  const root = { ...leaf, subject: leaf.issuer };
  const trusted: HandshakeFacts = {
    ...{ protocol: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', chain: [leaf, root] },
    ...{ names: 'DNS:cp.example', problem: null, serverTime: now },
  };
  const none: AuthoritiesFile = { kind: 'none' };
  const judged = (handshake: Partial<HandshakeFacts>, more: Partial<TlsFacts> = {}) =>
    judgeTls({
      destination: direct,
      handshake: { facts: { ...trusted, ...handshake }, problem: null },
      ...{ authorities: none, acceptsAnything: false, now },
      ...more,
    });
  const broken = (code: string) =>
    judged({}, { handshake: { facts: null, problem: { code, message: '' } } });
  const old = { ...leaf, validTo: now - day };
  const oldRoot = { ...root, validTo: now - day };
  const inFuture = { ...leaf, validFrom: now + day, validTo: now + 90 * day };
  const file = {
    ...{ kind: 'unusable' as const, path: '/ca.pem', what: 'is empty', fix: 'put one into it' },
  } as const;
  const read: AuthoritiesFile = {
    kind: 'read',
    path: '/ca.pem',
    authorities: [{ subject: 'CN=Other', validTo: now + day }],
  };
  const unknown = { problem: 'SELF_SIGNED_CERT_IN_CHAIN' };
  const rows: [Finding[], string, RegExp][] = [
    [judged({}), 'ok', /TLSv1\.3.*CN=cp\.example \(until 2026-08-14\) < CN=Corporate CA/],
    [judged({ chain: [{ ...leaf, validTo: now + 3 * day }] }), 'warn', /expires in 3 days/],
    [
      judged(unknown),
      'fail',
      /not known here: "CN=Corporate CA, O=Corp".*NODE_EXTRA_CA_CERTS is not set/,
    ],
    [judged(unknown, { authorities: read }), 'fail', /\/ca\.pem has CN=Other/],
    [judged(unknown, { destination: proxied }), 'fail', /10\.0\.0\.3:3128 probably intercepts TLS/],
    [
      judged(unknown, { authorities: file }),
      'fail',
      /\/ca\.pem, which is empty; .* -> put one into it/,
    ],
    [judged({}, { authorities: file }), 'ok', /TLSv1\.3/],
    [
      judged(unknown, { acceptsAnything: true }),
      'warn',
      /only because of NODE_TLS_REJECT_UNAUTHORIZED=0/,
    ],
    [
      judged({
        problem: 'DEPTH_ZERO_SELF_SIGNED_CERT',
        chain: [{ ...leaf, issuer: leaf.subject }],
      }),
      'fail',
      /signed itself.*fingerprint/,
    ],
    [
      judged({
        problem: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        chain: [{ ...leaf, hasIssuerAddress: true }],
      }),
      'fail',
      /without the one of its issuer/,
    ],
    [
      judged({ problem: 'ERR_TLS_CERT_ALTNAME_INVALID', names: 'DNS:other' }),
      'fail',
      /not for cp\.example but for DNS:other -> /,
    ],
    [
      judged({
        problem: 'ERR_TLS_CERT_ALTNAME_INVALID',
        names: Array.from({ length: 90 }, (_, index) => `DNS:${index}.other`).join(', '),
      }),
      'fail',
      /but for DNS:0\.other, DNS:1\.other, DNS:2\.other and 87 more -> /,
    ],
    [
      judged({ problem: 'CERT_HAS_EXPIRED', chain: [old, root] }),
      'fail',
      /expired on 2026-06-14.*renew/,
    ],
    [
      judged(
        { problem: 'CERT_HAS_EXPIRED', chain: [leaf, oldRoot] },
        { authorities: { ...read, authorities: [...read.authorities, oldRoot] } },
      ),
      'fail',
      /the authority "CN=Corporate CA, O=Corp" in the file.*expired on 2026-06-14.*ask for the successor.*into \/ca\.pem/,
    ],
    [
      judged(
        { problem: 'CERT_HAS_EXPIRED', chain: [leaf, oldRoot] },
        { authorities: { ...read, authorities: [...read.authorities, root] } },
      ),
      'fail',
      /sends an authority that has expired: replace it there/,
    ],
    [
      judged({ problem: 'CERT_HAS_EXPIRED', chain: [old, root], serverTime: now - 5 * day }),
      'fail',
      /clock of this machine is wrong: it says 2026-06-15.*server says 2026-06-10.*NTP/,
    ],
    [
      judged({ problem: 'CERT_NOT_YET_VALID', chain: [inFuture], serverTime: now + 9 * day }),
      'fail',
      /clock of this machine is wrong/,
    ],
    [broken('ERR_SSL_WRONG_VERSION_NUMBER'), 'fail', /does not speak TLS.*http:/],
    [broken('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'), 'fail', /no version or cipher/],
    [broken('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'fail', /client certificate/],
    [broken('TIMEOUT'), 'fail', /silent.*MTU/],
    [broken('ECONNRESET'), 'fail', /cuts the connection during/],
    [
      judged({}, { destination: { ...direct, isSecure: false } }),
      'ok',
      /CONTROL_PLANE_URL is http/,
    ],
  ];
  for (const [findings, verdict, words] of rows) assertSays(findings, verdict, words);
});

const now = Date.parse('2026-06-15T12:00:00Z');
const uuid = '11111111-1111-4111-8111-111111111111';
const accepted = JSON.stringify({
  serverTime: { receivedAt: now + 20, sentAt: now + 20 },
  ...{ location: 'office', epoch: 1, snapshot: 's', full: true, upserts: [], removals: [uuid] },
  ...{ jobs: [], cancellations: [] },
});
const refusal = (statusCode: number, message: string) =>
  JSON.stringify({ statusCode, error: 'x', message, attributes: { code: 'x' } });

function answered(
  status: number | null,
  body = '',
  more: Partial<CheckInFacts> = {},
): CheckInFacts {
  return {
    ...{ status, body, contentType: '', location: null, serverDate: null },
    ...{ sentAt: now, receivedAt: now + 40, durationMs: 40, problem: null, isBetween: false },
    ...more,
  };
}

test('control plane: what answers in its place is recognised', () => {
  const judged = (...given: Parameters<typeof answered>) =>
    judgeControlPlane(answered(...given), 'http://cp');
  const page = '<!doctype html><title>Sign in to  WiFi</title>';
  const problem = (code: string) => ({ problem: { code, message: code } });
  const passed = (facts: CheckInFacts, small: boolean, large: boolean) =>
    judgeControlPlane(facts, 'http://cp', { small, large });
  const silent = answered(null, '', { ...problem('TIMEOUT'), durationMs: 6_000 });
  const rows: [Finding[], string, RegExp][] = [
    [judgeControlPlane(silent, 'http://cp', null, 3), 'warn', /3 of its addresses take no conn/],
    [judgeControlPlane(silent, 'http://cp', null, 1), 'fail', /does not answer within 6 seconds/],
    [passed(silent, false, false), 'fail', /does not answer within 6 seconds/],
    [passed(silent, true, false), 'fail', /neither a check-in.*vanish on the way \(MTU\)/],
    [passed(silent, true, true), 'fail', /other requests, and not a check-in.*its database/],
    [passed(answered(200, accepted), true, true), 'ok', /answered in 40 ms/],
    [passed(answered(200, accepted), true, false), 'fail', /none that fills a packet.*mtu 1400/],
    [passed(answered(200, accepted), false, false), 'ok', /answered in 40 ms/],
    [judged(200, accepted), 'ok', /answered in 40 ms/],
    [judged(401, refusal(401, 'no')), 'ok', /answered in 40 ms/],
    [judged(200, page), 'fail', /with a page: "Sign in to WiFi": a captive portal/],
    [
      judged(302, '', { location: 'https://portal/login' }),
      'fail',
      /redirects to https:\/\/portal\/login/,
    ],
    [judged(404, refusal(404, 'no route')), 'fail', /404.*without a path/],
    [judged(200, '{}'), 'fail', /answered 200 with a page: "\{\}"/],
    [judged(403, '{"message":"Forbidden"}'), 'fail', /answered 403 with a page: .*Forbidden/],
    [judged(400, refusal(400, 'the body is required')), 'fail', /refuses.*\(400\): the body is/],
    [judged(502, page), 'fail', /502.*control plane behind it is not/],
    [judged(500, refusal(500, 'bug')), 'fail', /500: bug.*kept here/],
    [judged(429), 'warn', /too many requests/],
    [judged(null, '', problem('TIMEOUT')), 'fail', /does not answer within/],
    [judged(null, '', problem('UND_ERR_SOCKET')), 'fail', /cuts the connection/],
    [judged(null, '', problem('HPE_INVALID_CONSTANT')), 'fail', /does not answer in HTTP/],
  ];
  for (const [findings, verdict, words] of rows) assertSays(findings, verdict, words);
});

test('key: missing, of the wrong kind, refused, accepted; never shown', () => {
  const key = `pl_${'0123456789abcdef'.repeat(4)}`.replace(/cdef$/, '4f2a');
  const rows: [Finding[], string, RegExp][] = [
    [judgeKey(undefined, answered(401, refusal(401, 'no'))), 'fail', /API_KEY is not set/],
    [
      judgeKey(key, answered(401, refusal(401, 'no'))),
      'fail',
      /refuses pl_…4f2a \(401\): it was revoked/,
    ],
    [judgeKey(key, answered(200, accepted)), 'ok', /pl_…4f2a accepted, for location office/],
  ];
  for (const [findings, verdict, words] of rows) {
    assertSays(findings, verdict, words);
    assert.equal(JSON.stringify(findings).includes('0123456789'), false);
  }
  assert.equal(maskedKey('pl_short'), 'pl_…');
});

test('protocol and clock follow from the same answer', () => {
  assertSays(judgeProtocol(answered(200, accepted)), 'ok', /version \d+ is understood/);
  const refusedBy = (upgrade: string) =>
    answered(
      409,
      JSON.stringify({
        ...{ statusCode: 409, error: 'Conflict', message: 'this control plane speaks others' },
        attributes: { code: 'PROTOCOL_UNSUPPORTED', upgrade },
      }),
    );
  assertSays(judgeProtocol(refusedBy('agent')), 'fail', /speaks others -> upgrade this agent/);
  assertSays(judgeProtocol(refusedBy('control-plane')), 'fail', /-> upgrade the control plane/);
  assertSays(judgeKey('pl_0123456789abcdef', refusedBy('agent')), 'ok', /pl_…cdef accepted/);
  assertSays(judgeProtocol(answered(401)), 'skip', /401/);
  assertSays(judgeClock(answered(200, accepted)), 'ok', /within 0 ms/);
  const ahead = accepted.replaceAll(String(now + 20), String(now - 59_980));
  assertSays(judgeClock(answered(200, ahead)), 'warn', /60 seconds ahead of/);
  assertSays(
    judgeClock(answered(401, '', { serverDate: now + 3_600_000 })),
    'warn',
    /60 minutes behind/,
  );
  assertSays(judgeClock(answered(401, '', { serverDate: now })), 'ok', /within seconds/);
  assertSays(judgeClock(answered(401)), 'skip', /does not say/);
});

test('link quality: times, losses, slowness', () => {
  assertSays(judgeTrips([3, 1, 2, 5, 4]), 'ok', /shortest 1, median 3, longest 5 ms, 0 lost/);
  assertSays(judgeTrips([3, null, 2]), 'warn', /1 lost/);
  assertSays(judgeTrips([2_000, 2_100]), 'warn', /slow link/);
  assertSays(judgeTrips([null, null]), 'fail', /2 of 2/);
});
