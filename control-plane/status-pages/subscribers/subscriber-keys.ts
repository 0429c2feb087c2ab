/** Ids, hashes and unsubscribe tokens of subscribers, derived from the key of this installation. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { SecretCipher } from '../../core/secret-cipher.ts';

const uuidBytes = 16;
const macBytes = 32;

function uuidToBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function bytesToUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [8, 12, 16, 20, 32]
    .map((end, index, ends) => hex.slice(ends[index - 1] ?? 0, end))
    .join('-');
}

/** The network of a visitor: an IPv4 address, or the /64 network of an IPv6 address. */
function networkOf(visitor: string): string {
  if (!ipaddr.isValid(visitor)) return visitor;
  const address = ipaddr.process(visitor);
  return address.kind() === 'ipv4'
    ? address.toString()
    : Buffer.from(address.toByteArray().slice(0, 8)).toString('hex');
}

export class SubscriberKeys {
  readonly #hashKey: Buffer;
  readonly #idKey: Buffer;
  readonly #unsubscribeKey: Buffer;

  constructor(secrets: SecretCipher) {
    this.#hashKey = secrets.deriveKey('subscriber-hash');
    this.#idKey = secrets.deriveKey('subscription-id');
    this.#unsubscribeKey = secrets.deriveKey('unsubscribe');
  }

  addressHash(address: string): string {
    return createHmac('sha256', this.#hashKey).update(`address/${address}`).digest('hex');
  }

  /** Of the host of a webhook: any path and port of it is the same server, also with a dot at its end. */
  hostHash(address: string): string {
    const host = new URL(address).hostname.replace(/\.$/, '');
    return createHmac('sha256', this.#hashKey).update(`host/${host}`).digest('hex');
  }

  visitorHash(visitor: string): string {
    const network = networkOf(visitor);
    return createHmac('sha256', this.#hashKey).update(`visitor/${network}`).digest('hex');
  }

  /**
   * A UUID (version 8). It is the same when a subscriber unsubscribes and subscribes again, so that
   * the links of old mails keep working.
   */
  subscriptionId(pageId: string, address: string): string {
    const bytes = createHmac('sha256', this.#idKey)
      .update(`${pageId}/${address}`)
      .digest()
      .subarray(0, uuidBytes);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    return bytesToUuid(bytes);
  }

  unsubscribeToken(pageId: string, subscriptionId: string): string {
    const ids = Buffer.concat([uuidToBytes(pageId), uuidToBytes(subscriptionId)]);
    return Buffer.concat([ids, this.#unsubscribeMac(ids)]).toString('base64url');
  }

  /** Null for a token of another installation. */
  readUnsubscribeToken(token: string): { pageId: string; subscriptionId: string } | null {
    const bytes = Buffer.from(token, 'base64url');
    if (bytes.length !== 2 * uuidBytes + macBytes) return null;
    const ids = bytes.subarray(0, 2 * uuidBytes);
    const mac = bytes.subarray(2 * uuidBytes);
    if (!timingSafeEqual(mac, this.#unsubscribeMac(ids))) return null;
    return {
      pageId: bytesToUuid(ids.subarray(0, uuidBytes)),
      subscriptionId: bytesToUuid(ids.subarray(uuidBytes)),
    };
  }

  #unsubscribeMac(ids: Buffer): Buffer {
    return createHmac('sha256', this.#unsubscribeKey).update(ids).digest();
  }
}
