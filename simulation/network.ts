/**
 * The network of a world, in the place of `node:net`: connections are pairs of streams in memory. What a link does to
 * the bytes that pass is decided by its faults.
 */
import net from 'node:net';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { Duplex } from 'node:stream';
import { runningHost, type Host, type World } from './world.ts';

/** What becomes of one request and its answer. `at` is the number of bytes that pass. */
export type RequestFault =
  /** The connection is cut when so much of the request has passed. */
  | { kind: 'cut-request'; at: number }
  /** The same, of the answer: the other side has acted. */
  | { kind: 'cut-answer'; at: number }
  /** A balancer answers in place of the server, which has acted or not. */
  | { kind: 'answered'; answer: string; hasActed: boolean }
  /** The server gets the request a second time, so much later. */
  | { kind: 'doubled'; afterMs: number };

/** The way between two hosts. */
export class Link {
  /** How long bytes take. */
  delayMs: () => number;
  /** Nothing passes: neither what is on the way nor news of an end. */
  isDead = false;
  /** Connections are refused, and cut. */
  isRefused = false;
  /** The fault of the next request, by its first bytes. */
  faultOf: (head: string) => RequestFault | null = () => null;
  /** Called once, before the next answer goes out. */
  onAnswer: (() => void) | null = null;
  readonly connections = new Set<Connection>();

  constructor(random: () => number) {
    this.delayMs = () => 1 + 4 * random();
  }

  cutAll(): void {
    for (const connection of this.connections) connection.reset();
  }

  /** As after a router that forgot its connections: no byte of them passes ever again. */
  forgetAll(): void {
    for (const connection of this.connections) connection.isForgotten = true;
  }
}

interface Listening {
  server: net.Server;
  host: Host;
  port: number;
}

/** All that listen in a world, and the links between its hosts. */
export class Network {
  readonly #world: World;
  readonly #listening = new Map<string, Listening>();
  readonly #links = new Map<string, Link>();
  /** Of each server, and of those that are connected to it. */
  readonly sockets = new Map<net.Server, Set<End>>();
  #nextPort = 40_000;

  constructor(world: World) {
    this.#world = world;
  }

  link(from: string, to: string): Link {
    const name = `${from}>${to}`;
    const known = this.#links.get(name);
    if (known !== undefined) return known;
    const link = new Link(this.#world.chance(`link ${name}`));
    this.#links.set(name, link);
    return link;
  }

  get links(): Iterable<[string, Link]> {
    return this.#links;
  }

  listen(server: net.Server, host: Host, wanted: number): number {
    const port = wanted === 0 ? this.#nextPort++ : wanted;
    if (this.#listening.has(`${host.name}:${port}`))
      throw Object.assign(new Error(`listen EADDRINUSE: :${port}`), { code: 'EADDRINUSE' });
    this.#listening.set(`${host.name}:${port}`, { server, host, port });
    this.sockets.set(server, new Set());
    return port;
  }

  close(server: net.Server): void {
    for (const [name, each] of this.#listening)
      if (each.server === server) this.#listening.delete(name);
  }

  /** The process of a host is gone: its peers see that, unless nothing passes. */
  drop(host: Host): void {
    for (const [name, each] of this.#listening) {
      if (each.host !== host) continue;
      this.#listening.delete(name);
      stopWatching(each.server);
    }
    for (const link of this.#links.values())
      for (const connection of [...link.connections]) connection.lose(host);
  }

  connect(client: End, host: Host, name: string, port: number): void {
    const link = this.link(host.name, name);
    const connection = new Connection(this.#world, link, client, host);
    client.join(connection);
    this.#world.add(this.#world.outside, this.#world.now + link.delayMs(), () => {
      if (link.isDead) return;
      const listening = this.#listening.get(`${name}:${port}`);
      if (listening === undefined || link.isRefused) connection.refuse(name, port);
      else connection.accept(listening.server, listening.host);
    });
  }
}

const codeError = (code: string, what: string): Error =>
  Object.assign(new Error(`${what} ${code}`), { code, syscall: what });

/** One end of a connection, as a socket. */
export class End extends Duplex {
  remoteAddress = '10.0.0.1';
  remoteFamily = 'IPv4';
  remotePort = 1;
  localAddress = '10.0.0.2';
  localPort = 2;
  bytesWritten = 0;
  bytesRead = 0;
  timeout = 0;
  connecting: boolean;
  #connection: Connection | null = null;
  #waiting: (() => void)[] = [];

  constructor(options: { isClient: boolean }) {
    super({ allowHalfOpen: !options.isClient, emitClose: true });
    this.connecting = options.isClient;
  }

  join(connection: Connection): void {
    this.#connection = connection;
  }

  get readyState(): string {
    return this.connecting ? 'opening' : 'open';
  }

  connected(): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.emit('connect');
    this.emit('ready');
    for (const write of this.#waiting.splice(0)) write();
  }

  #whenConnected(work: () => void): void {
    if (this.connecting) this.#waiting.push(work);
    else work();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: (error?: Error | null) => void): void {
    this.#whenConnected(() => {
      this.bytesWritten += chunk.length;
      this.#connection?.carry(this, chunk);
      done();
    });
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), '', done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#whenConnected(() => {
      this.#connection?.end(this);
      done();
    });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection?.close(this);
    done(error);
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  resetAndDestroy(): this {
    return this.destroy();
  }

  setTimeout(): this {
    return this;
  }
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  address(): object {
    return { address: this.localAddress, port: this.localPort, family: 'IPv4' };
  }
}

