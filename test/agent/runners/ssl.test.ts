import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import test from 'node:test';
import type { TlsOptions } from 'node:tls';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { sslMonitor } from '@monitor/shared/contract/checks/ssl.ts';
import { judge, type Verdict } from '@monitor/shared/domain/verdict.ts';
import { runSsl } from '../../../agent/runners/ssl.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { makeAuthority, selfSigned, type Authority } from '../../support/certificates.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { tcpServer, tlsServer } from '../../support/servers.ts';

interface Seen {
  observation: Observation;
  verdict: Verdict;
  response: Record<string, unknown>;
  headline: Record<string, unknown>;
}

/** Runs a check against a port here; `trusted` is an authority that it trusts besides the usual ones. */
async function look(
  port: number,
  config: Record<string, unknown> = {},
  trusted: Authority | null = null,
  further: { assertions?: unknown[]; check?: Record<string, unknown>; clock?: Clock } = {},
): Promise<Seen> {
  const { assertions = [], check = {}, clock = systemClock } = further;
  const definition = definitionOf(
    'SSL',
    { sslConfig: { hostname: 'localhost', port, ...config }, assertions },
    check,
  );
  const own = trusted && (await trusted.issue({ host: 'client', validForDays: 9 }));
  const clientCertificates =
    trusted === null || own === null
      ? []
      : [{ host: '*', ...own, passphrase: null, ca: trusted.cert }];
  const observation = await runSsl(
    definition,
    runnerContext(30_000, {}, { clientCertificates, clock }),
  );
  const { evidence: _evidence, requests: _requests, ...measured } = observation;
  const measurement = { ...measured };
  return {
    observation,
    verdict: judge(sslMonitor.judging, definition, measurement),
    response: observation.response ?? {},
    headline: sslMonitor.headline?.(measurement) ?? {},
  };
}

const category = ({ headline, verdict }: Seen) => [headline['failureCategory'], verdict.reason];

test('of a sound server everything is read, and nothing is wrong', async () => {
  const authority = await makeAuthority();
  const below = await authority.intermediate('Issuing');
  const pair = await below.issue({
    ...{ host: 'localhost', validForDays: 90, keyKind: 'rsa' as const },
    others: ['shop.example', '127.0.0.1', '2001:db8::1'],
  });
  await using server = await tlsServer(pair);
  const seen = await look(server.port, {}, authority);
  assert.deepEqual([seen.verdict.hasFailures, seen.verdict.isDegraded], [false, false]);
  assert.equal(seen.observation.failure, null);
  const leaf = new X509Certificate(pair.cert);
  const certificate = seen.response['certificate'] as Record<string, unknown>;
  assert.deepEqual(certificate, {
    ...{ subject: 'CN=localhost', subjectCN: 'localhost' },
    ...{ issuer: 'CN=Issuing', issuerCN: 'Issuing' },
    serialNumber: BigInt(`0x${leaf.serialNumber}`).toString(),
    notBefore: leaf.validFromDate.toISOString(),
    notAfter: leaf.validToDate.toISOString(),
    sans: ['localhost', 'shop.example', '127.0.0.1', '2001:db8::1'],
    fingerprintSha256: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    issuerFingerprintSha256: new X509Certificate(below.cert).fingerprint256
      .replaceAll(':', '')
      .toLowerCase(),
    signatureAlgorithm: 'ECDSA-SHA256',
    ...{ keyAlgorithm: 'RSA', keySizeBits: 2048, selfSigned: false, isCA: false },
  });
  const chain = seen.response['chain'] as {
    subjectCN: string;
    isCA: boolean;
    keySizeBits: number;
  }[];
  assert.deepEqual(
    [chain[0]?.subjectCN, chain[0]?.isCA, chain[0]?.keySizeBits],
    ['Issuing', true, 256],
  );
  assert.deepEqual(
    ['hostnameVerified', 'chainTrusted', 'ocspStapled', 'ocspStatus', 'daysUntilExpiry'].map(
      (name) => seen.response[name],
    ),
    // Its issuer expires first.
    [true, true, false, null, 59],
  );
  assert.deepEqual(
    ['tlsVersion', 'cipherSuite', 'baselineVerdict', 'baselineGrade', 'failureCategory'].map(
      (name) => seen.headline[name],
    ),
    ['TLS1.3', 'TLS_AES_256_GCM_SHA384', 'pass', 'B', null],
  );
  assert.equal(seen.observation.responseTime !== null && seen.observation.responseTime > 0, true);
  // A whole handshake, and nothing after it.
  await server.closed();
  assert.deepEqual([server.handshakes, server.receivedBytes], [1, 0]);
});

