/** The rows of the tables of doors: `agent/doors.ts` and `control-plane/core/doors.ts`. */
import type { RateLimit } from './contract/route.ts';

/** Who chose an address that is connected to: each class has its own rule and connections of its own. */
export type EgressClass = 'operator' | 'customer' | 'visitor';

export interface Door {
  /** Limits by the address of the client, and by who or what the request names. */
  address: Readonly<Record<string, RateLimit>>;
  account: Readonly<Record<string, RateLimit>>;
  /** Settings that bound what it may store. */
  quota: readonly string[];
  /** Classes of connections that it can cause. */
  egress: readonly EgressClass[];
  logged: string;
}

export const door = <const D extends Partial<Door>>(bounds: D & { logged: string }) => ({
  ...{ address: {}, account: {}, quota: [], egress: [] },
  ...bounds,
});

/** A command: it is started by a user of this machine, so it has no limits by address or account. */
export interface CommandDoor {
  /** The most that it takes of each file or stream that may come from others. */
  reads: Readonly<Record<string, number>>;
  egress: readonly EgressClass[];
  logged: string;
}

export const command = <const D extends Partial<CommandDoor>>(bounds: D) => ({
  ...{ reads: {}, egress: [], logged: 'nothing' },
  ...bounds,
});

export const MiB = 1_048_576;

/** Commands that both programs have. */
export const commonCommands = {
  'completion bash': command({}),
  'completion fish': command({}),
  'completion zsh': command({}),
  proof: command({ egress: ['operator'], logged: 'in its own folder' }),
  version: command({}),
};

/** Names of commands; those of a group have the name of the group before their own. */
export type FirstWord<Name> = Name extends `${infer First} ${string}` ? First : Name;
