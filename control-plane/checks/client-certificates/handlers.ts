/** Client certificates. Keys and passphrases are write-only. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { z } from 'zod';
import type { clientCertificateRoutes } from '@monitor/shared/contract/client-certificate.ts';
import type { Services } from '../../core/services.ts';
import { toTimestamp } from '../../db/columns.ts';
import { invalidField } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { entryHandlers, listAll, resourceOf } from '../../resources/index.ts';
import { changeEnvironment } from '../environment-changed.ts';

type Fields = z.output<typeof clientCertificateRoutes.createClientCertificate.body>;

const block = /-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[^-]*-----END [A-Z0-9 ]*CERTIFICATE-----/g;

/** All certificates of a PEM text: the leaf first, then its intermediates. */
function readCertificates(field: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  const [first = pem, ...others] = pem.match(block) ?? [];
  const read = (text: string, index: number): X509Certificate => {
    try {
      return new X509Certificate(text);
    } catch {
      const which = index === 0 ? '' : `, its ${index + 1}. one`;
      throw invalidField(field, `cannot be read as a certificate${which}`);
    }
  };
  return [read(first, 0), ...others.map((text, index) => read(text, index + 1))];
}

/** Explains why a key cannot be read: Node reports a missing passphrase, OpenSSL a wrong one. */
function whyUnreadable(error: unknown): string {
  const code = String((error as { code?: unknown }).code);
  if (/MISSING_PASSPHRASE|INTERRUPTED_OR_CANCELLED/.test(code))
    return 'is encrypted; give its "passphrase"';
  if (code.includes('BAD_DECRYPT')) return 'cannot be decrypted: "passphrase" is wrong';
  return 'cannot be read as a private key: it is damaged, or of a kind or encrypted in a way that is not supported';
}

/** Refuses a pair that can never work, instead of failing every run. */
function checkPair({ cert, key, passphrase, ca }: Omit<Fields, 'host'>): void {
  const [certificate, ...chain] = readCertificates('cert', cert);
  if (ca !== null) readCertificates('ca', ca);
  let privateKey;
  try {
    privateKey = createPrivateKey({ key, ...(passphrase === null ? {} : { passphrase }) });
  } catch (error) {
    throw invalidField('key', whyUnreadable(error));
  }
  if (certificate.checkPrivateKey(privateKey)) return;
  const isLater = chain.some((each) => each.checkPrivateKey(privateKey));
  throw invalidField(
    'key',
    isLater
      ? 'is the key of a later certificate of "cert"; its own must come first, then the intermediates'
      : 'is not the key of "cert"',
  );
}

export function clientCertificateHandlers(
  services: Services,
): Handlers<typeof clientCertificateRoutes> {
  const { newId, secrets } = services;
  const certificates = resourceOf(services, {
    ...({ table: 'client_certificates', noun: 'client certificate', key: 'id' } as const),
    order: ['created_at'],
    fresh: (now) => ({ id: newId(), created_at: now }),
    fieldsOf: ({ host, cert, ca }) => ({ host, cert, ca }),
    toColumns({ key, passphrase, ...fields }: Fields, { accountId }) {
      checkPair({ key, passphrase, ...fields });
      return {
        ...{ host: fields.host.toLowerCase(), cert: fields.cert, ca: fields.ca },
        key_sealed: secrets.encrypt(key, accountId),
        passphrase_sealed: passphrase === null ? null : secrets.encrypt(passphrase, accountId),
      };
    },
    present: (rows) =>
      rows.map(({ id, host, cert, ca, created_at: made }) => ({
        ...{ id, host, cert, ca, created_at: toTimestamp(made) },
      })),
    commit: (accountId, work) => changeEnvironment(services, accountId, work),
  });
  return {
    listClientCertificates: listAll(certificates),
    ...entryHandlers('ClientCertificate', 'id', certificates),
  };
}