test('what is wrong with a certificate has a category: its date before its name, its name before its chain', async () => {
  const authority = await makeAuthority();
  const old = { host: 'localhost', validForDays: 9, hasCommonNameOnly: true } as const;
  const unnamed = { host: 'localhost', validForDays: 9, hasNoSubject: true } as const;
  const cases: [wrong: string, pair: { key: string; cert: string }, category: string, RegExp?][] = [
    ['with no alternative name', await authority.issue(old), 'hostname', /no alternative name/],
    ['expired', await authority.issue({ host: 'localhost', validForDays: -1 }), 'expired'],
    ['self-signed and expired', await selfSigned({ host: 'b', validForDays: -3 }), 'expired'],
    ['for another host', await authority.issue({ host: 'b.example', validForDays: 9 }), 'hostname'],
    ['self-signed', await selfSigned({ host: 'localhost', validForDays: 90 }), 'chain'],
    ['self-signed without a name', await selfSigned(unnamed), 'chain', /self-signed/],
    ['self-signed for another', await selfSigned({ host: 'b', validForDays: 90 }), 'hostname'],
  ];
  for (const [wrong, pair, expected, said = /./] of cases) {
    await using server = await tlsServer(pair);
    const seen = await look(server.port, {}, authority);
    assert.equal(seen.headline['failureCategory'], expected, wrong);
    assert.equal(seen.verdict.hasFailures, true, wrong);
    assert.match(seen.verdict.reason ?? '', said);
    // The certificate is there all the same, and no rule of the baseline is judged.
    assert.equal(seen.observation.failure, null, wrong);
    assert.equal(seen.response['securityBaseline'], null, wrong);
  }
});

test('a certificate whose only name is the alternative one is sound', async () => {
  const authority = await makeAuthority();
  const wish = { host: 'localhost', validForDays: 90, hasNoSubject: true } as const;
  await using server = await tlsServer(await authority.issue(wish));
  const seen = await look(server.port, {}, authority);
  assert.deepEqual([seen.verdict.hasFailures, seen.verdict.reason], [false, null]);
});

test('a chain is measured although its certificate has expired, and an expired one is below zero days', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'localhost', validForDays: -1 });
  await using server = await tlsServer(pair);
  const seen = await look(server.port, {}, authority);
  assert.ok(Number(seen.response['daysUntilExpiry']) < 0);
  assert.equal(seen.response['chainTrusted'], true);
  assert.match(seen.verdict.reason ?? '', /^the certificate expired on \d{4}-/);
});

test('an intermediate that the server does not send makes its chain untrusted, unless chains are skipped', async () => {
  const authority = await makeAuthority();
  const below = await authority.intermediate('Issuing');
  const { key, cert } = await below.issue({ host: 'localhost', validForDays: 90 });
  const [alone = ''] = cert.split(/(?<=-----END CERTIFICATE-----)/);
  await using server = await tlsServer({ key, cert: alone });
  const seen = await look(server.port, {}, authority);
  assert.deepEqual(category(seen), [
    'chain',
    'the certificate chain is not trusted: the server does not send the certificate of its issuer (Issuing), or the authority is unknown',
  ]);
  const skipped = await look(server.port, { skipChainValidation: true }, authority);
  assert.deepEqual(category(skipped), [null, null]);
  assert.equal(skipped.response['chainTrusted'], false);
  assert.equal(skipped.headline['baselineVerdict'], 'pass');
});

