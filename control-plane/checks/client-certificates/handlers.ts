/** Client certificates. Keys and passphrases are write-only. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { clientCertificateRoutes } from '@monitor/shared/contract/client-certificate.ts';
import { invalidField, notFound } from '../../errors/api-error.ts';
import { toTimestamp } from '../../db/columns.ts';
import { deleteOwnRows, ownRows } from '../../db/own-rows.ts';
import type { ClientCertificatesTable } from '../tables.ts';
import type { Handlers } from '../../http/implement.ts';
import { changeEnvironment } from '../environment-changed.ts';
import type { Services } from '../../core/services.ts';

function toWire(row: Selectable<ClientCertificatesTable>) {
  return {
    id: row.id,
    host: row.host,
    cert: row.cert,
    ca: row.ca,
    created_at: toTimestamp(row.created_at),
  };
}

interface Pair {
  cert: string;
  key: string;
  passphrase: string | null;
  ca: string | null;
}

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
function checkPair({ cert, key, passphrase, ca }: Pair): void {
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
  const { db, clock, newId, secrets } = services;
  const certificatesOf = (accountId: string) => ownRows(db, 'client_certificates', accountId);

  return {
    listClientCertificates: async (_input, { principal }) => {
      const rows = await certificatesOf(principal.accountId).orderBy('created_at').execute();
      return rows.map(toWire);
    },

    createClientCertificate: async ({ body }, { principal }) => {
      const { accountId } = principal;
      checkPair(body);
      const row = {
        id: newId(),
        account_id: accountId,
        host: body.host.toLowerCase(),
        cert: body.cert,
        ca: body.ca,
        key_sealed: secrets.encrypt(body.key, accountId),
        passphrase_sealed:
          body.passphrase === null ? null : secrets.encrypt(body.passphrase, accountId),
        created_at: clock.now(),
      };
      await changeEnvironment(services, accountId, (unit) =>
        unit.insertInto('client_certificates').values(row).execute(),
      );
      return toWire(row);
    },

    getClientCertificate: async ({ params }, { principal }) => {
      const row = await certificatesOf(principal.accountId)
        .where('id', '=', params.id)
        .executeTakeFirstOrThrow(() => notFound('client certificate', params.id));
      return toWire(row);
    },

    deleteClientCertificate: async ({ params }, { principal }) => {
      const { accountId } = principal;
      await changeEnvironment(services, accountId, async (unit) => {
        const { numDeletedRows } = await deleteOwnRows(unit, 'client_certificates', accountId)
          .where('id', '=', params.id)
          .executeTakeFirst();
        if (numDeletedRows === 0n) throw notFound('client certificate', params.id);
      });
      return undefined;
    },
  };
}
