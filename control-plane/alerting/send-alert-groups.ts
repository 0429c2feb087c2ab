/** Turns waiting alerts of channels that group into notifications. */
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import { fromJson } from '../db/columns.ts';
import { eachOf } from '../db/expressions.ts';
import { lockKeys } from '../db/lock.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { Services } from '../core/services.ts';
import {
  type AlertFacts,
  type AlsoFailing,
  enqueueForChannel,
  type GroupedCheck,
  type GroupFacts,
} from '../notifications/index.ts';
import { causeOf, type GroupedRow, type GroupRow, toAlertOfGroup } from './alert-groups/store.ts';
import { causeText, type Cause } from './decide/causes-of.ts';
import {
  countedMs,
  joinsWithinMs,
  planMessages,
  type Grouping,
  type PlannedMessage,
} from './decide/group-alerts.ts';
import { emptyGroup, groupFacts, withoutOver, type GroupState } from './decide/group-facts.ts';
import { readStates } from './state-rows.ts';
import { descriptionsOf } from '../checks/index.ts';
import { findCauses } from '../root-causes/index.ts';
import { alsoFailing } from './also-failing.ts';

const channelsPerSweep = 20;
/** Alerts that one transaction turns into notifications. */
const alertsAtOnce = 5_000;
/** Names of people in one notification. */
const maxPeople = 5;
/** For a channel whose grouping was switched off while alerts waited. */
const switchedOff: Grouping = { windowSeconds: 0, updateMinutes: 1, maxPerHour: 1_000 };

/** Runs every second and usually finds nothing. */
const dueChannels = prepareQuery<{ now: number }, { id: number }>((db, argument) =>
  db
    .selectFrom('grouped_alerts')
    .select('alert_channel_id as id')
    .distinct()
    .where('message_id', 'is', null)
    .where('due_at', '<=', argument('now'))
    .limit(channelsPerSweep),
);

/** The work on one channel, under its lock. */
class ChannelSweep {
  readonly #services: Services;
  readonly #db: Db;
  readonly #channelId: number;
  readonly #now: number;

  constructor(services: Services, db: Db, channelId: number) {
    this.#services = services;
    this.#db = db;
    this.#channelId = channelId;
    this.#now = services.clock.now();
  }

