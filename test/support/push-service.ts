/** A push service with browsers behind it: real HTTPS, and the mathematics of RFC 8291 and 8292 written anew. */
import assert from 'node:assert/strict';
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  verify,
} from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type KeyAndCertificate, selfSigned } from './certificates.ts';
import { httpsServer, type TestServer } from './servers.ts';

export interface Pushed {
  payload: Record<string, string | null>;
  headers: Record<string, string | undefined>;
  /** Of the whole body, as push services limit it. */
  bytes: number;
}

/** What a browser has made: where it is sent to, and what reads it. */
export interface PushBrowser {
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
  received: Pushed[];
}

export interface PushService extends TestServer {
  /** Statuses of the next answers; 201 when there are none left. */
  answers: { status: number; headers?: Record<string, string> }[];
  requests: number;
  browser(): PushBrowser;
}

const hkdf = (secret: Buffer, salt: Buffer, info: Buffer | string, length: number) =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/** RFC 8291, section 3.4, and RFC 8188, section 2. */
function decrypt(body: Buffer, keys: ECDH, auth: Buffer): string {
  const [salt, idLength] = [body.subarray(0, 16), body.readUInt8(20)];
  const sender = body.subarray(21, 21 + idLength);
  assert.ok(body.readUInt32BE(16) >= body.length - 21 - idLength, 'one record holds everything');
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), keys.getPublicKey(), sender]);
  const secret = hkdf(keys.computeSecret(sender), auth, info, 32);
  const key = hkdf(secret, salt, 'Content-Encoding: aes128gcm\0', 16);
  const nonce = hkdf(secret, salt, 'Content-Encoding: nonce\0', 12);
  const sealed = body.subarray(21 + idLength);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  assert.ok(end >= 0 && padded.subarray(end + 1).every((byte) => byte === 0));
  return padded.subarray(0, end).toString();
}

/** RFC 8292: the token is for this origin, not for ever, and signed with the key that it names. */
function assertSigned(authorization: string, origin: string): string {
  const [, token = '', key = ''] = /^vapid t=([\w.-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  const [head = '', claims = '', signature = ''] = token.split('.');
  const point = Buffer.from(key, 'base64url');
  const jwk = {
    ...{ kty: 'EC', crv: 'P-256' },
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  };
  const isRight = verify(
    'sha256',
    Buffer.from(`${head}.${claims}`),
    { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  assert.ok(isRight, 'the signature of the token');
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as {
    aud: string;
    exp: number;
    sub: string;
  };
  assert.equal(aud, origin);
  const lastsSeconds = exp - Date.now() / 1000;
  assert.ok(lastsSeconds > 0 && lastsSeconds <= 86_400, `${lastsSeconds} s`);
  assert.match(sub, /^(mailto:|https:)/);
  return key;
}

/** Trusted by this process. One for all: of two with one name, only the first would be found. */
let trusted: Promise<KeyAndCertificate> | undefined;

async function trust(): Promise<KeyAndCertificate> {
  const made = await selfSigned({ host: '127.0.0.1', validForDays: 1 });
  setDefaultCACertificates([...getCACertificates('default'), made.cert]);
  return made;
}

/** `publicKey` gives the key that browsers were subscribed with. */
export async function pushService(publicKey: () => Promise<string>): Promise<PushService> {
  const { key, cert } = await (trusted ??= trust());
  const browsers = new Map<string, { keys: ECDH; auth: Buffer; received: Pushed[] }>();
  const answers: PushService['answers'] = [];
  const take = async (path: string, headers: Record<string, string | undefined>, body: Buffer) => {
    const browser = browsers.get(path);
    if (browser === undefined) return { status: 404 };
    assert.ok(body.length <= 4_096, `${body.length} bytes`);
    assert.equal(headers['content-encoding'], 'aes128gcm');
    const signedWith = assertSigned(headers['authorization'] ?? '', service.url);
    assert.equal(signedWith, await publicKey());
    const answer = answers.shift() ?? { status: 201 };
    if (answer.status === 201) {
      const payload = JSON.parse(decrypt(body, browser.keys, browser.auth)) as Pushed['payload'];
      browser.received.push({ payload, headers, bytes: body.length });
    }
    return answer;
  };
  const service: PushService = {
    ...(await httpsServer(key, cert, (request, response) => {
      service.requests += 1;
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        take(request.url ?? '', request.headers as never, Buffer.concat(chunks)).then(
          ({ status, headers = {} }: PushService['answers'][number]) => {
            response.writeHead(status, headers).end();
          },
          // As a push service refuses what it cannot read; the text shows in the outcome.
          (error: unknown) => response.writeHead(400).end(String(error)),
        );
      });
    })),
    answers,
    requests: 0,
    browser() {
      const keys = createECDH('prime256v1');
      const [auth, path] = [randomBytes(16), `/send/${randomBytes(12).toString('hex')}`];
      const received: Pushed[] = [];
      const p256dh = keys.generateKeys('base64url');
      browsers.set(path, { keys, auth, received });
      return {
        subscription: {
          endpoint: `${service.url}${path}`,
          keys: { p256dh, auth: auth.toString('base64url') },
        },
        received,
      };
    },
  };
  return service;
}
