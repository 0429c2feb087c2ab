/** Opens incidents and drafts for services whose checks fail, one for each cause, and ends them with their recovery. */
import type { Services } from '../../core/services.ts';
import { fromJson } from '../../db/columns.ts';
import { eachOf, jsonValue } from '../../db/expressions.ts';
import { keepRows, lockRows } from '../../db/lock.ts';
import { deleteOwnRows, ownRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import {
  addToIncident,
  openIncident,
  raiseSeverity,
  replaceServices,
  servicesOfIncident,
  stillOpen,
} from '../../incidents/index.ts';
import { muteOf, suppressesIncidents } from '../../maintenance/index.ts';
import { causesByCheck } from '../../root-causes/index.ts';
import { runsByLocation } from '../decide/follow-checks.ts';
import {
  grouped,
  judge,
  leaving,
  type OpenedIncident,
  textOf,
  type Troubled,
} from '../decide/service-incidents.ts';
import { readStates, type ServiceNow } from '../read-followed.ts';

type Row = RowOf<'service_incidents'>;

const recoveredNote = 'The services of this incident are operational again.';
const noChecksNote = 'Closed without a recovery: what failed is no longer monitored.';
export const goneNote = () => 'Closed without a recovery: the service is no longer shown.';

interface Left {
  accountId: string;
  serviceIds: readonly string[];
  /** How the incident ends, by what its services left of it. */
  note: (group: readonly Row[]) => string;
}

/** Takes services out of what they opened; the last one resolves the incident, unless people added others to it. */
export async function leaveIncidents(
  services: Pick<Services, 'newId' | 'clock'>,
  unit: Db,
  { accountId, serviceIds, note }: Left,
): Promise<void> {
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
      const affected = await servicesOfIncident(unit, accountId, incident.id);
      const isWhole = affected.every(({ id }) => group.some((row) => row.service_id === id));
      const names = affected.filter(({ id }) => group.some((row) => row.service_id === id));
      await addToIncident(services, unit, accountId, incident, {
        description: isWhole
          ? note(group)
          : `No longer affected: ${names.map(({ name }) => name).join(', ')}.`,
        ...{ status: isWhole ? 'RESOLVED' : incident.status, at: now },
      });
    }
  }
}

interface BadCheck {
  checkId: string;
  /** When its newest bad run began. */
  at: number;
}

/** As its worst location: the newest run of all may be of one that passes. */
function badChecksOf({ runs }: ServiceNow): BadCheck[] {
  return [...runs].flatMap(([checkId, ofCheck]) => {
    const bad = runsByLocation(ofCheck)
      .map((own) => own.findLast(({ outcome }) => outcome !== 'inconclusive'))
      .filter((last) => last?.outcome === 'failing' || last?.outcome === 'degraded');
    const at = Math.max(...bad.map((last) => last?.startedAt ?? 0));
    return bad.length > 0 ? [{ checkId, at }] : [];
  });
}

/** Bad checks that are in planned work now, or whose newest bad run began in it. */
async function plannedAmong(
  db: Db,
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
  pages: string;
}

/** The pages of services, as one text for each; empty for one that no page shows. */
async function pagesOf(
  db: Db,
  accountId: string,
  serviceIds: readonly string[],
): Promise<(serviceId: string) => string> {
  const rows = await db
    .selectFrom('card_services')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .select(['card_services.service_id as serviceId', 'status_page_cards.status_page_id as pageId'])
    .where('status_page_cards.account_id', '=', accountId)
    .where('card_services.service_id', 'in', eachOf(serviceIds))
    .execute();
  const byService = Map.groupBy(rows, ({ serviceId }) => serviceId);
  return (serviceId) => {
    const pages = (byService.get(serviceId) ?? []).map(({ pageId }) => pageId);
    return [...new Set(pages)].sort().join(' ');
  };
}

/** What is wrong with services in trouble. Read apart from the commit: it takes long. */
async function findTroubles(
  services: Services,
  accountId: string,
  troubled: readonly ServiceNow[],
): Promise<Found[]> {
  const bad = new Map(troubled.map((service) => [service, badChecksOf(service)]));
  const causes = await causesByCheck(services, services.db, accountId, [...bad.values()].flat());
  const ids = troubled.map(({ row }) => row.id);
  const pages = await pagesOf(services.db, accountId, ids);
  return troubled.flatMap((service): Found[] => {
    const opens = service.rule?.opens;
    if (opens == null) return [];
    const checkIds = (bad.get(service) ?? []).map(({ checkId }) => checkId);
    const known = checkIds.flatMap((id) => causes.get(id) ?? []);
    const sure = known.find(({ sentence }) => sentence !== null) ?? known[0];
    // A fault of a location or of an agent is not the service's: a person decides whether it is public.
    const isOwn = checkIds.length > 0 && checkIds.every((id) => causes.get(id)?.isOwn === true);
    return [
      {
        ...{ service, checkIds, opens: isOwn ? { ...opens, as: 'DRAFT' } : opens },
        ...{ key: sure?.key ?? null, sentence: sure?.sentence ?? null },
        pages: pages(service.row.id),
      },
    ];
  });
}