test('no connection, no TLS and no answer are failures of the network with a category each', async () => {
  const closed = await tcpServer(() => undefined);
  const { port } = closed;
  await closed[Symbol.asyncDispose]();
  await using plain = await tcpServer((socket) => {
    socket.end('SSH-2.0-OpenSSH_9.6\r\n');
  });
  await using silent = await tcpServer((socket) => {
    socket.resume();
  });
  const cases: [string, Seen][] = [
    ['connect', await look(port)],
    ['handshake', await look(plain.port)],
    ['timeout', await look(silent.port, { handshakeTimeoutMs: 1_000 })],
    ['dns', await look(443, { hostname: 'nowhere.invalid' })],
  ];
  for (const [expected, seen] of cases) {
    assert.equal(seen.headline['failureCategory'], expected);
    assert.deepEqual(
      [
        seen.verdict.hasFailures,
        seen.observation.failure?.isNetworkError,
        seen.observation.response,
      ],
      [true, true, null],
      expected,
    );
  }
});

const old: TlsOptions = {
  ...{ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' },
};

test('a protocol of yesterday is seen rather than refused, and fails by the baseline', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'localhost', validForDays: 90 });
  await using server = await tlsServer({ ...pair, ...old });
  const seen = await look(server.port, {}, authority);
  assert.deepEqual(
    ['tlsVersion', 'baselineVerdict', 'baselineGrade', 'failureCategory'].map(
      (name) => seen.headline[name],
    ),
    ['TLS1.1', 'fail', 'F', null],
  );
  assert.equal(seen.verdict.reason, 'the security baseline is violated: minTLSVersion');
  const degrading = { minTLSVersion: { value: 'TLS1.2', severity: 'degrade' } };
  const degraded = await look(server.port, { securityBaseline: degrading }, authority);
  assert.deepEqual(
    [degraded.verdict.hasFailures, degraded.verdict.isDegraded, degraded.headline['baselineGrade']],
    [false, true, 'B'],
  );
  const off = await look(server.port, { securityBaseline: { enabled: false } }, authority);
  assert.deepEqual([off.verdict.reason, off.headline['baselineVerdict']], [null, null]);
});

test('a certificate that expires soon degrades from the day that is set', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'localhost', validForDays: 12 });
  await using server = await tlsServer(pair);
  const seen = await look(server.port, {}, authority);
  assert.deepEqual(
    [seen.verdict.hasFailures, seen.verdict.isDegraded, seen.verdict.reason],
    [false, true, 'the certificate expires in 11 days'],
  );
  assert.equal(
    (await look(server.port, { alertDaysBeforeExpiry: 11 }, authority)).verdict.isDegraded,
    true,
  );
  assert.equal(
    (await look(server.port, { alertDaysBeforeExpiry: 10 }, authority)).verdict.isDegraded,
    false,
  );
});

test('the name that is asked for is the name that is verified', async () => {
  const authority = await makeAuthority();
  const asked: string[] = [];
  const pair = await authority.issue({ host: 'shop.example', validForDays: 90 });
  await using server = await tlsServer({
    ...pair,
    SNICallback: (name, callback) => {
      asked.push(name);
      callback(null);
    },
  });
  const seen = await look(server.port, { serverName: 'shop.example' }, authority);
  assert.deepEqual([seen.response['hostnameVerified'], seen.verdict.hasFailures], [true, false]);
  const byHost = await look(server.port, {}, authority);
  assert.equal(byHost.headline['failureCategory'], 'hostname');
  // An address is never asked for by name.
  await look(server.port, { hostname: '127.0.0.1' }, authority);
  assert.deepEqual(asked, ['shop.example', 'localhost']);
});

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

