/**
 * Storage quotas of agents per hour: results, bytes of results, files and bytes of files, for each
 * location and each account (four times that of a location). A request beyond the quota gets 429
 * before anything is stored, so that the agent keeps the data and tries again. Counters are in
 * memory and start anew with the process.
 */
import { ApiError } from '../errors/api-error.ts';
import type { Config } from './config.ts';

const locationsPerAccount = 4;
const mebibyte = 1_048_576;
const hourMs = 3_600_000;

/** The setting of the quota of a location, by what is stored. */
const bounds = {
  results: { setting: 'RESULTS_PER_HOUR', factor: 1 },
  resultBytes: { setting: 'RESULT_MIB_PER_HOUR', factor: mebibyte },
  files: { setting: 'FILES_PER_HOUR', factor: 1 },
  fileBytes: { setting: 'FILE_MIB_PER_HOUR', factor: mebibyte },
} as const;

export type Usage = Partial<Record<keyof typeof bounds, number>>;
export type QuotaSettings = Pick<Config, (typeof bounds)[keyof typeof bounds]['setting']>;

/** Free quota at an instant of the monotonic clock; it refills within an hour. */
interface Room {
  left: number;
  at: number;
}

export class Quotas {
  readonly #settings: QuotaSettings;
  readonly #monotonic: () => number;
  readonly #share: () => number;
  readonly #rooms = new Map<string, Room>();

  /** `share` is the part of each quota that this replica may give, in (0, 1]. */
  constructor(settings: QuotaSettings, monotonic: () => number, share: () => number = () => 1) {
    this.#settings = settings;
    this.#monotonic = monotonic;
    this.#share = share;
  }

  /** Takes quota for all of it, or throws 429 with `retry-after`. */
  take(accountId: string, location: string, usage: Usage): void {
    const owners: [string, string, number][] = [
      [`${accountId}/${location}`, `location ${location}`, 1],
      [accountId, 'account', locationsPerAccount],
    ];
    const taken: [Room, number][] = [];
    for (const [what, amount = 0] of Object.entries(usage) as [keyof typeof bounds, number][]) {
      const { setting, factor } = bounds[what];
      const perHour = this.#settings[setting] * factor * this.#share();
      if (perHour === 0) continue;
      for (const [owner, name, share] of owners) {
        const room = this.#roomOf(`${what} ${owner}`, perHour * share);
        // An item that is larger than the quota passes when the whole quota is free.
        const needed = Math.min(amount, perHour * share);
        if (room.left < needed) {
          const waitMs = ((needed - room.left) / (perHour * share)) * hourMs;
          throw beyond(name, setting, Math.max(1, Math.ceil(waitMs / 1000)));
        }
        taken.push([room, amount]);
      }
    }
    for (const [room, amount] of taken) room.left -= amount;
  }

  #roomOf(key: string, perHour: number): Room {
    const now = this.#monotonic();
    let room = this.#rooms.get(key);
    if (room === undefined) {
      room = { left: perHour, at: now };
      this.#rooms.set(key, room);
    }
    room.left = Math.min(perHour, room.left + ((now - room.at) / hourMs) * perHour);
    room.at = now;
    return room;
  }
}

function beyond(name: string, setting: string, retryAfterSeconds: number): ApiError {
  return new ApiError(
    'TOO_MANY_REQUESTS',
    `the quota of the ${name} is used up (${setting}); try again in ${retryAfterSeconds} seconds`,
    { retryAfterSeconds, quota: setting },
  );
}
