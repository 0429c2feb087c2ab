/** Opens incidents and drafts for services whose checks fail, one for each cause, and ends them with their recovery. */
import type { Kysely, Selectable } from 'kysely';
import type { Services } from '../../core/services.ts';
import { eachOf, jsonValue } from '../../db/expressions.ts';
import { keepRows, lockRows } from '../../db/lock.ts';
import { deleteOwnRows, ownRows } from '../../db/own-rows.ts';
import type { Database } from '../../db/tables.ts';
import {
  addToIncident,
  openIncident,
  replaceServices,
  servicesOfIncident,
  stillOpen,
} from '../../incidents/index.ts';
import { muteOf, suppressesIncidents } from '../../maintenance/index.ts';
import { causesByCheck } from '../../root-causes/index.ts';
import {
  grouped,
  judge,
  type OpenedIncident,
  textOf,
  type Troubled,
} from '../decide/service-incidents.ts';
import { readStates, type ServiceNow } from '../read-followed.ts';

type Row = Selectable<Database['service_incidents']>;

const recoveredNote = 'The services of this incident are operational again.';
const noChecksNote = 'Closed without a recovery: no monitor reports on its services any more.';
export const goneNote = 'Closed without a recovery: the service is no longer shown.';

/** Takes services out of what they opened; the last one resolves the incident. */
export async function leaveIncidents(
  services: Pick<Services, 'newId' | 'clock'>,
  unit: Kysely<Database>,
  left: { accountId: string; serviceIds: readonly string[]; note: string },
): Promise<void> {
  const { accountId, serviceIds, note } = left;
  if (serviceIds.length === 0) return;
  const now = services.clock.now();
  const rows = await lockRows(
    ownRows(unit, 'service_incidents', accountId)
      .where('group_id', 'in', (from) =>
        from
          .selectFrom('service_incidents as own')
          .select('own.group_id')
          .where('own.account_id', '=', accountId)
          .where('own.service_id', 'in', eachOf(serviceIds)),
      )
      .orderBy('service_id'),
  ).execute();
  await deleteOwnRows(unit, 'service_incidents', accountId)
    .where('service_id', 'in', eachOf(serviceIds))
    .execute();
  for (const group of Map.groupBy(rows, ({ group_id: id }) => id).values()) {
    if (group.some(({ service_id: id }) => !serviceIds.includes(id))) continue;
    const ids = group.flatMap(({ incident_id: id }) => id ?? []);
    for (const incident of await stillOpen(unit, accountId, ids, now)) {
      const resolved = { description: note, status: 'RESOLVED', at: now } as const;
      await addToIncident(services, unit, accountId, incident, resolved);
    }
  }
}

interface BadCheck {
  checkId: string;
  /** When its newest conclusive run began. */
  at: number;
}

function badChecksOf({ runs }: ServiceNow): BadCheck[] {
  return [...runs].flatMap(([checkId, ofCheck]) => {
    const last = ofCheck.findLast(({ outcome }) => outcome !== 'inconclusive');
    const isBad = last?.outcome === 'failing' || last?.outcome === 'degraded';
    return isBad ? [{ checkId, at: last.startedAt }] : [];
  });
}

/** Bad checks that are in planned work now, or whose newest run began in it. */
async function plannedAmong(
  db: Kysely<Database>,
  accountId: string,
  bad: readonly BadCheck[],
  now: number,
): Promise<ReadonlySet<string>> {
  const planned = new Set<string>();
  const byInstant = Map.groupBy(bad, ({ at }) => at);
  const present: [number, readonly BadCheck[]] = [now, bad];
  for (const [at, checks] of [present, ...byInstant]) {
    const ids = [...new Set(checks.map(({ checkId }) => checkId))];
    for (const id of (await muteOf(db, accountId, ids, at)).keys()) planned.add(id);
  }
  return planned;
}

interface Found {
  service: ServiceNow;
  opens: OpenedIncident;
  checkIds: string[];
  key: string | null;
  sentence: string | null;
}

/** What is wrong with services in trouble. Read apart from the commit: it takes long. */
async function findTroubles(
  services: Services,
  accountId: string,
  troubled: readonly ServiceNow[],
): Promise<Found[]> {
  const bad = new Map(troubled.map((service) => [service, badChecksOf(service)]));
  const causes = await causesByCheck(services, services.db, accountId, [...bad.values()].flat());
  return troubled.flatMap((service): Found[] => {
    const opens = service.rule?.opens;
    if (opens == null) return [];
    const checkIds = (bad.get(service) ?? []).map(({ checkId }) => checkId);
    const known = checkIds.flatMap((id) => causes.get(id) ?? []);
    const sure = known.find(({ sentence }) => sentence !== null) ?? known[0];
    const found = { key: sure?.key ?? null, sentence: sure?.sentence ?? null };
    return [{ service, opens, checkIds, ...found }];
  });
}

const toTroubled = (found: Found, row: Row | undefined, open: ReadonlySet<string>): Troubled => ({
  ...{ id: found.service.row.id, checkIds: found.checkIds },
  cause: found.key ?? row?.cause_key ?? null,
  isPublic: row === undefined ? found.opens.as === 'INCIDENT' : row.state === 'OPENED',
  groupId: row?.group_id ?? null,
  isOpen: row?.state === 'DRAFT' || open.has(row?.incident_id ?? ''),
});