/** A connection, seen from the wire. HTTP on it has one request at a time. */
class Connection {
  readonly #world: World;
  readonly #link: Link;
  readonly #client: End;
  readonly #clientHost: Host;
  #server: End | null = null;
  #serverHost: Host | null = null;
  #listener: net.Server | null = null;
  /** When the last bytes arrive, each way: none overtakes another. */
  readonly #arrivals = { up: 0, down: 0 };
  isForgotten = false;
  #isOver = false;
  #fault: RequestFault | null = null;
  #request: Buffer[] = [];
  #passed = 0;
  #isAnswering = true;

  constructor(world: World, link: Link, client: End, host: Host) {
    this.#world = world;
    this.#link = link;
    this.#client = client;
    this.#clientHost = host;
    link.connections.add(this);
  }

  refuse(name: string, port: number): void {
    this.#over();
    this.#at(this.#clientHost, 'down', () =>
      this.#client.destroy(codeError('ECONNREFUSED', `connect ${name}:${port}`)),
    );
  }

  accept(server: net.Server, host: Host): void {
    const end = new End({ isClient: false });
    end.join(this);
    end.remoteAddress = `10.1.0.${(this.#clientHost.name.length % 200) + 1}`;
    this.#server = end;
    this.#serverHost = host;
    this.#listener = server;
    const all = this.#world.network.sockets.get(server);
    all?.add(end);
    this.#world.add(host, this.#world.now, () => {
      end.once('close', () => {
        all?.delete(end);
        if (all?.size === 0) server.emit('sockets-closed');
      });
      server.emit('connection', end);
    });
    this.#at(this.#clientHost, 'down', () => this.#client.connected());
  }

  get #isCut(): boolean {
    return this.#isOver || this.isForgotten || this.#link.isDead;
  }

  /** Later, in the order of what was sent that way. */
  #at(host: Host, way: 'up' | 'down', work: () => void): void {
    const at = Math.max(this.#arrivals[way], this.#world.now + this.#link.delayMs());
    this.#arrivals[way] = at;
    this.#world.add(host, at, work);
  }

  #deliver(way: 'up' | 'down', chunk: Buffer): void {
    const [host, end] =
      way === 'up' ? [this.#serverHost, this.#server] : [this.#clientHost, this.#client];
    if (host === null || end === null || chunk.length === 0) return;
    this.#at(host, way, () => {
      if (this.#isCut || end.destroyed) return;
      this.#world.trace(`${host.name} reads`, chunk);
      end.bytesRead += chunk.length;
      end.push(chunk);
    });
  }

  carry(from: End, chunk: Buffer): void {
    if (this.#isCut) return;
    if (from === this.#client) this.#carryUp(chunk);
    else this.#carryDown(chunk);
  }

  #carryUp(chunk: Buffer): void {
    if (this.#isAnswering) {
      this.#isAnswering = false;
      this.#request = [];
      this.#passed = 0;
      this.#fault = this.#link.faultOf(chunk.toString('latin1', 0, 200));
    }
    const fault = this.#fault;
    if (fault?.kind === 'answered' && !fault.hasActed) {
      if (this.#passed === 0) this.#answer(fault.answer);
      this.#passed += chunk.length;
      return;
    }
    if (fault?.kind === 'cut-request') {
      this.#deliver('up', chunk.subarray(0, Math.max(0, fault.at - this.#passed)));
      this.#passed += chunk.length;
      if (this.#passed >= fault.at) this.reset();
      return;
    }
    if (fault?.kind === 'doubled') this.#request.push(chunk);
    this.#deliver('up', chunk);
  }

  #carryDown(chunk: Buffer): void {
    const isFirst = !this.#isAnswering;
    this.#isAnswering = true;
    if (isFirst) {
      this.#passed = 0;
      const { onAnswer } = this.#link;
      this.#link.onAnswer = null;
      onAnswer?.();
      if (this.#isCut) return;
    }
    const fault = this.#fault;
    if (fault?.kind === 'cut-answer') {
      this.#deliver('down', chunk.subarray(0, Math.max(0, fault.at - this.#passed)));
      this.#passed += chunk.length;
      this.#isAnswering = false;
      if (this.#passed >= fault.at) this.reset();
      return;
    }
    if (fault?.kind === 'answered') {
      this.#answer(fault.answer);
      return;
    }
    if (isFirst && fault?.kind === 'doubled') this.#sendAgain(fault.afterMs);
    this.#deliver('down', chunk);
  }

  /** What a balancer sends, which then closes. */
  #answer(text: string): void {
    this.#deliver('down', Buffer.from(text));
    this.#at(this.#clientHost, 'down', () => {
      if (!this.#isOver) this.#client.push(null);
    });
    this.#at(this.#clientHost, 'up', () => this.#tell(this.#server, this.#serverHost));
  }

  #sendAgain(afterMs: number): void {
    const [server, host] = [this.#listener, this.#serverHost];
    const request = Buffer.concat(this.#request);
    this.#request = [];
    if (server === null || host === null) return;
    this.#world.add(host, this.#world.now + afterMs, () => {
      const end = new End({ isClient: false });
      server.emit('connection', end);
      end.push(request);
    });
  }

  /** A connection that ends in the middle. */
  #tell(end: End | null, host: Host | null): void {
    if (end === null || host === null || end.destroyed) return;
    this.#world.add(host, this.#world.now, () => {
      end.destroy(codeError('ECONNRESET', 'read'));
    });
  }

  /** Both ends learn that it is over. */
  reset(): void {
    if (this.#isOver) return;
    // What was sent before still arrives.
    this.#at(this.#world.outside, 'up', () => this.#tell(this.#server, this.#serverHost));
    this.#at(this.#world.outside, 'down', () => {
      this.#over();
      this.#tell(this.#client, this.#clientHost);
    });
  }

  /** One host is gone; the other end hears of it. */
  lose(host: Host): void {
    const isClient = host === this.#clientHost;
    if (!isClient && host !== this.#serverHost) return;
    const isSilent = this.#isCut;
    this.#over();
    if (isSilent) return;
    if (isClient) this.#tell(this.#server, this.#serverHost);
    else this.#tell(this.#client, this.#clientHost);
  }

  end(from: End): void {
    if (this.#isCut) return;
    const isUp = from === this.#client;
    const [host, end] = isUp ? [this.#serverHost, this.#server] : [this.#clientHost, this.#client];
    if (host === null || end === null) return;
    this.#at(host, isUp ? 'up' : 'down', () => {
      if (!this.#isCut && !end.destroyed) end.push(null);
    });
  }

  close(from: End): void {
    if (this.#isOver) return;
    const isSilent = this.isForgotten || this.#link.isDead;
    const isUp = from === this.#client;
    const [host, end] = isUp ? [this.#serverHost, this.#server] : [this.#clientHost, this.#client];
    if (isSilent || host === null || end === null) {
      this.#over();
      return;
    }
    this.#at(host, isUp ? 'up' : 'down', () => {
      this.#over();
      if (end.destroyed) return;
      if (from.writableFinished) end.push(null);
      else end.destroy(codeError('ECONNRESET', 'read'));
    });
  }

  #over(): void {
    this.#isOver = true;
    this.#link.connections.delete(this);
  }
}

