/**
 * Sends the rows of the outbox. A row is claimed, sent outside of any transaction, and deleted in the
 * transaction that records the outcome: after a crash it is sent again with the same id, and by
 * another replica when the claim has ended. The number of concurrent requests is limited in total,
 * per channel, per account and per host; replicas share these limits. A row that cannot be delivered
 * delays only later rows with the same ordering key.
 */
import type { Logger } from 'pino';
import { sleep } from '@monitor/shared/clock.ts';
import { databaseFailure } from '../db/failure.ts';
import type { Db } from '../db/tables.ts';
import {
  channelOf,
  claimRows,
  correctDueTimes,
  dueRows,
  isShared,
  nextDueAt,
  recordOutcome,
  recordRetry,
  type OutboxRow,
} from './outbox-rows.ts';
import type { Services } from '../core/services.ts';
import { afterAttempt, cannotBeSent, maxPauseMs, type Attempt } from './attempt.ts';
import { deliveryOf, type Delivery, type Recipient, type SharedTransports } from './deliver.ts';
import { openTransports, type NotifySettings } from './open-transports.ts';
import type { Resolve } from './outgoing.ts';
import { noteSent } from './push-devices.ts';

const maxAtOnce = 32;
/** Leaves room for other accounts while all hosts of one account hang. */
const maxPerAccount = 24;
const maxPerChannel = 4;
const maxPerDestination = 8;
const rowsAtOnce = 50;
/** Upper bound of the delay if a wake-up were lost. */
const maxSleepMs = 30_000;
/** The same beside other replicas: they wake this one, but may die before they send. */
const maxSleepBesideOthersMs = 1_000;
/** A claim lasts this much longer than an attempt. */
const claimedBeyondMs = 30_000;
/** Pause after an outcome could not be recorded. */
const pauseAfterFaultMs = 5_000;
const maxPauseBetweenLooksMs = 100;
const endWithinMs = 5_000;

export interface DeliveryParts {
  services: Services;
  config: NotifySettings;
  /** Resolves host names of customers; the system resolver by default. */
  resolve?: Resolve;
  onWebhook?: WebhookConsumer;
}

/** In the transaction that records the outcome of a request to a subscriber. */
export type WebhookConsumer = (
  db: Db,
  webhook: { accountId: string; subscriptionId: string; isDelivered: boolean; now: number },
) => Promise<void>;

interface OnItsWay {
  accountId: string;
  /** As `channelOf` gives it. */
  channelId: number;
  destination: string;
  done: Promise<void>;
}

/** A row within the limits, before it is claimed. */
interface Ready {
  row: OutboxRow;
  delivery: Delivery;
  recipient: Recipient;
}

class OutboxSender {
  readonly #services: Services;
  readonly #transports: SharedTransports;
  readonly #logger: Logger;
  readonly #onWebhook: WebhookConsumer;
  /** By `seq`. */
  readonly #onItsWay = new Map<number, OnItsWay>();
  readonly #stopping = new AbortController();
  #isLooking = false;
  #looking = Promise.resolve();
  #mustLookAgain = false;
  #willLookSoon = false;
  /** Duration of the last query for due rows. */
  #tookMs = 0;
  #cancelTimer: () => void = () => {};
  /** Known destinations of channels, so that rows for busy hosts are not read. */
  #seenDestinations = new Map<number, string>();
  #forgetDestinationsAt = 0;

  constructor(services: Services, transports: SharedTransports, onWebhook: WebhookConsumer) {
    this.#services = services;
    this.#onWebhook = onWebhook;
    this.#transports = transports;
    this.#logger = services.logger.child({ subsystem: 'deliveries' });
  }

