/**
 * One client that speaks MQTT 3.1.1 over a WebSocket. It may subscribe and ping, and nothing else: what it
 * publishes ends the connection. What it sends is hostile, so everything has a limit.
 */
import mqtt from 'mqtt-packet';
import type { WebSocket } from 'ws';

/** Clients send no packet that is nearly as large. */
export const maxPacketBytes = 16_384;
/** Packets per second, and as many at once at first. */
const maxPackets = { perSecond: 5, atOnce: 50 };
const maxSubscriptions = 20;
/** A client that reads too slowly is sent nothing more until it has read. */
const maxUnsentBytes = 1_048_576;
/** Without a keep-alive of its own, or with a long one. */
const maxKeepAliveMs = 120_000;
const connectWithinMs = 10_000;

/** Return codes of CONNACK. */
export const refusals = { identifier: 2, unavailable: 3, notAuthorized: 5 } as const;
const failedSubscription = 128;

export interface Credentials {
  accountId: string;
  key: string;
}

interface ConnectionOwner {
  monotonic: () => number;
  /** Gives 0, or the code of the refusal. */
  connect(connection: MqttConnection, credentials: Credentials): Promise<number>;
  /** False for a filter that is not allowed. */
  subscribe(connection: MqttConnection, filter: string): boolean;
  unsubscribe(connection: MqttConnection, filter: string): void;
  closed(connection: MqttConnection): void;
}

type State = 'waiting for CONNECT' | 'authenticating' | 'connected' | 'closed';

export class MqttConnection {
  readonly #socket: WebSocket;
  readonly #owner: ConnectionOwner;
  readonly #parser = mqtt.parser({ protocolVersion: 4 });
  readonly #filters = new Set<string>();
  #state: State = 'waiting for CONNECT';
  /** Until when the next packet must come. */
  #deadline: number;
  #keepAliveMs = connectWithinMs;
  #allowance = maxPackets.atOnce;
  #allowanceAt: number;
  /** Set by the owner once they are proved. */
  credentials: Credentials | null = null;

  constructor(socket: WebSocket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    this.#allowanceAt = owner.monotonic();
    this.#deadline = this.#allowanceAt + connectWithinMs;
    this.#parser.on('packet', (packet) => {
      this.#receive(packet);
    });
    this.#parser.on('error', () => {
      this.close();
    });
    socket.on('message', (data, isBinary) => {
      if (!isBinary || !(data instanceof Buffer)) this.close();
      else if (this.#state !== 'closed') this.#read(data);
    });
    // `close` follows.
    socket.on('error', () => undefined);
    socket.once('close', () => {
      this.#state = 'closed';
      owner.closed(this);
    });
  }

  get isConnected(): boolean {
    return this.#state === 'connected';
  }

  /** Bytes that the client has not read. */
  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** False while the client has much to read. */
  get takesMore(): boolean {
    return this.isConnected && this.unsentBytes < maxUnsentBytes;
  }

  /** Ends a client that has gone silent. */
  closeIfSilent(): void {
    if (this.#owner.monotonic() > this.#deadline) this.close();
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#socket.terminate();
  }

  publish(topic: string, payload: string): void {
    this.#send({ cmd: 'publish', topic, payload, qos: 0, dup: false, retain: false });
  }

  #send(packet: mqtt.Packet): void {
    if (this.#state === 'closed') return;
    this.#socket.send(mqtt.generate(packet));
  }

  /** False for a client that sends more packets than any would. */
  #isAllowed(now: number): boolean {
    const earned = ((now - this.#allowanceAt) / 1_000) * maxPackets.perSecond;
    this.#allowance = Math.min(maxPackets.atOnce, this.#allowance + earned) - 1;
    this.#allowanceAt = now;
    return this.#allowance >= 0;
  }

  #read(data: Buffer): void {
    try {
      // What is left is the beginning of a packet that is too large.
      if (this.#parser.parse(data) > maxPacketBytes) this.close();
    } catch {
      // It cannot be read, or cannot be answered, as a subscription to nothing.
      this.close();
    }
  }

  #receive(packet: mqtt.Packet): void {
    if (this.#state === 'closed') return;
    const now = this.#owner.monotonic();
    this.#deadline = now + this.#keepAliveMs;
    if (!this.#isAllowed(now)) this.close();
    else if (packet.cmd === 'connect') void this.#connect(packet);
    else if (!this.isConnected) this.close();
    else if (packet.cmd === 'subscribe') this.#subscribe(packet);
    else if (packet.cmd === 'unsubscribe') this.#unsubscribe(packet);
    else if (packet.cmd === 'pingreq') this.#send({ cmd: 'pingresp' });
    // A DISCONNECT, or a packet that clients of this API do not send.
    else this.close();
  }

  async #connect(packet: mqtt.IConnectPacket): Promise<void> {
    if (this.#state !== 'waiting for CONNECT' || packet.protocolVersion === 5) {
      this.close();
      return;
    }
    this.#state = 'authenticating';
    const keepAliveMs = (packet.keepalive ?? 0) * 1_500;
    this.#keepAliveMs = keepAliveMs === 0 ? maxKeepAliveMs : Math.min(maxKeepAliveMs, keepAliveMs);
    const credentials = {
      accountId: packet.username ?? '',
      key: packet.password?.toString('utf8') ?? '',
    };
    const code = await this.#owner
      .connect(this, credentials)
      .catch(() => refusals.unavailable as number);
    // It closed while the key was looked up.
    if ((this.#state as State) === 'closed') return;
    this.#send({ cmd: 'connack', returnCode: code, sessionPresent: false });
    if (code === 0) {
      this.#state = 'connected';
      this.#deadline = this.#owner.monotonic() + this.#keepAliveMs;
    } else {
      this.#state = 'closed';
      this.#socket.close();
    }
  }

  #subscribe({ subscriptions, messageId }: mqtt.ISubscribePacket): void {
    const granted: number[] = [];
    const added: string[] = [];
    for (const { topic } of subscriptions) {
      const isRoom = this.#filters.size < maxSubscriptions || this.#filters.has(topic);
      const isTaken = isRoom && this.#owner.subscribe(this, topic);
      granted.push(isTaken ? 0 : failedSubscription);
      if (!isTaken) continue;
      this.#filters.add(topic);
      added.push(topic);
    }
    this.#send({
      cmd: 'suback',
      ...(messageId === undefined ? {} : { messageId }),
      granted: granted as mqtt.QoS[],
    });
  }

  #unsubscribe({ unsubscriptions, messageId }: mqtt.IUnsubscribePacket): void {
    for (const filter of unsubscriptions) {
      this.#filters.delete(filter);
      this.#owner.unsubscribe(this, filter);
    }
    this.#send({
      cmd: 'unsuback',
      ...(messageId === undefined ? {} : { messageId }),
    } as mqtt.Packet);
  }
}
