/** A gRPC server of the reference implementation for Node, with a shop of one method. */
import { join } from 'node:path';
import {
  loadPackageDefinition,
  type Metadata,
  Server,
  ServerCredentials,
  status,
  type sendUnaryData,
  type ServerUnaryCall,
  type ServerWritableStream,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { HealthImplementation, type ServingStatusMap } from 'grpc-health-check';

export interface Order {
  orderId?: string;
  state?: string;
  tags?: string[];
  [further: string]: unknown;
}

type Call = ServerUnaryCall<{ orderId: string }, Order>;

export interface GrpcServerOptions {
  /** On loopback; by default any. */
  port?: number;
  health?: ServingStatusMap;
  /** Versions of reflection that it has. */
  reflection?: readonly ('v1' | 'v1alpha')[];
  /** So long it waits before it reads what reflection is asked. */
  reflectsAfterMs?: number;
  credentials?: ServerCredentials;
  /** Answers a call of `shop.v1.Orders/Get`. */
  get?: (call: Call, answer: sendUnaryData<Order>) => void;
  /** Answers a call of `shop.v1.Orders/Watch`. */
  watch?: (call: ServerWritableStream<{ orderId: string }, Order>) => void;
}

export interface GrpcServer extends AsyncDisposable {
  port: number;
  /** Metadata of the calls of `Get`. */
  seen: Metadata[];
}

const folder = join(import.meta.dirname, 'grpc');

export function shopPackage() {
  return loadSync('shop.proto', { includeDirs: [folder], enums: String, longs: String });
}

function serviceIn(definition: ReturnType<typeof shopPackage>) {
  const loaded = loadPackageDefinition(definition) as unknown as {
    shop: { v1: { Orders: { service: UntypedServiceImplementation } } };
  };
  return loaded.shop.v1.Orders.service as never;
}

/** The order that it answers with, unless it is given another. */
export const order = {
  orderId: 'A-1',
  state: 'STATE_PAID',
  placedAt: { seconds: 1_700_000_000, nanos: 0 },
  total: { currency: 'EUR', cents: '9007199254740993' },
} satisfies Order;

export async function grpcServer(options: GrpcServerOptions = {}): Promise<GrpcServer> {
  const { port: wanted = 0, health, reflection = [], credentials, get, watch } = options;
  const { reflectsAfterMs = 0 } = options;
  const server = new Server();
  const definition = shopPackage();
  const seen: Metadata[] = [];
  server.addService(serviceIn(definition), {
    Get(call: Call, answer: sendUnaryData<Order>) {
      seen.push(call.metadata);
      if (get === undefined) answer(null, order);
      else get(call, answer);
    },
    Watch(call: ServerWritableStream<{ orderId: string }, Order>) {
      if (watch === undefined) call.emit('error', { code: status.UNIMPLEMENTED });
      else watch(call);
    },
    Upload(_call: unknown, answer: sendUnaryData<Order>) {
      answer({ code: status.UNIMPLEMENTED });
    },
  } as never);
  if (health !== undefined) new HealthImplementation(health).addToServer(server as never);
  new ReflectionService(definition).addToServer({
    addService(service, implementation) {
      const isWanted = reflection.some((version) =>
        Object.values(service).some(({ path }) => path.includes(`.${version}.`)),
      );
      if (!isWanted) return;
      const late = Object.entries(implementation).map(([name, handle]) => [
        name,
        (call: never) => setTimeout(() => (handle as (call: never) => void)(call), reflectsAfterMs),
      ]);
      server.addService(service, Object.fromEntries(late) as UntypedServiceImplementation);
    },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(
      `127.0.0.1:${wanted}`,
      credentials ?? ServerCredentials.createInsecure(),
      (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      },
    );
  });
  return {
    port,
    seen,
    [Symbol.asyncDispose]() {
      server.forceShutdown();
      return Promise.resolve();
    },
  };
}