/** Whether others may join it: it is neither dismissed nor resolved. */
const isOpenRow = (row: Row, openIds: ReadonlySet<string>): boolean =>
  row.state === 'DRAFT' || openIds.has(row.incident_id ?? '');

const toTroubled = (found: Found, row: Row | undefined, open: ReadonlySet<string>): Troubled => ({
  ...{ id: found.service.row.id, checkIds: found.checkIds, pages: found.pages },
  cause: found.key ?? row?.cause_key ?? null,
  isPublic: row === undefined ? found.opens.as === 'INCIDENT' : row.state === 'OPENED',
  groupId: row?.group_id ?? null,
  isOpen: row !== undefined && isOpenRow(row, open),
});

async function openGroup(
  services: Services,
  unit: Db,
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
    const affected = await servicesOfIncident(unit, accountId, incidentId);
    const before = affected.map(({ id }) => id);
    const added = members.filter(({ service }) => !before.includes(service.row.id));
    await replaceServices(unit, incidentId, [...new Set([...before, ...serviceIds])]);
    const names = added.map(({ service }) => service.row.name).join(', ');
    if (added.length > 0) {
      await raiseSeverity(unit, accountId, incidentId, template.severity);
      const isNotified = incident.notifySubscribers || template.notifySubscribers;
      await addToIncident(
        services,
        unit,
        accountId,
        { ...incident, notifySubscribers: isNotified },
        { description: `Also affected: ${names}.`, status: incident.status, at: now },
      );
    }
  } else if (joined === undefined && template.as === 'INCIDENT') {
    const opened = { accountId, checkId: null, serviceIds, template, at: now };
    incidentId = await openIncident(services, unit, opened);
  }
  const groupId = joined?.group_id ?? newId();
  await unit
    .insertInto('service_incidents')
    .values(
      members.map(({ service, key, sentence, checkIds }) => ({
        ...{ service_id: service.row.id, account_id: accountId, group_id: groupId },
        ...{ state: incidentId === null ? ('DRAFT' as const) : ('OPENED' as const) },
        ...{ incident_id: incidentId, cause_key: key, cause: sentence, created_at: now },
        checks_json: JSON.stringify(checkIds),
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
  const ruleOf = new Map(states.map(({ row, rule }) => [row.id, rule]));
  const over = new Set([
    ...(judged.get('recovered') ?? []).map(({ row }) => row.id),
    ...(judged.get('noChecks') ?? []).map(({ row }) => row.id),
    // Its owner wants none any more: nobody could publish it.
    ...before
      .filter(({ state, service_id: id }) => state === 'DRAFT' && ruleOf.get(id)?.opens == null)
      .map(({ service_id: id }) => id),
  ]);
  const runs = new Map(states.map((service) => [service.row.id, service.runs]));
  const isMonitored = (row: Row): boolean =>
    fromJson<string[]>(row.checks_json).every((id) => runs.get(row.service_id)?.has(id) === true);
  const isOver = before.some(({ service_id: id }) => over.has(id));
  if (fresh.length === 0 && !isOver) return;
  await commits.run(async (unit) => {
    const freshIds = fresh.map(({ service }) => service.row.id);
    const kept = await keepRows(
      ownRows(unit, 'services', accountId).where('id', 'in', eachOf(freshIds)).orderBy('id'),
    ).execute();
    const keptRules = new Map(kept.map((row) => [row.id, row.rule_json]));
    const membersOf = async () => {
      const rows = await lockRows(
        ownRows(unit, 'service_incidents', accountId).orderBy('service_id'),
      ).execute();
      const incidentIds = rows.flatMap(({ incident_id: id }) => id ?? []);
      const open = await stillOpen(unit, accountId, incidentIds, now);
      return { rows, openIds: new Set(open.map(({ id }) => id)) };
    };
    const { rows: found, openIds: foundOpen } = await membersOf();
    await leaveIncidents(services, unit, {
      accountId,
      serviceIds: leaving(
        found.map((row) => ({
          ...{ id: row.service_id, groupId: row.group_id },
          isOpen: isOpenRow(row, foundOpen),
        })),
        over,
      ),
      note: (group) => (group.every(isMonitored) ? recoveredNote : noChecksNote),
    });
    // A person may have published or dismissed, changed or deleted since.
    const { rows: standing, openIds } = await membersOf();
    const rowOf = new Map(standing.map((row) => [row.service_id, row]));
    const present = troubled.filter(
      (found) =>
        rowOf.has(found.service.row.id) ||
        (fresh.includes(found) &&
          keptRules.get(found.service.row.id) === found.service.row.rule_json),
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
