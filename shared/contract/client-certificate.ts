/** Client certificates for hosts that require one. Spec: Client certificate. */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, resourceOperations } from './route.ts';
import { sensitive } from './sensitive.ts';

/** A valid pair without any use, so that the documented example works. */
const exampleCertificate = [
  '-----BEGIN CERTIFICATE-----',
  'MIIBRjCB+aADAgECAhQSqw32cZC8xRTNma+T/p3yJPAu4jAFBgMrZXAwGDEWMBQG',
  'A1UEAwwNYWdlbnQuZXhhbXBsZTAgFw0yNjExMjIwMTI4MjBaGA8yMTI2MTAyOTAx',
  'MjgyMFowGDEWMBQGA1UEAwwNYWdlbnQuZXhhbXBsZTAqMAUGAytlcAMhAIcS45GO',
  'gRBuiV5RFLtGgEt0PL/fQvLGciNd/mZVpo8ao1MwUTAdBgNVHQ4EFgQUfqLQbESr',
  '7s3yg6HIAguJJbTNFzIwHwYDVR0jBBgwFoAUfqLQbESr7s3yg6HIAguJJbTNFzIw',
  'DwYDVR0TAQH/BAUwAwEB/zAFBgMrZXADQQDdXjxEIlDQext4j/Q+gwXO8BN9Hbyc',
  'z1eTlgbHIcbcMQDK8Fb56Yo4IsVVT2gdbFiNtJ+/qNmq6ZLlXejf3OkL',
  '-----END CERTIFICATE-----',
  '',
].join('\n');
const exampleKey = [
  '-----BEGIN PRIVATE KEY-----',
  'MC4CAQAwBQYDK2VwBCIEIM8P07cgNnfLXkMbtSGR1TQFyjWJcuPlJlGO092xEoTV',
  '-----END PRIVATE KEY-----',
  '',
].join('\n');

const pem = (label: string, example: string) =>
  z
    .string()
    .max(65_536)
    .refine(
      (text) => new RegExp(`-----BEGIN [A-Z0-9 ]*${label}-----`).test(text),
      `must be PEM with a ${label}, line breaks retained`,
    )
    .meta({ example });

/** A domain without scheme; each `*` stands for any characters, dots among them. */
const host = z
  .string()
  .max(253)
  .regex(
    /^(\[[0-9a-fA-F:.]+\]|[^\s/:[\]@]+)(:\d{1,5})?$/,
    'must be a domain without scheme, such as "*.internal.example"; a port may follow',
  )
  .meta({ example: '*.internal.example' });

export const clientCertificate = z
  .object({
    id: z.uuid(),
    host: z.string(),
    cert: z.string(),
    ca: z.string().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'ClientCertificate' });

export const clientCertificateRoutes = defineRoutes('Client certificates', {
  ...resourceOperations('ClientCertificate', '/v1/client-certificates', {
    by: { id: pathId },
    response: clientCertificate,
    list: {
      summary: 'List client certificates, without their keys',
      response: z.array(clientCertificate),
    },
    create: {
      summary: 'Store a client certificate; its key is never given back',
      body: z.object({
        host,
        cert: pem('CERTIFICATE', exampleCertificate),
        key: sensitive('secret', pem('PRIVATE KEY', exampleKey)),
        passphrase: sensitive('secret', z.string().max(1024)).nullable().default(null),
        ca: pem('CERTIFICATE', exampleCertificate).nullable().default(null),
      }),
    },
    read: { summary: 'Read a client certificate, without its key' },
  }),
});