  /** Starts due deliveries within the limits, and sets the timer for the next due row. */
  async look(): Promise<void> {
    if (this.#isLooking) this.#mustLookAgain = true;
    else if (!this.#stopping.signal.aborted) await (this.#looking = this.#look());
  }

  /**
   * Combines the queries of deliveries that end at about the same time, and limits them to half of
   * the time. A query during which the process stood still says nothing of the next one.
   */
  #lookSoon(): void {
    if (this.#tookMs === 0) void this.look();
    if (this.#tookMs === 0 || this.#willLookSoon) return;
    this.#willLookSoon = true;
    this.#services.clock.after(Math.min(this.#tookMs, maxPauseBetweenLooksMs), () => {
      this.#willLookSoon = false;
      void this.look();
    });
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    const { db, clock, reception, replicas } = this.#services;
    const begunAt = clock.monotonic();
    let lookAt = clock.now() + (replicas.isAlone ? maxSleepMs : maxSleepBesideOthersMs);
    try {
      // Claims do not count the time of a gap, which is recorded first.
      if (replicas.isInDoubt) await reception.recorded();
      do {
        this.#mustLookAgain = false;
        await correctDueTimes(this.#services, clock.now(), maxPauseMs);
        await this.#startDue();
      } while (this.#mustLookAgain && !this.#stopping.signal.aborted);
      lookAt = Math.min(lookAt, (await nextDueAt(db, clock.now())) ?? Infinity);
    } catch (error) {
      if (!this.#services.writes.noteFailure(error)) {
        this.#logger.error({ err: error }, 'the outbox could not be read');
      }
      lookAt = clock.now() + pauseAfterFaultMs;
    }
    this.#isLooking = false;
    this.#tookMs = clock.monotonic() - begunAt;
    this.#cancelTimer();
    if (this.#stopping.signal.aborted) return;
    const waitMs = lookAt - clock.now();
    if (this.#mustLookAgain || waitMs <= 0) void this.look();
    else this.#cancelTimer = clock.after(waitMs, () => void this.look());
  }

  #count(which: (each: OnItsWay) => boolean): number {
    return [...this.#onItsWay.values()].filter(which).length;
  }

  /** Channels whose known destination is busy. The cache is short-lived, because destinations change. */
  #channelsOfBusyHosts(): number[] {
    const { clock } = this.#services;
    if (clock.monotonic() >= this.#forgetDestinationsAt) {
      this.#seenDestinations = new Map();
      this.#forgetDestinationsAt = clock.monotonic() + maxSleepMs;
    }
    const places = new Map<string, number>();
    for (const { destination } of this.#onItsWay.values()) {
      places.set(destination, (places.get(destination) ?? 0) + 1);
    }
    const isBusy = ([, destination]: [number, string]): boolean =>
      (places.get(destination) ?? 0) >= this.#share(maxPerDestination);
    return [...this.#seenDestinations].filter(isBusy).map(([channelId]) => channelId);
  }

  /** What this replica may use of a limit. */
  #share(limit: number): number {
    return this.#services.replicas.share(limit);
  }

  get #isFull(): boolean {
    return this.#stopping.signal.aborted || this.#onItsWay.size >= this.#share(maxAtOnce);
  }

  async #startDue(): Promise<void> {
    const full = new Set<number>();
    const busy = new Set<string>();
    for (;;) {
      if (this.#isFull) return;
      for (const { accountId, channelId } of this.#onItsWay.values()) {
        if (this.#isBusy(accountId)) busy.add(accountId);
        if (isShared(channelId)) continue;
        if (this.#count((each) => each.channelId === channelId) >= this.#share(maxPerChannel)) {
          full.add(channelId);
        }
      }
      for (const channelId of this.#channelsOfBusyHosts()) full.add(channelId);
      const rows = await dueRows(this.#services.db, {
        now: this.#services.clock.now(),
        replicaId: this.#services.replicas.id,
        exceptSeqs: [...this.#onItsWay.keys()],
        exceptAccounts: [...busy],
        exceptChannels: [...full],
        limit: rowsAtOnce,
      });
      const recipientOf = await this.#recipientsOf(rows);
      const ready: Ready[] = [];
      for (const row of rows) {
        if (this.#isFull) break;
        if (this.#isBusy(row.account_id)) {
          busy.add(row.account_id);
          continue;
        }
        const recipient = recipientOf(row);
        const delivery = deliveryOf(this.#services, row, recipient);
        const channelId = channelOf(row);
        if (!isShared(channelId)) this.#seenDestinations.set(channelId, delivery.destination);
        const isFull =
          this.#count((each) => each.destination === delivery.destination) >=
            this.#share(maxPerDestination) ||
          this.#count((each) => each.channelId === channelId) >=
            this.#share(isShared(channelId) ? maxPerDestination : maxPerChannel);
        if (!isFull) ready.push(this.#reserve({ row, delivery, recipient }));
        else full.add(channelId);
      }
      await this.#claim(ready);
      if (rows.length < rowsAtOnce) return;
    }
  }

  #isBusy(accountId: string): boolean {
    return this.#count((each) => each.accountId === accountId) >= this.#share(maxPerAccount);
  }

  /** Counts it as on its way. */
  #reserve(ready: Ready): Ready {
    const { account_id: accountId, seq } = ready.row;
    const { destination } = ready.delivery;
    const of = { accountId, channelId: channelOf(ready.row), destination };
    this.#onItsWay.set(seq, { ...of, done: Promise.resolve() });
    return ready;
  }

  /**
   * Claims reserved rows and starts those that no other replica has. A claim that may end before
   * an attempt, because this process stood still, is not used: the row is claimed again.
   */
  async #claim(ready: readonly Ready[]): Promise<void> {
    const { db, clock, replicas } = this.#services;
    const claimed = new Map<number, { row: OutboxRow; startBy: number }>();
    try {
      for (const [timeoutMs, group] of Map.groupBy(ready, (each) => each.delivery.timeoutMs)) {
        const now = clock.now();
        const startBy = clock.monotonic() + claimedBeyondMs;
        const rows = await claimRows(
          db,
          group.map(({ row }) => row),
          { replicaId: replicas.id, now, until: now + timeoutMs + claimedBeyondMs },
        );
        for (const row of rows) claimed.set(row.seq, { row, startBy });
      }
    } finally {
      for (const { row, delivery, recipient } of ready) {
        const mine = claimed.get(row.seq);
        if (mine !== undefined && clock.monotonic() < mine.startBy) {
          this.#start(mine.row, delivery, recipient);
        } else {
          this.#onItsWay.delete(row.seq);
          if (mine !== undefined) this.#mustLookAgain = true;
        }
      }
    }
  }

  async #recipientsOf(rows: readonly OutboxRow[]): Promise<(row: OutboxRow) => Recipient> {
    const { db } = this.#services;
    const idsIn = (column: 'alert_channel_id' | 'device_id') =>
      [...new Set(rows.map((row) => row[column]))].filter((id) => id !== null);
    const [channelIds, deviceIds] = [idsIn('alert_channel_id'), idsIn('device_id')];
    const channels =
      channelIds.length === 0
        ? []
        : await db.selectFrom('alert_channels').selectAll().where('id', 'in', channelIds).execute();
    const devices =
      deviceIds.length === 0
        ? []
        : await db.selectFrom('push_devices').selectAll().where('id', 'in', deviceIds).execute();
    return (row) => ({
      channel: channels.find(({ id }) => id === row.alert_channel_id),
      device: devices.find(({ id }) => id === row.device_id),
    });
  }

  #start(row: OutboxRow, delivery: Delivery, { channel }: Recipient): void {
    const done = this.#deliver(row, delivery, channel?.config_json ?? null).finally(() => {
      this.#onItsWay.delete(row.seq);
      this.#lookSoon();
    });
    const of = { accountId: row.account_id, channelId: channelOf(row) };
    this.#onItsWay.set(row.seq, { ...of, destination: delivery.destination, done });
  }

  async #deliver(row: OutboxRow, delivery: Delivery, configJson: string | null): Promise<void> {
    const attempt = await this.#attempt(row, delivery);
    // Whether it arrived is unknown: it is sent again after the next start.
    if (this.#transports.signal.aborted && attempt.outcome !== 'delivered') return;
    const { clock, writes } = this.#services;
    for (;;) {
      try {
        await this.#record(row, delivery, attempt, configJson);
        return;
      } catch (error) {
        const isNoted = writes.noteFailure(error);
        const facts = { err: error, notificationId: row.id };
        const phrase = 'the outcome of a notification could not be written down';
        if (!isNoted) this.#logger.error(facts, phrase);
        await sleep(clock, pauseAfterFaultMs, this.#stopping.signal);
        // While the database is away or full, the outcome is kept in memory instead of sending again
        // and again; and while nobody else may send it.
        const isKept =
          isNoted || databaseFailure(error) !== null || row.claimed_until > clock.now();
        if (!isKept || this.#stopping.signal.aborted) return;
      }
    }
  }

  async #attempt(row: OutboxRow, delivery: Delivery): Promise<Attempt> {
    try {
      return await delivery.attempt(this.#transports);
    } catch (error) {
      const facts = { err: error, notificationId: row.id };
      if (databaseFailure(error) !== null) {
        this.#logger.warn(facts, 'the database failed during an attempt to notify');
        // An alert twice is better than none.
        return { outcome: 'failed', result: 'the database failed', isFinal: false };
      }
      this.#logger.error(facts, 'a notification cannot be made');
      return cannotBeSent(
        'internal error: the notification could not be built; the log has its id',
      );
    }
  }

  async #record(
    row: OutboxRow,
    { pausesMs }: Delivery,
    attempt: Attempt,
    configJson: string | null,
  ): Promise<void> {
    const { commits, clock, outbox, metrics } = this.#services;
    const attempts = row.attempts + 1;
    const { result } = attempt;
    const next = afterAttempt(attempt, attempts, pausesMs);
    const facts = {
      accountId: row.account_id,
      notificationId: row.id,
      channelId: row.alert_channel_id,
      attempts,
    };
    if ('retryInMs' in next) {
      const nextAttemptAt = clock.now() + next.retryInMs;
      const isRecorded = await commits.run((unit) =>
        recordRetry(unit, row, { attempts, nextAttemptAt, result }),
      );
      if (!isRecorded) return this.#noteTakenOver(facts);
      metrics.deliveries.inc({ outcome: 'retry' });
      this.#logger.info({ ...facts, result, ...next }, 'notification not delivered, trying again');
      return;
    }
    const { status } = next;
    const isRecorded = await commits.run(async (unit) => {
      const isOurs = await recordOutcome(unit, row, { status, result, attempts, configJson });
      if (isOurs && row.kind === 'WEBHOOK' && row.ordering_key !== null) {
        await this.#onWebhook(unit, {
          ...{ accountId: row.account_id, subscriptionId: row.ordering_key },
          ...{ isDelivered: status === 'SUCCESS', now: clock.now() },
        });
      }
      const { account_id, device_id } = row;
      if (isOurs && device_id !== null) {
        await noteSent({ ...this.#services, db: unit }, { account_id, device_id }, attempt);
      }
      return isOurs;
    });
    if (!isRecorded) return this.#noteTakenOver(facts);
    metrics.deliveries.inc({ outcome: status.toLowerCase() });
    outbox.ended(row.id, { status, result });
    if (status === 'SUCCESS') this.#logger.debug(facts, 'notification delivered');
    else this.#logger.warn({ ...facts, status, result }, 'notification not delivered');
  }

  /** Its channel was deleted meanwhile, or the claim of this replica ended while it stood still. */
  #noteTakenOver(facts: Record<string, unknown>): void {
    this.#logger.info(
      facts,
      'the outcome of a notification is left to the replica that has claimed it since',
    );
  }

  /** Starts nothing new, and waits a moment for running deliveries. */
  async stop(abort: () => void): Promise<void> {
    this.#stopping.abort();
    await this.#looking;
    this.#cancelTimer();
    const all = [...this.#onItsWay.values()].map(({ done }) => done);
    const cancel = this.#services.clock.after(endWithinMs, abort);
    await Promise.all(all);
    cancel();
    abort();
  }
}

/** Starts deliveries from the outbox; they run until it is disposed. */
export function startOutboxSender({
  services,
  config,
  resolve,
  onWebhook = () => Promise.resolve(),
}: DeliveryParts): AsyncDisposable {
  const stopping = new AbortController();
  const transports = openTransports({
    config,
    services,
    signal: stopping.signal,
    ...(resolve === undefined ? {} : { resolve }),
  });
  const sender = new OutboxSender(services, transports, onWebhook);
  services.outbox.onWake(() => void sender.look());
  void sender.look();
  return {
    async [Symbol.asyncDispose]() {
      services.outbox.onWake(() => {});
      await sender.stop(() => {
        stopping.abort();
      });
      await transports[Symbol.asyncDispose]();
    },
  };
}