  /** Gives whether something was added to the outbox, and whether more alerts wait than it looked at. */
  async run(): Promise<{ isQueued: boolean; isBehind: boolean }> {
    const db = this.#db;
    await lockKeys(db, [`alert groups ${this.#channelId}`]);
    const waiting = await db
      .selectFrom('grouped_alerts')
      .selectAll()
      .where('alert_channel_id', '=', this.#channelId)
      .where('message_id', 'is', null)
      .orderBy('seq')
      .limit(alertsAtOnce)
      .execute();
    const channel = await db
      .selectFrom('alert_channels')
      .select('grouping_json')
      .where('id', '=', this.#channelId)
      .executeTakeFirst();
    if (waiting.length === 0 || channel === undefined) return { isQueued: false, isBehind: false };
    const grouping =
      channel.grouping_json === null ? switchedOff : fromJson<Grouping>(channel.grouping_json);
    const groupOfKey = await this.#groupsOfKeys(waiting);
    const oldest = Math.min(...waiting.map((row) => row.joined_at));
    const groups = await this.#knownGroups(
      [...groupOfKey.values()],
      oldest - joinsWithinMs(grouping),
    );
    const states = await this.#statesOf([...groups.values()]);
    const { messages, nextAt } = planMessages(
      waiting.map((row) => ({
        id: row.id,
        incidentKey: row.incident_key,
        causes: fromJson<Cause[]>(row.causes_json),
        joinedAt: row.joined_at,
      })),
      groupOfKey,
      [...groups.values()].map((row) => ({
        id: row.id,
        cause: causeOf(row),
        openedAt: row.opened_at,
        lastSentAt: row.last_sent_at,
        isOver: Object.keys(states.get(row.id)?.open ?? {}).length === 0,
      })),
      await this.#sentAt(),
      grouping,
      this.#now,
    );
    const byId = new Map(waiting.map((row) => [row.id, row]));
    for (const message of messages) {
      const rows = message.ids.flatMap((id) => byId.get(id) ?? []).sort((a, b) => a.seq - b.seq);
      const known = groups.get(message.groupId ?? '');
      await this.#send(message, rows, known, states.get(known?.id ?? '') ?? emptyGroup, grouping);
    }
    const sentIds = new Set(messages.flatMap(({ ids }) => ids));
    const later = waiting.filter(({ id }) => !sentIds.has(id)).map(({ id }) => id);
    if (nextAt !== null && later.length > 0) {
      // Only what was read: others may have come since, and are due before.
      await db
        .updateTable('grouped_alerts')
        .set({ due_at: nextAt })
        .where('id', 'in', eachOf(later))
        .where('message_id', 'is', null)
        .where('due_at', '<', nextAt)
        .execute();
    }
    return { isQueued: messages.length > 0, isBehind: waiting.length === alertsAtOnce };
  }

  /** The groups of outages that were notified before. */
  async #groupsOfKeys(waiting: readonly GroupedRow[]): Promise<Map<string, string>> {
    const rows = await this.#db
      .selectFrom('grouped_alerts')
      .select(['incident_key', 'group_id'])
      .where('alert_channel_id', '=', this.#channelId)
      .where('incident_key', 'in', eachOf(waiting.map((row) => row.incident_key)))
      .where('group_id', 'is not', null)
      .orderBy('seq')
      .execute();
    return new Map(rows.map((row) => [row.incident_key, row.group_id ?? '']));
  }

  /** These, and the groups whose last notification was since then. */
  async #knownGroups(ids: readonly string[], since: number): Promise<Map<string, GroupRow>> {
    const rows = await this.#db
      .selectFrom('alert_groups')
      .selectAll()
      .where('alert_channel_id', '=', this.#channelId)
      .where((where) =>
        where.or([
          where('last_sent_at', '>=', since),
          where('id', 'in', eachOf([...new Set(ids)])),
        ]),
      )
      .execute();
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** When the notifications of the last hours were sent. */
  async #sentAt(): Promise<number[]> {
    const rows = await this.#db
      .selectFrom('grouped_alerts')
      .select((of) => of.fn.min<number>('sent_at').as('at'))
      .where('alert_channel_id', '=', this.#channelId)
      .where('sent_at', '>', this.#now - countedMs)
      .groupBy('message_id')
      .execute();
    return rows.map(({ at }) => at);
  }

  async #send(
    message: PlannedMessage,
    rows: readonly GroupedRow[],
    known: GroupRow | undefined,
    before: GroupState,
    grouping: Grouping,
  ): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const { newId } = this.#services;
    const isAlone =
      rows.every((row) => row.incident_key === first.incident_key) &&
      (known === undefined || (before.total === 1 && known.incident_key === first.incident_key));
    const after = groupFacts(before, rows.map(toAlertOfGroup));
    const groupId = known?.id ?? newId();
    const group: GroupRow = known ?? {
      id: groupId,
      account_id: first.account_id,
      alert_channel_id: this.#channelId,
      cause_kind: message.cause?.kind ?? null,
      cause_name: message.cause?.name ?? null,
      // What begins as an alert of its own stays the same incident for paging systems.
      incident_key: isAlone ? first.incident_key : `group/${groupId}`,
      opened_at: this.#now,
      last_sent_at: this.#now,
      messages: 0,
      state_json: null,
    };
    const sent = {
      last_sent_at: this.#now,
      messages: group.messages + 1,
      state_json: JSON.stringify(after.state),
    };
    if (known === undefined) {
      await this.#db
        .insertInto('alert_groups')
        .values({ ...group, ...sent })
        .execute();
    } else {
      await this.#db.updateTable('alert_groups').set(sent).where('id', '=', groupId).execute();
    }
    const messageId = newId();
    const ownFacts = isAlone && rows.length === 1 ? await this.#factsOf(first) : null;
    await this.#db
      .updateTable('grouped_alerts')
      .set({ group_id: groupId, message_id: messageId, sent_at: this.#now, facts_json: null })
      .where('id', 'in', eachOf(message.ids))
      .execute();
    const cause = causeOf(group);
    const acknowledgedBy = await this.#acknowledgedBy(
      rows.filter(({ effect }) => effect === 'CLOSING'),
    );
    const others = await this.#alsoFailing(rows, after.state);
    const causes = ownFacts === null ? await this.#causesOf(rows, after.state) : [];
    const facts: GroupFacts = {
      kind: 'group',
      at: this.#now,
      groupId,
      incidentKey: group.incident_key,
      cause: cause === null ? null : causeText(cause),
      sequence: sent.messages,
      ...after.facts,
      began: {
        ...after.facts.began,
        checks: await this.#described(first.account_id, after.facts.began.checks),
      },
      ...(acknowledgedBy.length === 0 ? {} : { acknowledgedBy }),
      ...(others === undefined ? {} : { alsoFailing: others }),
      ...(causes.length === 0 ? {} : { rootCauses: causes }),
      heldBack: message.heldBack,
      maxPerHour: grouping.maxPerHour,
      limitedUntil: message.limitedUntil,
    };
    await enqueueForChannel(this.#db, this.#channelId, ownFacts ?? facts, {
      id: messageId,
      accountId: first.account_id,
      now: this.#now,
      orderedWith: groupId,
    });
  }

  /**
   * What is known of groups. An outage that is over lasts no longer, also where no recovery will say so:
   * the channel takes none, or its check was deleted. One whose recovery waits is announced first.
   */
  async #statesOf(groups: readonly GroupRow[]): Promise<Map<string, GroupState>> {
    const states = new Map<string, GroupState>();
    for (const group of groups) states.set(group.id, await this.#storedState(group));
    const open = [...states.values()].flatMap((state) => Object.entries(state.open));
    if (open.length === 0) return states;
    const present = await readStates(this.#db, [
      ...new Set(open.map(([, { checkId }]) => checkId)),
    ]);
    const over = open.flatMap(([key, { checkId }]) => {
      const alert = present.get(checkId)?.alert ?? null;
      return alert?.key === key && !alert.isOver ? [] : [key];
    });
    if (over.length === 0) return states;
    // After the states: a recovery that ended one of them waits by now.
    const announced = await this.#db
      .selectFrom('grouped_alerts')
      .select('incident_key')
      .where('alert_channel_id', '=', this.#channelId)
      .where('incident_key', 'in', eachOf(over))
      .where('message_id', 'is', null)
      .execute();
    const left = new Set(over);
    for (const { incident_key: key } of announced) left.delete(key);
    for (const [id, state] of states) states.set(id, withoutOver(state, left));
    return states;
  }

  /** A group of an older build has no state: its alerts are read once. */
  async #storedState({ id, state_json: stored }: GroupRow): Promise<GroupState> {
    if (stored !== null) return fromJson<GroupState>(stored);
    const rows = await this.#db
      .selectFrom('grouped_alerts')
      .selectAll()
      .where('group_id', '=', id)
      .orderBy('seq')
      .execute();
    return groupFacts(emptyGroup, rows.map(toAlertOfGroup)).state;
  }

