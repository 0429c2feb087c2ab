/**
 * Every way into the control plane and out of it, with what bounds it. The limits are read from here, and what
 * has no row does not compile: `app/serve-all.ts` mounts the ways of HTTP by name, `http/serve-route.ts` asks by
 * authentication. `test/control-plane/core/doors.test.ts` looks for sockets, signals, commands and connections
 * that are not named here.
 */
import type { RateLimit, RouteAuthentication } from '@monitor/shared/contract/route.ts';
import {
  command,
  commonCommands,
  door,
  MiB,
  type CommandDoor,
  type Door,
  type EgressClass,
} from '@monitor/shared/doors.ts';

export type { EgressClass };

const per = (requests: number, seconds: number): RateLimit => ({ requests, seconds });

/** Routes of the API, in multiples of REQUESTS_PER_MINUTE; those of the contract go before. */
export const routeDoors = {
  apiKey: {
    times: { key: 1, refusals: 1 },
    ...door({
      // Of one key, person or agents' key in the audit log: refusals, and what tools read.
      account: { notedRefusals: per(60, 3_600), notedReads: per(3_000, 3_600) },
      quota: ['BUNDLE_MIB'],
      egress: ['customer', 'operator'],
      logged: 'changes and refusals, in the audit log',
    }),
  },
  locationKey: {
    // About a hundred agents have one key. A busy agent polls and submits thirty times a second: one whose
    // check-ins are delayed by a limit would count as gone.
    times: { key: 100, agent: 10, refusals: 1 },
    ...door({
      // Each new agent adds a row.
      account: { arrivals: per(5_000, 3_600) },
      quota: ['RESULTS_PER_HOUR', 'RESULT_MIB_PER_HOUR', 'FILES_PER_HOUR', 'FILE_MIB_PER_HOUR'],
      logged: 'refusals, in the audit log',
    }),
  },
  none: {
    // Visitors behind an untrusted proxy share one address.
    times: { address: 10, refusals: 1 },
    ...door({ logged: 'nothing' }),
  },
} satisfies Record<RouteAuthentication, Door & { times: Readonly<Record<string, number>> }>;

/** Ways of HTTP beside the API, in the order in which they are asked. */
export const doors = {
  traceViewer: door({ logged: 'nothing' }),
  health: door({ logged: 'nothing' }),
  statusPages: door({
    address: {
      // As many look-ups as an office behind one address needs; cached documents are free.
      lookUps: per(3_000, 60),
      passwords: per(10, 900),
    },
    account: { passwordsOfPage: per(600, 900) },
    egress: ['visitor', 'operator'],
    logged: 'subscriptions, without addresses',
  }),
  api: door({ logged: 'see routeDoors' }),
  session: door({
    address: {
      // Higher: a whole office behind one address goes home at the same time.
      signOuts: per(300, 60),
      // At each route, so that one shuts nobody out of another.
      signIns: per(30, 60),
      resets: per(10, 3_600),
      // About one person. Devices in which they have signed in are counted apart, each and all: strangers
      // cannot use up their tries.
      guesses: per(10, 900),
    },
    account: {
      guessesOfAll: per(100, 900),
      // Of a million codes three are valid at a time, and only who knows the password may guess.
      codes: per(10, 900),
      passwords: per(10, 900),
      resets: per(3, 3_600),
      answersOfProvider: per(3, 600),
      usesOfLink: per(30, 60),
      // Refused sign-ins, of a person or a key, and of all addresses that are nobody's: guesses must neither
      // fill the log, nor hide those about others.
      noted: per(60, 3_600),
      notedOfNobody: per(600, 3_600),
    },
    egress: ['operator'],
    logged: 'each sign-in and refusal, in the audit log',
  }),
  // Each call of a tool is a request to the API as well.
  mcp: door({
    address: { refusals: per(600, 60) },
    account: { messages: per(120, 60) },
    logged: 'each call of a tool, in the audit log',
  }),
  // Between authorization and token a person consents, by the API.
  oauth: door({
    address: { registrations: per(600, 3_600), authorizations: per(600, 60), tokens: per(600, 60) },
    logged: 'each key that a client gets, in the audit log',
  }),
  events: door({ logged: 'nothing' }),
  alertLinks: door({ address: { uses: per(300, 60) }, logged: 'uses, in the audit log' }),
  console: door({ logged: 'nothing' }),
  docs: door({ logged: 'nothing' }),
  guide: door({ logged: 'nothing' }),
} satisfies Record<string, Door>;