// --- in the place of node:net

// Parts of Node are put in the place of others.
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

const hostOf = (address: string): string => names.get(address) ?? address;
/** Addresses of hosts, since programs want to see addresses. */
const names = new Map<string, string>();
export function nameAddress(address: string, host: string): void {
  names.set(address, host);
}

function connect(...given: unknown[]): End {
  const [options, port] = given as [{ host?: string; port?: number } | number, unknown];
  const to = typeof options === 'object' ? options : { port: options, host: String(port) };
  const host = runningHost();
  if (host === undefined) throw new Error('nobody connects outside of a world');
  const end = new End({ isClient: true });
  const listener = given.find((each) => typeof each === 'function');
  if (listener !== undefined) end.once('connect', listener as () => void);
  host.world.network.connect(end, host, hostOf(to.host ?? 'localhost'), Number(to.port));
  return end;
}

const addresses = new WeakMap<object, { address: string; port: number; family: string }>();
const prototype = net.Server.prototype as Any;
prototype.listen = function (this: Any, ...given: unknown[]) {
  const host = runningHost();
  if (host === undefined) throw new Error('nobody listens outside of a world');
  const callback = given.find((each) => typeof each === 'function');
  if (callback !== undefined) this.once('listening', callback);
  const [first] = given;
  const wanted = typeof first === 'number' ? first : typeof first === 'object' ? 0 : NaN;
  const fail = (error: unknown): void => process.nextTick(() => this.emit('error', error));
  // A socket in a folder: nobody asks there.
  if (Number.isNaN(wanted)) fail(codeError('ENOTSUP', 'listen'));
  else {
    try {
      const port = host.world.network.listen(this, host, wanted);
      addresses.set(this, { address: '127.0.0.1', port, family: 'IPv4' });
      if (this instanceof http.Server) {
        // The header `Date` is of the real time.
        this.prependListener('request', (_, response) => (response.sendDate = false));
      }
      process.nextTick(() => this.emit('listening'));
    } catch (error) {
      fail(error);
    }
  }
  return this;
};
prototype.address = function (this: object) {
  return addresses.get(this) ?? null;
};
prototype.close = function (this: Any, callback?: (error?: Error) => void) {
  if (callback !== undefined) this.once('close', callback);
  const host = runningHost();
  const sockets = host?.world.network.sockets.get(this);
  host?.world.network.close(this);
  addresses.delete(this);
  const end = (): void => process.nextTick(() => this.emit('close'));
  if (sockets === undefined || sockets.size === 0) end();
  else this.once('sockets-closed', end);
  return this;
};
Object.defineProperty(prototype, 'listening', {
  get(this: object) {
    return addresses.has(this);
  },
});

/** Node looks every few seconds of real time for connections that are too slow. */
function stopWatching(server: net.Server): void {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === 'http.server.connectionsCheckingInterval',
  );
  if (key !== undefined) clearRealInterval((server as Any)[key]);
}
const clearRealInterval = clearInterval;

Object.assign(net as Any, { connect, createConnection: connect });
syncBuiltinESMExports();
