/**
 * Every way into the control plane and out of it, with what bounds it. The limits are read from here, and what
 * has no row does not compile: `app/compose.ts` mounts the ways of HTTP by name, `http/implement.ts` asks by
 * authentication. `test/control-plane/core/doors.test.ts` looks for sockets, signals, commands and connections
 * that are not named here.
 */
import type { RateLimit, RouteAuthentication } from '@monitor/shared/contract/route.ts';

/** Who chose an address that is connected to: each class has its own rule and connections of its own. */
export type EgressClass = 'operator' | 'customer' | 'visitor';

const per = (requests: number, seconds: number): RateLimit => ({ requests, seconds });

interface Door {
  /** Limits by the address of the client, and by who or what the request names. */
  address: Readonly<Record<string, RateLimit>>;
  account: Readonly<Record<string, RateLimit>>;
  /** Settings that bound what it may store. */
  quota: readonly string[];
  /** Classes of connections that it can cause. */
  egress: readonly EgressClass[];
  logged: string;
}

const door = <const D extends Partial<Door>>(bounds: D & { logged: string }) => ({
  ...{ address: {}, account: {}, quota: [], egress: [] },
  ...bounds,
});

/** Routes of the API, in multiples of REQUESTS_PER_MINUTE; those of the contract go before. */
export const routeDoors = {
  apiKey: {
    times: { key: 1, refusals: 1 },
    ...door({
      // Refusals of one key, person or agents' key in the audit log.
      account: { notedRefusals: per(60, 3_600) },
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
  'app/openid.ts': 'operator',
  'db/postgres.ts': 'operator',
  'notifications/mailer.ts': 'operator',
  'notifications/outgoing.ts': 'by its caller',
  'results/artifacts/s3-store.ts': 'operator',
  // Names only, from the resolvers of the operator.
  'status-pages/status-page-domains.ts': 'customer',
};

/** Files that listen, by what for. */
export const ports: Readonly<Record<string, string>> = {
  'app/compose.ts': 'PORT',
  'app/serve-metrics.ts': 'METRICS_PORT, with METRICS_TOKEN where it is set',
};

/** Signals, and the files that take them. */
export const signals: Readonly<Record<string, readonly string[]>> = {
  'app/commands/file-in-the-making.ts': ['SIGINT', 'SIGTERM'],
  'app/commands/serve-until-stopped.ts': ['SIGTERM', 'SIGINT'],
};
