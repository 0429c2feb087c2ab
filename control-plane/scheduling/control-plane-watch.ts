/** What agents of an account are given to watch the control plane; see `agent/control-plane-watch`. */
import { createHash } from 'node:crypto';
import type { Clock } from '@monitor/shared/clock.ts';
import { capabilities } from '@monitor/shared/contract/agent-protocol.ts';
import { maxPeers, type ControlPlaneWatch } from '@monitor/shared/contract/control-plane-watch.ts';
import { fromJson } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import type { IdKeys } from './id-keys.ts';

type Messages = ControlPlaneWatch['messages'];

/** A change of a channel or of the set of agents reaches agents after this, and a check-in. */
const freshMs = 30_000;

interface WatchesParts {
  db: Db;
  clock: Pick<Clock, 'monotonic' | 'now'>;
  ids: IdKeys;
  awayAfterMs: number;
  /** As they are when they are made at an instant. */
  messagesOf: (accountId: string, at: number) => Promise<Messages>;
}

interface OfAccount {
  until: number;
  made: Promise<ControlPlaneWatch | null>;
}

export class ControlPlaneWatches {
  readonly #parts: WatchesParts;
  readonly #known = new Map<string, OfAccount>();

  constructor(parts: WatchesParts) {
    this.#parts = parts;
  }

  /**
   * What an agent is to be given that holds something with a digest: undefined where nothing has changed,
   * null where it has to forget it. An agent is no peer of itself.
   */
  async newsFor(
    { accountId, agentId }: { accountId: string; agentId: string },
    held: string | null,
  ): Promise<ControlPlaneWatch | null | undefined> {
    const ofAccount = await this.#of(accountId);
    if (ofAccount === null) return held === null ? undefined : null;
    if (ofAccount.digest === held) return undefined;
    const peers = ofAccount.peers.filter((peer) => peer.agentId !== agentId);
    return { ...ofAccount, peers };
  }

  #of(accountId: string): Promise<ControlPlaneWatch | null> {
    const now = this.#parts.clock.monotonic();
    const known = this.#known.get(accountId);
    if (known !== undefined && now < known.until) return known.made;
    const made = this.#make(accountId);
    this.#known.set(accountId, { until: now + freshMs, made });
    // A failure is that of this call, and the next one tries again.
    made.catch(() => this.#known.delete(accountId));
    return made;
  }

  async #make(accountId: string): Promise<ControlPlaneWatch | null> {
    const { db, clock, ids, awayAfterMs, messagesOf } = this.#parts;
    const messages = await messagesOf(accountId, clock.now());
    if (messages.length === 0) return null;
    const rows = await ownRows(db, 'agents', accountId)
      .where('gone_at', 'is', null)
      .orderBy('id')
      .limit(maxPeers)
      .execute();
    const peers = rows.flatMap(({ id, capabilities_json: json }) => {
      const { data } = capabilities.safeParse(fromJson(json));
      return data?.peer === undefined ? [] : [{ agentId: id, ...data.peer }];
    });
    // No location is called so.
    const key = ids.keyOf(accountId, 'watch of the control plane');
    const content = { awayAfterMs, key, peers, messages };
    // Instants in messages and their signatures differ each time they are made: they are no change.
    const stable = { ...content, messages: await messagesOf(accountId, 0) };
    const digest = createHash('sha256').update(JSON.stringify(stable)).digest('hex');
    return { digest, ...content };
  }
}