/** An OCSP answer without a signature that would hold: it is read, not verified. */
function ocspAnswer(serial: string, status: number): Buffer {
  const nothing = der(0x05);
  const id = der(
    0x30,
    der(0x30, nothing),
    der(0x04),
    der(0x04),
    der(0x02, Buffer.from(serial, 'hex')),
  );
  const time = der(0x18, Buffer.from('20260101000000Z'));
  const of = status === 0xa1 ? der(status, time) : der(status);
  const single = der(0x30, id, of, time);
  const data = der(0x30, der(0xa2, der(0x04)), time, der(0x30, single));
  const basic = der(0x30, data, der(0x30, nothing), der(0x03, Buffer.from([0])));
  const type = der(0x06, Buffer.from('2b0601050507300101', 'hex'));
  const bytes = der(0x30, type, der(0x04, basic));
  return der(0x30, der(0x0a, Buffer.from([0])), der(0xa0, bytes));
}

test('an OCSP answer in the handshake is read for the serial number of the certificate', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'localhost', validForDays: 90 });
  const own = new X509Certificate(pair.cert).serialNumber;
  const serial = own.length % 2 === 0 ? own : `0${own}`;
  for (const [answer, expected] of [
    [ocspAnswer(serial, 0x80), 'good'],
    [ocspAnswer(serial, 0xa1), 'revoked'],
    [ocspAnswer(serial, 0x82), 'unknown'],
    [ocspAnswer('0badcafe', 0x80), null],
    [Buffer.from('nonsense'), null],
  ] as const) {
    await using server = await tlsServer(pair, (asked) => {
      asked.on('OCSPRequest', (_certificate, _issuer, callback) => {
        callback(null, answer);
      });
    });
    const seen = await look(server.port, {}, authority);
    assert.deepEqual(
      [seen.response['ocspStapled'], seen.response['ocspStatus'], seen.verdict.hasFailures],
      [true, expected, false],
    );
  }
});

test('assertions compare versions, lists and whole numbers as what they are', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({
    ...{ host: 'localhost', validForDays: 90, others: ['shop.example'] },
  });
  await using server = await tlsServer({ ...pair, maxVersion: 'TLSv1.2' });
  const { serialNumber } = new X509Certificate(pair.cert);
  const serial = BigInt(`0x${serialNumber}`);
  const rows: [source: string, property: string, comparison: string, target: string, boolean][] = [
    ['CONNECTION', 'tlsVersion', 'EQUALS', 'TLSv1.2', true],
    ['CONNECTION', 'tlsVersion', 'LESS_THAN', 'TLS1.3', true],
    ['CONNECTION', 'tlsVersion', 'GREATER_THAN', 'TLS 1.2', false],
    ['CONNECTION', 'chainTrusted', 'EQUALS', 'true', true],
    ['CONNECTION', 'resolvedIp', 'CONTAINS', '127.', true],
    ['CONNECTION', 'cipherSuite', 'CONTAINS', 'ECDHE', true],
    ['CERTIFICATE', 'daysUntilExpiry', 'GREATER_THAN', '30', true],
    ['CERTIFICATE', 'keySizeBits', 'EQUALS', '256', true],
    ['CERTIFICATE', 'serialNumber', 'EQUALS', serial.toString(), true],
    ['CERTIFICATE', 'serialNumber', 'EQUALS', (serial + 1n).toString(), false],
    ['CERTIFICATE', 'sans', 'CONTAINS', 'shop.example', true],
    ['CERTIFICATE', 'sans', 'CONTAINS', 'shop', false],
    ['CERTIFICATE', 'selfSigned', 'EQUALS', 'false', true],
    ['JSON_RESPONSE', '$.certificate.keyAlgorithm', 'CONTAINS', 'ECDSA', true],
    ['JSON_RESPONSE', '$.chain[0].subjectCN', 'CONTAINS', 'Test authority', true],
    ['TEXT_RESPONSE', '"issuerCN":"([^"]+)"', 'EQUALS', 'Test authority', true],
    ['RESPONSE_TIME', '', 'GREATER_THAN', '0', true],
  ];
  const assertions = rows.map(([source, property, comparison, target]) => ({
    ...{ source, property, comparison, target },
  }));
  const { verdict } = await look(server.port, {}, authority, { assertions });
  for (const [index, [, property, , , holds]] of rows.entries()) {
    const { error } = verdict.assertions[index] ?? {};
    assert.equal(error === undefined, holds, `${property}: ${error ?? 'held'}`);
  }
});