/** WebSockets of clients that wait for results. `address` and `strangers`: without a proved key. */
export const brokerConnections = { account: 200, process: 2_000, address: 50, strangers: 200 };

/** Files that open connections, and by whose choice of the address. */
export const egress: Readonly<Record<string, EgressClass | 'by its caller'>> = {
  'app/commands/account-api.ts': 'operator',
  'sign-in/openid.ts': 'operator',
  'db/postgres.ts': 'operator',
  'notifications/mailer.ts': 'operator',
  'integrity/ping-watcher.ts': 'operator',
  'notifications/outgoing.ts': 'by its caller',
  'results/artifacts/s3-store.ts': 'operator',
  // Names only, from the resolvers of the operator.
  'status-pages/status-page-domains.ts': 'customer',
};

/** Files that listen, by what for. */
export const ports: Readonly<Record<string, string>> = {
  'app/listen.ts': 'PORT',
  'app/commands/sign-deployments.ts':
    'a free one of this machine alone, with a key for the one client',
  'app/serve-metrics.ts': 'METRICS_PORT, with METRICS_TOKEN where it is set',
};

/** Signals, and the files that take them. */
export const signals: Readonly<Record<string, readonly string[]>> = {
  // Taken and ignored: it would open a debugger.
  '../shared/private-files.ts': ['SIGUSR1'],
  'app/commands/file-in-the-making.ts': ['SIGINT', 'SIGTERM'],
  'app/commands/serve-until-stopped.ts': ['SIGTERM', 'SIGINT'],
  // For the client that it runs.
  'app/commands/sign-deployments.ts': ['SIGINT', 'SIGTERM'],
};

const audited = { logged: 'in the audit log of the account' };
/** Through the API, with a key of an account, which the API bounds and logs. */
const byKey = { egress: ['operator'], logged: 'by the API, as calls of the key' } as const;

/** Commands, each with the name of its group. `app/program.ts` does not compile with one that is not here. */
export const commandDoors = {
  serve: command({ egress: ['operator', 'customer', 'visitor'], logged: 'its own log' }),
  migrate: command({ logged: 'on the terminal' }),
  // Files of a database are read in pieces, and looked at as a whole before they take another's place.
  backup: command({}),
  restore: command({}),
  move: command({ egress: ['operator'] }),
  verify: command({}),
  salvage: command({}),
  'keys create': command(audited),
  'keys create-location': command(audited),
  'keys list': command({}),
  'keys revoke': command(audited),
  'keys rotate-encryption': command({}),
  'accounts create': command({}),
  'accounts list': command({}),
  'accounts set': command(audited),
  'people first': command({}),
  'people invite': command(audited),
  'people list': command({}),
  'people reset': command(audited),
  export: command({ reads: { fileBytes: 16 * MiB, files: 20_000 }, ...byKey }),
  apply: command({ reads: { fileBytes: 16 * MiB, files: 20_000, envBytes: MiB }, ...byKey }),
  // A project, and code bundles on their way.
  sign: command({ reads: { projectBytes: 20 * MiB }, ...byKey }),
  // Configurations are far smaller: what is larger was named by mistake.
  import: command({ reads: { fileBytes: 64 * MiB, files: 2_000 }, ...byKey }),
  // Answers of the other side have bounds of their own: `shadow/source-api.ts`.
  'import checkly': command({ reads: { keyBytes: 4_096 }, ...byKey }),
  'shadow start': command({ reads: { keyBytes: 4_096 }, ...byKey }),
  'shadow show': command(byKey),
  'shadow stop': command(byKey),
  destroy: command(byKey),
  // As long as the library lets a message be.
  mcp: command({ reads: { messageBytes: 10 * MiB }, ...byKey }),
  ...commonCommands,
} satisfies Record<string, CommandDoor>;

/** Files of commands that read what others may have written, and for which of them. */
export const readers: Readonly<Record<string, readonly (keyof typeof commandDoors)[]>> = {
  'app/commands/apply-folder.ts': ['apply'],
  'app/commands/compare-verdicts.ts': ['import checkly', 'shadow start'],
  'app/commands/import-files.ts': ['import'],
  // An answer on the terminal.
  'app/commands/restore.ts': ['restore'],
  'app/commands/speak-mcp.ts': ['mcp'],
  'as-code/folder.ts': ['apply', 'export'],
};
