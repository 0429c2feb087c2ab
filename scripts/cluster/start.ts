/** A cluster on this machine: PostgreSQL, an S3 store, a balancer and replicas of the control plane. */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import S3rver from 's3rver';
import { freePort } from '../../proof/program.ts';
import { startProgram, untilAnswering, type RunningProgram } from '../demo/processes.ts';
import { startBalancer, type Balancer } from '../../proof/balancer.ts';
import { startPostgres, type PostgresOptions, type PostgresServer } from './postgres.ts';

const bucket = 'monitor';
const database = 'monitor';

export interface Replica {
  readonly name: string;
  readonly port: number;
  readonly program: RunningProgram;
}

export interface ClusterOptions {
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
  readonly url: string;
  readonly apiKey: string;
  readonly accountId: string;
  readonly postgres: PostgresServer;
  readonly balancer: Balancer;
  readonly replicas: (Replica | undefined)[];
  /** Rows of the database. */
  query<Row extends object>(text: string): Promise<Row[]>;
  /** Runs a command of the control plane, and gives its JSON. */
  command(args: readonly string[]): Promise<Record<string, string>>;
  /** Ends a replica at once; `startReplica` puts another in its place. */
  kill(place: number): Promise<void>;
  startReplica(place: number): Promise<void>;
  startAgent(
    name: string,
    key: string,
    settings?: Readonly<Record<string, string>>,
  ): RunningProgram;
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
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(folder, 's3'),
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port: storePort } = await store.run();
  stack.defer(() => store.close());
  step('starting a balancer without affinity');
  const balancer = stack.use(await startBalancer(options.port ?? 0));

  const environment = {
    DATABASE_URL: postgres.url(database),
    ENCRYPTION_KEY: 'a-key-of-this-cluster-alone-0123456789abcdef',
    PUBLIC_URL: balancer.url,
    ARTIFACTS_S3_BUCKET: bucket,
    ARTIFACTS_S3_ENDPOINT: `http://127.0.0.1:${storePort}`,
    ARTIFACTS_S3_ACCESS_KEY_ID: 'S3RVER',
    ARTIFACTS_S3_SECRET_ACCESS_KEY: 'S3RVER',
    OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
    REQUESTS_PER_MINUTE: '0',
  };
  const command = async (args: readonly string[]): Promise<Record<string, string>> => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['control-plane/control-plane.js', ...args, '--json'],
      { env: { ...process.env, ...environment } },
    );
    return JSON.parse(stdout) as Record<string, string>;
  };
  step('making the tables and a key');
  const owner = await command(['keys', 'create', '--name', 'cluster']);

  const replicas: (Replica | undefined)[] = [];
  const started: RunningProgram[] = [];
  let isOver = false;
  stack.defer(async () => {
    isOver = true;
    await Promise.all(started.map((program) => program.stop()));
  });
  const start = (
    name: string,
    args: string[],
    settings: Readonly<Record<string, string>>,
  ): RunningProgram => {
    // A replica may be about to start when another one has failed.
    if (isOver) throw new Error(`${name} was not started: the cluster has ended`);
    const program = startProgram({
      name,
      command: args,
      environment: { ...settings },
      logFile: join(folder, `${name}.log`),
    });
    started.push(program);
    return program;
  };
  const leadToAll = (): void => {
    balancer.leadTo(replicas.flatMap((replica) => (replica === undefined ? [] : [replica.port])));
  };

  const cluster: Cluster = {
    url: balancer.url,
    apiKey: owner['rawKey'] ?? '',
    accountId: owner['accountId'] ?? '',
    postgres,
    balancer,
    replicas,
    command,
    query: (text) => postgres.query(text, database),
    async kill(place) {
      const replica = replicas[place];
      replicas[place] = undefined;
      replica?.program.signal('SIGKILL');
      await replica?.program.ended;
    },
    async startReplica(place) {
      const port = await freePort();
      const settings = await options.settingsOf?.(place, {
        port: postgres.port,
        url: environment.DATABASE_URL,
      });
      const name = `replica-${place + 1}`;
      const program = start(name, ['control-plane/control-plane.js', 'serve'], {
        ...environment,
        PORT: String(port),
        ...settings,
      });
      await untilAnswering(`http://127.0.0.1:${port}/-/readiness`, program);
      replicas[place] = { name, port, program };
      leadToAll();
    },
    startAgent: (name, key, settings = {}) =>
      start(name, ['agent/monitor-agent.js', 'start'], {
        API_KEY: key,
        CONTROL_PLANE_URL: balancer.url,
        AGENT_HEALTH_PORT: '0',
        AGENT_HEALTH_HOST: '127.0.0.1',
        AGENT_DATA_DIR: join(folder, name),
        ...settings,
      }),
    [Symbol.asyncDispose]: async () => {},
  };
  step(`starting ${options.replicas} replicas of the control plane`);
  await Promise.all(
    Array.from({ length: options.replicas }, (_none, place) => cluster.startReplica(place)),
  );
  const opened = stack.move();
  return { ...cluster, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