  async #described(accountId: string, checks: readonly GroupedCheck[]): Promise<GroupedCheck[]> {
    const texts = await descriptionsOf(
      this.#db,
      accountId,
      checks.map(({ id }) => id),
    );
    return checks.map((check) => {
      const description = texts.get(check.id);
      return description === undefined ? check : { ...check, description };
    });
  }

  /** What is in no notification about this group, and began to fail when these did. */
  async #alsoFailing(
    rows: readonly GroupedRow[],
    { open }: GroupState,
  ): Promise<AlsoFailing | undefined> {
    const began = rows.filter(({ effect }) => effect === 'PROBLEM');
    const [first] = began;
    if (first === undefined) return undefined;
    const instants = began.map((row) => row.began_at);
    const grouped = Object.values(open).map(({ checkId }) => checkId);
    return alsoFailing(
      this.#db,
      first.account_id,
      [...new Set([...grouped, ...rows.map((row) => row.check_id)])],
      { from: Math.min(...instants), to: Math.max(...instants) },
    );
  }

  /** Why the checks of the group fail, from the minute in which the newest of them began to. */
  async #causesOf(rows: readonly GroupedRow[], { open }: GroupState): Promise<RootCause[]> {
    const newest = rows
      .filter(({ effect }) => effect === 'PROBLEM')
      .reduce<GroupedRow | null>((a, b) => (a === null || b.began_at > a.began_at ? b : a), null);
    if (newest === null) return [];
    const grouped = Object.values(open).map(({ checkId }) => checkId);
    return findCauses(this.#services, this.#db, newest.account_id, {
      checkIds: [...new Set([newest.check_id, ...grouped])],
      at: newest.began_at,
    });
  }

  /** Who took these outages on. */
  async #acknowledgedBy(rows: readonly GroupedRow[]): Promise<string[]> {
    if (rows.length === 0) return [];
    const people = await this.#db
      .selectFrom('alert_acknowledgements')
      .select('made_by')
      .distinct()
      .where('check_id', 'in', eachOf(rows.map((row) => row.check_id)))
      .where('incident_key', 'in', eachOf(rows.map((row) => row.incident_key)))
      .where('kind', '!=', 'MUTED')
      .orderBy('made_by')
      .limit(maxPeople)
      .execute();
    return people.map((row) => row.made_by);
  }

  /** The content of a single alert; null when its record was deleted. */
  async #factsOf({ id, facts_json: own }: GroupedRow): Promise<AlertFacts | null> {
    if (own !== null) return fromJson<AlertFacts>(own);
    const record = await this.#db
      .selectFrom('alert_notifications')
      .select('facts_json')
      .where('id', '=', id)
      .executeTakeFirst();
    return record?.facts_json == null ? null : fromJson<AlertFacts>(record.facts_json);
  }
}

/** Sends the groups whose window has ended. True when there may be more. */
export async function sendAlertGroups(services: Services): Promise<boolean> {
  const { db, clock, outbox } = services;
  const due = await dueChannels.run(db, { now: clock.now() });
  let isBehind = due.length === channelsPerSweep;
  const failures: unknown[] = [];
  for (const { id } of due) {
    try {
      const swept = await inTransaction(db, (unit) => new ChannelSweep(services, unit, id).run());
      if (swept.isQueued) outbox.wake();
      isBehind ||= swept.isBehind;
    } catch (error) {
      // A channel that cannot be swept does not hold up the others.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return isBehind;
}
