import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { suite } from 'node:test';
import { getCACertificates } from 'node:tls';
import { AgentError } from '../../../agent/errors.ts';
import { applyTrust } from '../../../agent/link/extra-authorities.ts';
import { makeAuthority, selfSigned } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/system.ts';

function trustIn(path: string, now = Date.now()): string[] {
  return applyTrust({ NODE_EXTRA_CA_CERTS: path }, { NODE_EXTRA_CA_CERTS: path }, now);
}

const authority = await makeAuthority();
const expired = await selfSigned({ host: 'old.test', validForDays: -3 });
const der = Buffer.from(authority.cert.replace(/-----.*-----|\s/g, ''), 'base64');
const damaged = authority.cert.replace(/\n.{20}/, `\n${'A'.repeat(20)}`);

suite('authorities that cannot be used are an error with the reason:', () => {
  const cases: [string, string | Buffer | null, RegExp][] = [
    ['no file', null, /does not exist/],
    ['an empty file', '', /is empty; put/],
    ['a page', '<html>not found</html>', /not in PEM/],
    ['DER', der, /not in PEM.*openssl x509 -inform der/],
    ['only a key', expired.key, /no certificate, only PRIVATE KEY/],
    ['a damaged one', `${authority.cert}\n${damaged}`, /certificate 2 of 2 cannot be read/],
    ['only one that has expired', expired.cert, /"CN=old\.test" expired on \d{4}-/],
  ];
  for (const [name, content, reason] of cases) {
    test(name, () => {
      using folder = temporaryFolder();
      const path = join(folder.path, 'ca.pem');
      if (content !== null) writeFileSync(path, content);
      assert.throws(
        () => trustIn(path),
        (error) => {
          assert.ok(error instanceof AgentError);
          assert.equal(error.code, 'CONFIG_INVALID');
          assert.match(error.message, reason);
          assert.ok(error.message.includes(path));
          return true;
        },
      );
    });
  }

  test('a folder', () => {
    using folder = temporaryFolder();
    assert.throws(() => trustIn(folder.path), /is a folder/);
  });
});

test('one expired authority among others is a warning', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'ca.pem');
  writeFileSync(path, `# ours\n${authority.cert}\n${expired.cert}`);
  const [warning, ...more] = trustIn(path);
  assert.match(warning ?? '', /"CN=old\.test" expired/);
  assert.deepEqual(more, []);
});

test('trusting everybody is warned of, with the right way', () => {
  const [warning] = applyTrust({}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 0);
  assert.match(warning ?? '', /NODE_EXTRA_CA_CERTS/);
  assert.deepEqual(applyTrust({}, { NODE_TLS_REJECT_UNAUTHORIZED: '1' }, 0), []);
});

test('a file that was given by a flag is trusted too, though Node did not read it', () => {
  using folder = temporaryFolder();
  const path = join(folder.path, 'ca.pem');
  writeFileSync(path, authority.cert);
  const isTrusted = () => {
    const wanted = new X509Certificate(authority.cert).fingerprint256;
    return getCACertificates('default').some(
      (pem) => new X509Certificate(pem).fingerprint256 === wanted,
    );
  };
  assert.equal(isTrusted(), false);
  assert.deepEqual(applyTrust({ NODE_EXTRA_CA_CERTS: path }, {}, Date.now()), []);
  assert.equal(isTrusted(), true);
});
