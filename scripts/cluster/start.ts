/** A cluster on this machine: PostgreSQL, an S3 store, a balancer and replicas of the control plane. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import S3rver from 's3rver';
import { startBalancer } from '../../proof/balancer.ts';
import { freePort, type Program } from '../../proof/program.ts';
import { System } from '../../proof/system.ts';
import { startPostgres, type PostgresOptions, type PostgresServer } from './postgres.ts';

const bucket = 'monitor';
const database = 'monitor';

interface Replica {
  readonly port: number;
  readonly program: Program;
}

interface ClusterOptions {
  /** Where logs and data of agents go. */
  folder: string;
  replicas: number;
  /** Of the database, beside what a commit needs to survive. */
  postgres?: PostgresOptions;
  /** Of the balancer; 0 for any. */
  port?: number;
  /** Settings of the replica at a place, beside those of the cluster. */
  settingsOf?: (
    place: number,
    database: { port: number; url: string },
  ) => Promise<Readonly<Record<string, string>>>;
  step?: (what: string) => void;
}

export interface Cluster extends AsyncDisposable {
  /** Its address is that of the balancer. */
  readonly system: System;
  readonly postgres: PostgresServer;
  readonly replicas: (Replica | undefined)[];
  /** Rows of the database. */
  query<Row extends object>(text: string): Promise<Row[]>;
  /** Ends a replica at once; `startReplica` puts another in its place. */
  kill(place: number): Promise<void>;
  startReplica(place: number): Promise<void>;
}

/** Starts it all; what it made is gone when it is disposed, except the logs. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { folder, step = () => {} } = options;
  await using stack = new AsyncDisposableStack();
  mkdirSync(folder, { recursive: true });

  step('starting PostgreSQL');
  const postgres = stack.use(await startPostgres({ isDurable: true, ...options.postgres }));
  await postgres.query(`create database ${database}`);
  step('starting an S3-compatible store');
  const store = new S3rver({
    ...{ port: 0, address: '127.0.0.1', silent: true, directory: join(folder, 's3') },
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port: storePort } = await store.run();
  stack.defer(() => store.close());
  step('starting a balancer without affinity');
  const balancer = stack.use(await startBalancer(options.port ?? 0));
  step('making the tables and a key');
  const url = postgres.url(database);
  const system = stack.use(
    await System.open({
      ...{ folder, isAttended: true, isServing: false, url: balancer.url },
      settings: {
        ...{ DATABASE_URL: url, DATABASE_FILE: '', PUBLIC_URL: balancer.url },
        ENCRYPTION_KEY: 'a-key-of-this-cluster-alone-0123456789abcdef',
        ARTIFACTS_S3_BUCKET: bucket,
        ARTIFACTS_S3_ENDPOINT: `http://127.0.0.1:${storePort}`,
        ARTIFACTS_S3_ACCESS_KEY_ID: 'S3RVER',
        ARTIFACTS_S3_SECRET_ACCESS_KEY: 'S3RVER',
        OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
      },
    }),
  );
  const replicas: (Replica | undefined)[] = [];
  const cluster: Cluster = {
    ...{ system, postgres, replicas },
    query: (text) => postgres.query(text, database),
    async kill(place) {
      const replica = replicas[place];
      replicas[place] = undefined;
      await replica?.program.kill9();
    },
    async startReplica(place) {
      const port = await freePort();
      const settings = await options.settingsOf?.(place, { port: postgres.port, url });
      const program = await system.startReplica(port, settings, `replica-${place + 1}`);
      await program.answers(`http://127.0.0.1:${port}/-/readiness`);
      replicas[place] = { port, program };
      balancer.leadTo(replicas.flatMap((replica) => replica?.port ?? []));
    },
    [Symbol.asyncDispose]: async () => {},
  };
  step(`starting ${options.replicas} replicas of the control plane`);
  const places = Array.from({ length: options.replicas }, (_none, place) => place);
  await Promise.all(places.map(cluster.startReplica));
  const opened = stack.move();
  return { ...cluster, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
