import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import {
  parseAuthorities,
  readAuthoritiesFile,
  describeDamaged,
  isOfOneCertificate,
} from '../../../../agent/net/tls/authorities-file.ts';
import { makeAuthority, selfSigned } from '../../../support/certificates.ts';
import { temporaryFolder } from '../../../support/system.ts';

const { cert } = await makeAuthority('Mine');
const other = await selfSigned({ host: 'other.test', validForDays: 3 });
const damaged = cert.replace(/\n.{20}/, `\n${'A'.repeat(20)}`);
const cutOff = cert.slice(0, cert.length / 2);

function parsed(text: string | Buffer): { subjects: string[]; problems: string[] } {
  const { certificates, problems } = parseAuthorities(Buffer.from(text));
  return {
    subjects: certificates.map(({ subject }) => subject),
    problems: problems.map((one) => (isOfOneCertificate(one) ? describeDamaged(one) : one.kind)),
  };
}

test('the certificates that can be read are given in order, and each other one is named by its place', () => {
  const file = ['# ours', cutOff, cert, damaged, other.key, other.cert.replaceAll('\n', '\r\n')];
  assert.deepEqual(parsed(file.join('\n')), {
    subjects: ['CN=Mine', 'CN=other.test'],
    problems: ['certificate 1 of 4 has no end', 'certificate 3 of 4 cannot be read'],
  });
  assert.deepEqual(parsed(`${cert}\n${cutOff}`), {
    subjects: ['CN=Mine'],
    problems: ['certificate 2 of 2 has no end'],
  });
});

test('certificates are read by each of their three labels', () => {
  const labelled = cert.replaceAll(' CERTIFICATE', ' X509 CERTIFICATE');
  assert.deepEqual(parsed(`${cert}\n${labelled}`), {
    subjects: ['CN=Mine', 'CN=Mine'],
    problems: [],
  });
});

test('a file that holds no certificate has one problem, with what it holds instead', () => {
  const der = Buffer.from(cert.replace(/-----.*-----|\s/g, ''), 'base64');
  assert.deepEqual(parseAuthorities(der).problems, [{ kind: 'der' }]);
  assert.deepEqual(parseAuthorities(Buffer.from(' \n')).problems, [{ kind: 'empty' }]);
  assert.deepEqual(parseAuthorities(Buffer.from('<html>')).problems, [{ kind: 'not-pem' }]);
  const request = 'CERTIFICATE REQUEST';
  const text = `${other.key}\n-----BEGIN ${request}-----\nAA\n-----END ${request}-----\n`;
  assert.deepEqual(parseAuthorities(Buffer.from(text)).problems, [
    { kind: 'no-certificate', labels: ['PRIVATE KEY', request] },
  ]);
});

test('a file that cannot be read has the code of the system', () => {
  using folder = temporaryFolder();
  const codeOf = (path: string): string | null => {
    const [problem] = readAuthoritiesFile(path).problems;
    return problem?.kind === 'unreadable' ? problem.code : null;
  };
  assert.equal(codeOf(join(folder.path, 'nowhere.pem')), 'ENOENT');
  assert.equal(codeOf(folder.path), 'EISDIR');
});
