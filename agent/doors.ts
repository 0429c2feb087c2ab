/**
 * Every way into the agent, with what bounds it. `program.ts` does not compile with a command that has no row;
 * `test/agent/doors.test.ts` looks for sockets, processes, signals, folders and files that are not named here.
 */
import {
  command,
  commonCommands,
  door,
  MiB,
  type CommandDoor,
  type Door,
} from '@monitor/shared/doors.ts';

interface AgentDoor extends Door {
  /** Where it is opened. */
  files: readonly string[];
  /** Who reaches it. */
  reachedBy: string;
  probes?: Readonly<Record<'atOnce' | 'waiting' | 'longestMs', number>>;
}

export const doors = {
  healthPort: {
    files: ['status/probes.ts'],
    reachedBy:
      'any client that reaches AGENT_HEALTH_HOST and AGENT_HEALTH_PORT; nothing is changed by it',
    // Scrapes of /probe where PROBE_ENDPOINT opens it; more in line would only be late.
    probes: { atOnce: 32, waiting: 128, longestMs: 120_000 },
    ...door({ egress: ['visitor'], logged: 'probes, at debug' }),
  },
  /** Asks whether another program listens there, and hangs up. */
  portOfDoctor: {
    files: ['doctor/steps/health-port.ts'],
    reachedBy: 'as the health port, while doctor looks',
    ...door({ logged: 'nothing' }),
  },
  statusSocket: {
    files: ['status/status-socket.ts'],
    reachedBy: 'the user of the agent, by the modes of the socket and its folder',
    ...door({ logged: 'marks of support bundles' }),
  },
  /** The proxy of browsers and scripts. */
  gateway: {
    files: ['net/gateway/gateway.ts'],
    reachedBy: 'processes of the run that it was opened for, by their user or their descent',
    ...door({ egress: ['customer'], logged: 'in the log of the run' }),
  },
  /** Names that say which user of runs is taken. What connects is hung up on. */
  usersOfRuns: {
    files: ['script-host/user-ids.ts'],
    reachedBy: 'any process of the machine',
    ...door({ logged: 'nothing' }),
  },
  /** Pipes of a run, whose code is of customers. */
  runs: {
    files: ['script-host/launch.ts', 'script-host/run-watch.ts'],
    reachedBy: 'the process that was started, and what it starts',
    ...door({ quota: ['SCRIPT_MEMORY_MB'], egress: ['customer'], logged: 'in the log of the run' }),
  },
  /** A pair of sockets, over which raw sockets come. */
  socketHelper: {
    files: ['native/socket-helper.ts'],
    reachedBy: 'the helper that was started, which holds the other end',
    ...door({ egress: ['customer'], logged: 'its failure' }),
  },
  /** Output of programs of the operator: npm, and checks that `run` is given as modules. */
  programs: {
    files: ['commands/run/check-module.ts', 'runtimes/npm.ts'],
    reachedBy: 'the process that was started',
    ...door({ egress: ['operator'], logged: 'on the terminal, and its failure' }),
  },
} satisfies Record<string, AgentDoor>;

/** Signals, and the files that take them. */
export const signals: Readonly<Record<string, readonly string[]>> = {
  // Taken and ignored: it would open a debugger.
  '../shared/private-files.ts': ['SIGUSR1'],
  'commands/run/run-checks.ts': ['SIGINT'],
  'commands/serve-location.ts': ['SIGINT', 'SIGTERM'],
  'commands/traceroute.ts': ['SIGINT'],
};

/** Settings that name folders and files, and who may write what is read from them. */
export const folders: Readonly<Record<string, string>> = {
  AGENT_DATA_DIR: 'the user of the agent; made private at each start; bounded by OUTBOX_MAX_BYTES',
  AGENT_RUNTIMES_DIR: 'the user of the agent; each file is compared with its lock',
  AGENT_WORK_DIR: 'the user of the agent; what runs write there is read as files of customers',
  AGENT_CHROMIUM_PATH: 'the operator',
  NODE_EXTRA_CA_CERTS: 'the operator',
  PROBE_CONFIG_FILE: 'the operator',
  SIGNED_WORK_POLICY_FILE: 'the operator',
};

/** Commands, each with the name of its group. */
export const commandDoors = {
  start: command({ egress: ['operator', 'customer', 'visitor'], logged: 'its own log' }),
  run: command({
    reads: { checkBytes: 16 * MiB, envBytes: MiB },
    ...{ egress: ['customer'], logged: 'on the terminal' },
  }),
  'runtime install': command({ egress: ['operator'], logged: 'on the terminal' }),
  'runtime list': command({}),
  'runtime remove': command({}),
  'runtime verify': command({}),
  doctor: command({ egress: ['operator'], logged: 'on the terminal' }),
  status: command({}),
  'support-bundle': command({ egress: ['operator'], logged: 'in the bundle' }),
  'encryption-key': command({}),
  decrypt: command({ reads: { keyBytes: MiB, jsonBytes: 256 * MiB } }),
  traceroute: command({ egress: ['operator'], logged: 'on the terminal' }),
  ...commonCommands,
} satisfies Record<string, CommandDoor>;

/** Files of commands that read what others may have written, and for which of them. */
export const readers: Readonly<Record<string, readonly (keyof typeof commandDoors)[]>> = {
  'commands/decrypt.ts': ['decrypt'],
  'commands/run/path-aliases.ts': ['run'],
  'commands/run/read-check.ts': ['run'],
  'commands/run/run-checks.ts': ['run'],
  'commands/run/script-files.ts': ['run'],
  // The end of its input, as that of the program that has started it.
  'commands/serve-location.ts': ['start'],
};
