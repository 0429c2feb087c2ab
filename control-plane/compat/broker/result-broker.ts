/**
 * A broker for clients that wait for test results: MQTT 3.1.1 over WebSocket, on the port of the API. A client
 * connects with the id of its account and an API key, and may subscribe to topics of its own account.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import type { KeyStore } from '../../accounts/index.ts';
import type { Bus } from '../../core/bus.ts';
import { brokerConnections as maxConnections } from '../../core/doors.ts';
import { sha256Hex } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';
import { readFilter } from '../decide/topics.ts';
import { type Credentials, maxPacketBytes, MqttConnection, refusals } from './mqtt-connection.ts';
import { ResultSender } from './result-sender.ts';

const tickMs = 5_000;
const subprotocol = 'mqtt';

/** True for an upgrade that the broker serves; all others are answered as requests. */
export function isForBroker({ headers, method }: IncomingMessage): boolean {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return (
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    offered.includes(subprotocol)
  );
}

interface BrokerParts {
  server: Server;
  services: Services;
  keys: Pick<KeyStore, 'findApiKey'>;
  bus: Bus;
  logger: Logger;
  visitorOf(request: IncomingMessage): string;
}

export class ResultBroker implements Disposable {
  readonly #parts: BrokerParts;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxPacketBytes,
    perMessageDeflate: false,
    handleProtocols: () => subprotocol,
  });
  readonly #connections = new Set<MqttConnection>();
  /** Those without a proved key, by address, the oldest first. */
  readonly #strangers = new Map<string, Set<MqttConnection>>();
  /** Connections of an account that were accepted. */
  readonly #ofAccounts = new Map<string, number>();
  readonly #sender: ResultSender;
  #cancelTick: (() => void) | null = null;
  #isClosed = false;
  #isComparing = false;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
    const { services, bus, logger } = parts;
    const unsentBytes = (): number =>
      [...this.#connections].reduce((sum, one) => sum + one.unsentBytes, 0);
    this.#sender = new ResultSender({ services, bus, logger, unsentBytes });
    parts.server.on('upgrade', this.#upgrade);
    bus.on('k', () => {
      void this.#closeRevoked();
    });
    this.#tickSoon();
  }

  readonly #upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => {
      socket.destroy();
    });
    const address = this.#parts.visitorOf(request);
    this.#makeRoom(address);
    if (this.#connections.size >= maxConnections.process || this.#isClosed) {
      socket.end(
        'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n',
      );
      return;
    }
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const connection = new MqttConnection(webSocket, {
        monotonic: () => this.#parts.services.clock.monotonic(),
        connect: (one, credentials) => this.#connect(one, credentials),
        subscribe: (one, filter) => this.#subscribe(one, filter),
        unsubscribe: (one, filter) => {
          const own = readFilter(filter, one.credentials?.accountId ?? '');
          if (own !== null) this.#sender.unsubscribe(one, own.filter);
        },
        closed: (one) => {
          this.#forget(one);
        },
      });
      this.#connections.add(connection);
      const strangers = this.#strangers.get(address) ?? new Set();
      this.#strangers.set(address, strangers.add(connection));
    });
  };

  /**
   * Closes the connection that has waited longest with its key, of this address or else of the one with the
   * most: a client that has a key proves it at once, so it never waits for those that have none.
   */
  #makeRoom(address: string): void {
    const all = [...this.#strangers.values()];
    const waiting = all.reduce((sum, { size }) => sum + size, 0);
    const own = this.#strangers.get(address);
    const isFull =
      waiting >= maxConnections.strangers || this.#connections.size >= maxConnections.process;
    if ((own?.size ?? 0) >= maxConnections.address) this.#closeOldest(own);
    else if (isFull) this.#closeOldest(all.toSorted((a, b) => b.size - a.size)[0]);
  }

  #closeOldest(connections: ReadonlySet<MqttConnection> = new Set()): void {
    const [oldest] = connections;
    if (oldest === undefined) return;
    oldest.close();
    this.#forget(oldest);
  }

  #noStranger(connection: MqttConnection): void {
    for (const [address, strangers] of this.#strangers) {
      if (strangers.delete(connection) && strangers.size === 0) this.#strangers.delete(address);
    }
  }

  async #isValid({ accountId, key }: Credentials): Promise<boolean> {
    if (!/^\S{8,512}$/.test(key)) return false;
    const found = await this.#parts.keys.findApiKey(sha256Hex(key));
    return found?.accountId === accountId;
  }

  async #connect(connection: MqttConnection, given: Credentials): Promise<number> {
    // In one spelling, so that each account has one number of connections.
    const credentials = { ...given, accountId: given.accountId.toLowerCase() };
    if (!(await this.#isValid(credentials))) return refusals.notAuthorized;
    // It closed while its key was looked up.
    if (!this.#connections.has(connection)) return refusals.unavailable;
    const { accountId } = credentials;
    const open = this.#ofAccounts.get(accountId) ?? 0;
    if (open >= maxConnections.account) return refusals.unavailable;
    this.#ofAccounts.set(accountId, open + 1);
    connection.credentials = credentials;
    this.#noStranger(connection);
    return 0;
  }

  #subscribe(connection: MqttConnection, filter: string): boolean {
    const { accountId } = connection.credentials ?? { accountId: '' };
    const own = readFilter(filter, accountId);
    if (own === null) return false;
    this.#sender.subscribe(connection, accountId, own);
    return true;
  }

  #forget(connection: MqttConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#sender.unsubscribe(connection);
    this.#noStranger(connection);
    if (connection.credentials === null) return;
    const { accountId } = connection.credentials;
    const open = (this.#ofAccounts.get(accountId) ?? 1) - 1;
    if (open > 0) this.#ofAccounts.set(accountId, open);
    else this.#ofAccounts.delete(accountId);
  }

  #tickSoon(): void {
    if (this.#isClosed) return;
    this.#cancelTick = this.#parts.services.clock.after(tickMs, () => {
      for (const connection of this.#connections) connection.closeIfSilent();
      void this.#closeRevoked();
      this.#tickSoon();
    });
  }

  /** Closes connections whose key has been revoked or has expired. */
  async #closeRevoked(): Promise<void> {
    if (this.#isComparing) return;
    this.#isComparing = true;
    for (const connection of this.#connections) {
      const { credentials } = connection;
      if (credentials === null) continue;
      const isValid = await this.#isValid(credentials).catch(() => true);
      if (!isValid) connection.close();
    }
    this.#isComparing = false;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
    this.#parts.server.off('upgrade', this.#upgrade);
    this.#sender.close();
    for (const connection of this.#connections) connection.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
