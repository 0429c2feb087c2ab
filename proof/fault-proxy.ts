/**
 * A wire between a client and a server that can go wrong in the classic ways, one at a time:
 *
 *   latency     every chunk is late, by a time and up to so much more
 *   down        nobody listens, and what is open is cut
 *   bandwidth   so many bytes a second, each way, and how long they travel
 *   slow-close  the end of a connection arrives late
 *   silence     connections are accepted and stay open; nothing passes any more, either way
 *   reset       every connection is reset after a moment
 *   slicer      chunks arrive in small pieces
 *   loss        a share of the packets is lost and sent again, later each time
 *   limit       after so many bytes towards one side the connection is cut: 0 towards the client is
 *               an answer that is lost
 *
 * `heal` takes the fault away; connections that stood in silence stay dead, as half-open ones do.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type Fault =
  | { readonly kind: 'latency'; readonly delayMs: number; readonly jitterMs: number }
  | { readonly kind: 'down' }
  | {
      readonly kind: 'bandwidth';
      readonly bytesPerSecond: number;
      /** Every byte is on its way for so long besides. */
      readonly delayMs?: number;
    }
  | { readonly kind: 'slow-close'; readonly delayMs: number }
  | { readonly kind: 'silence' }
  | { readonly kind: 'reset'; readonly afterMs: number }
  | { readonly kind: 'loss'; readonly share: number }
  | { readonly kind: 'slicer'; readonly bytes: number; readonly delayMs: number }
  | { readonly kind: 'limit'; readonly bytes: number; readonly towards: 'client' | 'server' };

export type FaultKind = Fault['kind'];

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

class Wire {
  readonly #client: Socket;
  readonly #server: Socket;
  isSilent = false;
  #toClient = 0;
  #toServer = 0;

  constructor(client: Socket, serverPort: number) {
    this.#client = client;
    this.#server = connect({ port: serverPort, host: '127.0.0.1', noDelay: true });
    client.setNoDelay(true);
  }

  /** Carries bytes until one side ends. `faultNow` is asked before every piece. */
  async carry(faultNow: () => Fault | null, random: () => number): Promise<void> {
    const ends = [this.#client, this.#server] as const;
    for (const end of ends) end.on('error', () => undefined);
    await Promise.allSettled([
      this.#pump(this.#client, this.#server, 'server', faultNow, random),
      this.#pump(this.#server, this.#client, 'client', faultNow, random),
    ]);
    for (const end of ends) end.destroy();
  }

  cut(): void {
    this.#client.resetAndDestroy();
    this.#server.destroy();
  }

  destroy(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  async #pump(
    from: Socket,
    to: Socket,
    towards: 'client' | 'server',
    faultNow: () => Fault | null,
    random: () => number,
  ): Promise<void> {
    for await (const chunk of from) {
      for (const piece of this.#pieces(chunk as Buffer, faultNow())) {
        const fault = faultNow();
        if (fault !== null) await this.#suffer(fault, piece, towards, random);
        // What went lost is not resent: nothing that follows may arrive.
        if (this.isSilent) return void (await once(this.#client, 'close'));
        if (to.destroyed) return;
        if (fault?.kind === 'bandwidth' && fault.delayMs !== undefined) {
          setTimeout(() => to.write(piece), fault.delayMs);
          continue;
        }
        if (!to.write(piece)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
      }
    }
    const fault = faultNow();
    if (fault?.kind === 'slow-close' || fault?.kind === 'bandwidth') await wait(fault.delayMs ?? 0);
    if (this.isSilent) return void (await once(this.#client, 'close'));
    to.end();
  }

  *#pieces(chunk: Buffer, fault: Fault | null): Generator<Buffer> {
    const size =
      fault?.kind === 'slicer'
        ? fault.bytes
        : fault?.kind === 'bandwidth'
          ? Math.max(1, Math.ceil(fault.bytesPerSecond / 20))
          : chunk.length;
    for (let at = 0; at < chunk.length; at += size) yield chunk.subarray(at, at + size);
  }

  async #suffer(
    fault: Fault,
    piece: Buffer,
    towards: 'client' | 'server',
    random: () => number,
  ): Promise<void> {
    switch (fault.kind) {
      case 'latency':
        return wait(fault.delayMs + random() * fault.jitterMs);
      case 'loss': {
        for (let againMs = 200; random() < fault.share; againMs *= 2) await wait(againMs);
        return;
      }
      case 'bandwidth':
        return wait((piece.length / fault.bytesPerSecond) * 1_000);
      case 'slicer':
        return wait(fault.delayMs);
      case 'silence':
        this.isSilent = true;
        return;
      case 'reset':
        await wait(fault.afterMs);
        this.cut();
        return;
      case 'limit': {
        if (towards !== fault.towards) return;
        const passed = towards === 'client' ? this.#toClient : this.#toServer;
        if (passed + piece.length > fault.bytes) this.cut();
        if (towards === 'client') this.#toClient += piece.length;
        else this.#toServer += piece.length;
        return;
      }
      case 'down':
        this.cut();
        return;
      case 'slow-close':
        return;
    }
  }
}

export class FaultProxy implements AsyncDisposable {
  #serverPort: number;
  readonly #random: () => number;
  readonly #wires = new Set<Wire>();
  readonly #server = createServer((client) => this.#take(client));
  #fault: Fault | null = null;
  #port = 0;
  /** How many connections there were. */
  connections = 0;

  private constructor(serverPort: number, random: () => number) {
    this.#serverPort = serverPort;
    this.#random = random;
  }

  static async start(serverPort: number, random: () => number = Math.random): Promise<FaultProxy> {
    const proxy = new FaultProxy(serverPort, random);
    await proxy.#listen();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  async #listen(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  #take(client: Socket): void {
    this.connections += 1;
    const wire = new Wire(client, this.#serverPort);
    this.#wires.add(wire);
    void wire.carry(() => this.#fault, this.#random).finally(() => this.#wires.delete(wire));
  }

  /** From now on everything suffers from it, what is open too. */
  async fail(fault: Fault): Promise<void> {
    await this.heal();
    this.#fault = fault;
    if (fault.kind === 'silence') for (const wire of this.#wires) wire.isSilent = true;
    if (fault.kind !== 'down') return;
    this.#server.close();
    for (const wire of this.#wires) wire.cut();
  }

  /** What connects from now on reaches another server; what is open is cut. */
  leadTo(serverPort: number): void {
    this.#serverPort = serverPort;
    for (const wire of this.#wires) wire.cut();
  }

  async heal(): Promise<void> {
    this.#fault = null;
    if (!this.#server.listening) await this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#fault = null;
    for (const wire of this.#wires) wire.destroy();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }
}