async function openGroup(
  services: Services,
  unit: Kysely<Database>,
  accountId: string,
  members: readonly Found[],
  joined: Row | undefined,
): Promise<void> {
  const { clock, newId } = services;
  const now = clock.now();
  const template = textOf(members.map(({ opens }) => opens));
  if (template === null) return;
  const serviceIds = members.map(({ service }) => service.row.id);
  let incidentId = joined?.incident_id ?? null;
  if (incidentId !== null) {
    const [incident] = await stillOpen(unit, accountId, [incidentId], now);
    if (incident === undefined) return;
    const before = await servicesOfIncident(unit, accountId, incidentId);
    const added = members.filter(({ service }) => !before.includes(service.row.id));
    await replaceServices(unit, incidentId, [...new Set([...before, ...serviceIds])]);
    const names = added.map(({ service }) => service.row.name).join(', ');
    const update = {
      description: `Also affected: ${names}.`,
      status: 'INVESTIGATING',
      at: now,
    } as const;
    if (added.length > 0) await addToIncident(services, unit, accountId, incident, update);
  } else if (joined === undefined && template.as === 'INCIDENT') {
    const opened = { accountId, checkId: null, serviceIds, template, at: now };
    incidentId = await openIncident(services, unit, opened);
  }
  const groupId = joined?.group_id ?? newId();
  await unit
    .insertInto('service_incidents')
    .values(
      members.map(({ service, key, sentence }) => ({
        ...{ service_id: service.row.id, account_id: accountId, group_id: groupId },
        ...{ state: incidentId === null ? ('DRAFT' as const) : ('OPENED' as const) },
        ...{ incident_id: incidentId, cause_key: key, cause: sentence, created_at: now },
      })),
    )
    .execute();
}

async function openOfAccount(services: Services, accountId: string): Promise<void> {
  const { db, clock, commits } = services;
  const now = clock.now();
  const before = await ownRows(db, 'service_incidents', accountId).execute();
  const rows = await ownRows(db, 'services', accountId)
    .where((where) =>
      where.or([
        where(jsonValue<string>('services.rule_json', '$.opens.as'), 'is not', null),
        where('id', 'in', eachOf(before.map(({ service_id: id }) => id))),
      ]),
    )
    .orderBy('seq')
    .execute();
  const states = await readStates(db, accountId, rows, now);
  const isKnown = new Set(before.map(({ service_id: id }) => id));
  const planned = await plannedAmong(db, accountId, states.flatMap(badChecksOf), now);
  const judged = Map.groupBy(states, (service) => judge(service, planned, now));
  const isNew = ({ row: { id } }: ServiceNow) => !isKnown.has(id);
  const inTrouble = judged.get('trouble') ?? [];
  // Causes are read for the services of before as well: a new one may share theirs.
  const troubled = inTrouble.some(isNew) ? await findTroubles(services, accountId, inTrouble) : [];
  const fresh: Found[] = [];
  for (const found of troubled.filter(({ service }) => isNew(service))) {
    const isSuppressed = await suppressesIncidents(db, accountId, found.service.row.id, now);
    if (!isSuppressed) fresh.push(found);
  }
  const over = (['recovered', 'noChecks'] as const).map((judgement) =>
    (judged.get(judgement) ?? []).map(({ row }) => row.id).filter((id) => isKnown.has(id)),
  );
  const [recovered = [], withoutChecks = []] = over;
  if (fresh.length + recovered.length + withoutChecks.length === 0) return;
  await commits.run(async (unit) => {
    const freshIds = fresh.map(({ service }) => service.row.id);
    const kept = await keepRows(
      ownRows(unit, 'services', accountId).where('id', 'in', eachOf(freshIds)).orderBy('id'),
    ).execute();
    const ruleOf = new Map(kept.map((row) => [row.id, row.rule_json]));
    const left = { accountId, serviceIds: recovered, note: recoveredNote };
    await leaveIncidents(services, unit, left);
    await leaveIncidents(services, unit, {
      ...left,
      ...{ serviceIds: withoutChecks, note: noChecksNote },
    });
    // A person may have published or dismissed, changed or deleted since.
    const standing = await lockRows(
      ownRows(unit, 'service_incidents', accountId).orderBy('service_id'),
    ).execute();
    const rowOf = new Map(standing.map((row) => [row.service_id, row]));
    const incidentIds = standing.flatMap(({ incident_id: id }) => id ?? []);
    const open = await stillOpen(unit, accountId, incidentIds, now);
    const openIds = new Set(open.map(({ id }) => id));
    const present = troubled.filter(
      (found) =>
        rowOf.has(found.service.row.id) ||
        (fresh.includes(found) && ruleOf.get(found.service.row.id) === found.service.row.rule_json),
    );
    const foundOf = new Map(present.map((found) => [found.service.row.id, found]));
    const groups = grouped(
      present.map((found) => toTroubled(found, rowOf.get(found.service.row.id), openIds)),
    );
    for (const { joins, ids } of groups) {
      const joined = standing.find(({ group_id: id }) => id === joins);
      const members = ids.flatMap((id) => foundOf.get(id) ?? []);
      await openGroup(services, unit, accountId, members, joined);
    }
  });
}

/** Opens and ends what the services of all accounts open. */
export async function openServiceIncidents(services: Services): Promise<void> {
  const accounts = await services.db
    .selectFrom('services')
    .leftJoin('service_incidents', 'service_incidents.service_id', 'services.id')
    .select('services.account_id')
    .distinct()
    .where((where) =>
      where.or([
        where(jsonValue<string>('services.rule_json', '$.opens.as'), 'is not', null),
        where('service_incidents.service_id', 'is not', null),
      ]),
    )
    .execute();
  for (const { account_id: accountId } of accounts) await openOfAccount(services, accountId);
}