test('a target that a property can never have is refused', () => {
  for (const [source, property, comparison, target, problem] of [
    ['CERTIFICATE', 'expiresSoon', 'EQUALS', 'true', 'must be one of daysUntilExpiry'],
    ['CERTIFICATE', 'selfSigned', 'EQUALS', 'yes', 'must be true or false'],
    ['CERTIFICATE', 'selfSigned', 'CONTAINS', 'true', 'must be one of EQUALS for CERTIFICATE'],
    ['CERTIFICATE', 'daysUntilExpiry', 'LESS_THAN', 'soon', 'must be a number'],
    ['CONNECTION', 'tlsVersion', 'EQUALS', 'SSL3', 'must be a version such as TLS1.2'],
    ['CONNECTION', 'ocspStatus', 'EQUALS', 'fine', 'must be one of good, revoked, unknown'],
  ] as const) {
    const request = {
      sslConfig: { hostname: 'a.example' },
      assertions: [{ source, property, comparison, target }],
    };
    const { error } = sslMonitor.create.safeParse({ name: 'a', request });
    assert.ok(error?.issues[0]?.message.startsWith(problem), error?.message);
  }
});

test('a client certificate is shown where the check says so; one that is missing is said to be', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'localhost', validForDays: 90 });
  await using server = await tlsServer({
    ...{ ...pair, requestCert: true, rejectUnauthorized: true, ca: authority.cert },
    maxVersion: 'TLSv1.2',
  });
  const shown = await look(server.port, { clientCertificateMode: 'auto' }, authority);
  assert.equal(shown.observation.failure, null);
  const none = await look(server.port);
  assert.equal(none.headline['failureCategory'], 'handshake');
  const definition = definitionOf('SSL', {
    sslConfig: { hostname: 'localhost', port: server.port, clientCertificateMode: 'explicit' },
    sslClientCertificateId: 'gone',
  });
  const missing = await runSsl(definition, runnerContext());
  assert.equal(missing.failure?.code, 'CLIENT_CERTIFICATE_MISSING');
});

test('an intermediate that expires first is what counts, unless it is superfluous', async () => {
  const authority = await makeAuthority();
  const soon = await authority.intermediate('Soon', 3);
  const pair = await soon.issue({ host: 'localhost', validForDays: 300 });
  await using server = await tlsServer(pair);
  const seen = await look(server.port, {}, authority);
  assert.deepEqual(
    [seen.verdict.hasFailures, seen.verdict.isDegraded, seen.verdict.reason],
    [false, true, 'the intermediate certificate Soon expires in 2 days'],
  );
  assert.equal(seen.response['daysUntilExpiry'], 2);
  // Above the one whose issuer is trusted, nothing counts.
  const direct = await authority.issue({ host: 'localhost', validForDays: 300 });
  await using other = await tlsServer({ ...direct, cert: `${direct.cert}\n${soon.cert}` });
  const fine = await look(other.port, {}, authority);
  assert.deepEqual([fine.verdict.reason, fine.response['daysUntilExpiry']], [null, 299]);
});

test('a server name has no dot at its end', async () => {
  const authority = await makeAuthority();
  const pair = await authority.issue({ host: 'shop.example', validForDays: 90 });
  await using server = await tlsServer(pair);
  const seen = await look(server.port, { serverName: 'shop.example.' }, authority);
  assert.equal(seen.verdict.reason, null);
});
