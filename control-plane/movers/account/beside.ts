/** What an account has that no project holds: incidents, subscribers, certificates, triggers. Pure. */
import { incidentRoutes } from '@monitor/shared/contract/incident.ts';
import { emailAddress } from '@monitor/shared/contract/status-page.ts';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import type { Fields } from '@monitor/shared/fields.ts';
import type { Plan } from '../plan.ts';
import { recordsIn } from '../source-object.ts';
import type { SourceAccount } from './kinds.ts';

export interface MovedIncident {
  name: string;
  severity: string;
  /** The services with their logical ids. */
  services: readonly { logicalId: string; name: string }[];
  incidentUpdates: readonly Fields[];
}

export interface Subscriber {
  /** Logical id of the page, and its address here. */
  page: { logicalId: string; url: string };
  address: string;
}

/** Made after the project is deployed, unless it is there already. */
export interface Beside {
  incidents: readonly MovedIncident[];
  subscribers: readonly Subscriber[];
}

type Has = (type: ResourceType, id: unknown) => boolean;

const updateNames = ['description', 'status', 'publicIncidentUpdateDate'];
const incidentNames = ['name', 'severity', 'services', 'incidentUpdates'];
/** They follow from the updates, or are made anew. */
const ofEveryIncident = ['id', 'created_at', 'updated_at', 'duration', 'lastUpdateStatus'];
const ofEveryUpdate = ['id', 'created_at', 'notifySubscribers'];

function incidentOf(plan: Plan, given: Fields, has: Has): MovedIncident | null {
  const entry = plan.entry('incident', String(given['id']), String(given['name'] ?? ''));
  const name = (fields: Fields, known: readonly string[], within = '') => {
    const unknown = Object.keys(fields).filter((each) => !known.includes(each));
    entry.notCarried(...unknown.map((each) => `field \`${within}${each}\` has no counterpart`));
  };
  name(given, [...incidentNames, ...ofEveryIncident]);
  const all = recordsIn(given['services']);
  const services = all.filter(({ id }) => has('status-page-service', id));
  entry.notCarried(
    services.length < all.length && 'services of it that are not carried over are left out',
  );
  const updates = recordsIn(given['incidentUpdates']).map((update): Fields => {
    name(update, [...updateNames, ...ofEveryUpdate], 'incidentUpdates.');
    const since = update['publicIncidentUpdateDate'] ?? update['created_at'];
    return {
      ...{ description: update['description'], status: update['status'] },
      // Everybody was notified there.
      ...{ publicIncidentUpdateDate: since, notifySubscribers: false },
    };
  });
  const moved = {
    ...{ name: String(given['name']), severity: String(given['severity']) },
    services: services.map((service) => ({
      logicalId: `status-page-service-${String(service['id'])}`,
      name: String(service['name']),
    })),
    // The newest is the first of an answer.
    incidentUpdates: updates.toSorted((one, other) =>
      String(one['publicIncidentUpdateDate']) < String(other['publicIncidentUpdateDate']) ? -1 : 1,
    ),
  };
  const asSent = { ...moved, services: services.map(({ id }) => ({ id })) };
  const issue = incidentRoutes.createIncident.body.safeParse(asSent).error?.issues[0];
  if (issue === undefined) return moved;
  entry.notCarried(
    `\`${issue.path.map(String).join('.')}\` is not accepted here. Nothing was created`,
  );
  return null;
}

function subscribersOf(plan: Plan, { subscribers, lists }: SourceAccount, has: Has): Subscriber[] {
  return [...subscribers].flatMap(([pageId, list]) => {
    const url = String(lists['status-page'].find(({ id }) => id === pageId)?.['url']);
    const page = { logicalId: `status-page-${pageId}`, url };
    return list.flatMap((given): Subscriber[] => {
      const { id, type, address, status, services } = given;
      const entry = plan.entry('subscriber', String(id), String(address));
      const problem = !has('status-page', pageId)
        ? 'its page is not carried over'
        : type !== 'EMAIL'
          ? 'the address of a webhook cannot be read there'
          : status !== 'VERIFIED'
            ? 'it was never confirmed'
            : Array.isArray(services)
              ? 'it is limited to some services, which only the subscriber can choose'
              : emailAddress.safeParse(address).success
                ? null
                : 'its address is not accepted here';
      entry.notCarried(problem !== null && `${problem}. Nothing was created`);
      return problem === null ? [{ page, address: String(address) }] : [];
    });
  });
}

export function besideOf(plan: Plan, source: SourceAccount, has: Has): Beside {
  const { 'client-certificate': certificates, 'deployment-trigger': triggers } = source.lists;
  for (const given of certificates) {
    const entry = plan.entry('client-certificate', String(given['id']), String(given['host']));
    entry.notCarried(
      'its private key cannot be read there: store `host`, `cert`, `ca` and the key here, in Settings or with `POST /v1/client-certificates`. Nothing was created',
    );
  }
  for (const given of triggers) {
    const entry = plan.entry('deployment-trigger', String(given['id']), String(given['repoName']));
    const names = Object.keys(given).map((name) => `\`${name}\``);
    entry.notCarried(
      `the repository calls an address of the other side: make a trigger here and give the repository its new address (${names.join(', ')}). Nothing was created`,
    );
  }
  const incidents = source.lists.incident.flatMap((given) => incidentOf(plan, given, has) ?? []);
  plan.say(
    'CHANGED',
    incidents.length > 0 &&
      'Incidents keep the dates of their updates; nobody is notified of them again (`notifySubscribers`), and `duration` and `lastUpdateStatus` follow from them.',
  );
  return { incidents, subscribers: subscribersOf(plan, source, has) };
}

const dateOf = (update: Fields): number => Date.parse(String(update['publicIncidentUpdateDate']));

/** The same for an incident here and there: people add updates on both sides, and the first keeps its date. */
export const incidentKey = ({ name, incidentUpdates }: Fields | MovedIncident): string =>
  JSON.stringify([String(name).trim(), Math.min(...recordsIn(incidentUpdates).map(dateOf))]);

/** What was said there after the newest update that both sides have. People here may have said more since. */
export function laterUpdates({ incidentUpdates }: MovedIncident, known: Fields): Fields[] {
  const there = new Set(incidentUpdates.map(dateOf));
  const shared = recordsIn(known['incidentUpdates']).map(dateOf);
  const newest = Math.max(...shared.filter((at) => there.has(at)));
  return incidentUpdates.filter((update) => dateOf(update) > newest);
}
