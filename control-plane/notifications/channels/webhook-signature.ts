/** Signature headers: a receiver can verify the sender, the content and the age of a webhook. */
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

type Headers = [name: string, value: string][];

/** Standard secrets are base64 after `whsec_`; any other text is used as its bytes. */
function signerOf(secret: string): Webhook {
  const encoded = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(
    secret,
  )?.[1];
  return encoded === undefined || encoded === ''
    ? new Webhook(Buffer.from(secret), { format: 'raw' })
    : new Webhook(secret);
}

/**
 * Id, timestamp and signatures of a webhook. The `webhook-*` headers follow Standard Webhooks:
 * base64 of HMAC-SHA256 over `id.timestamp.body`. The other headers are the hexadecimal HMAC-SHA256
 * of the body, and the timestamp. Without a secret nothing is signed.
 */
export function signatureHeaders(
  { id, body, secret }: { id: string; body: string; secret: string | null },
  now: number,
): Headers {
  const seconds = String(Math.floor(now / 1000));
  const headers: Headers = [
    ['webhook-id', id],
    ['webhook-timestamp', seconds],
    ['x-checkly-timestamp', seconds], // compatibility: receivers drop late ones by it
  ];
  if (secret === null || secret === '') return headers;
  return [
    ...headers,
    ['webhook-signature', signerOf(secret).sign(id, new Date(now), body)],
    // compatibility: receivers verify it
    ['x-checkly-signature', createHmac('sha256', secret).update(body).digest('hex')],
  ];
}
