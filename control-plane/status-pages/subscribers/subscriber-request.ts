/** The bodies of requests to subscribers, in the envelope of Standard Webhooks. */
import type { IncidentStatus } from '../../incidents/index.ts';
import type { UpdateKind } from '../../maintenance/index.ts';
import type { Severity } from '../view/facts.ts';
import type { MaintenanceFacts } from './incident-mail.ts';

interface About {
  at: number;
  page: { name: string; address: string };
  services: readonly { id: string; name: string }[];
  unsubscribeLink: string;
}

function bodyOf(type: string, { at, page, unsubscribeLink }: About, data: object): string {
  return JSON.stringify({
    type,
    timestamp: new Date(at).toISOString(),
    data: {
      page: { name: page.name, url: page.address },
      ...data,
      unsubscribeUrl: unsubscribeLink,
    },
  });
}

/** Asks for confirmation: a person opens the link, a program sends a POST to it. */
export function confirmationBody(about: About & { confirmLink: string }): string {
  return bodyOf('subscription.confirm', about, {
    services: about.services.length === 0 ? null : about.services,
    confirmUrl: about.confirmLink,
  });
}

export function incidentBody(
  about: About & {
    incident: { id: string; name: string; severity: Severity; link: string };
    update: { status: IncidentStatus; description: string; at: number };
  },
): string {
  const { incident, update, services } = about;
  const { link: url, ...named } = incident;
  return bodyOf('incident.update', about, {
    incident: { ...named, url },
    update: { ...update, at: new Date(update.at).toISOString() },
    services,
  });
}

export function maintenanceBody(
  about: About & Omit<MaintenanceFacts, 'to' | 'locale' | 'services'> & { kind: UpdateKind },
): string {
  const { maintenance, status, description, kind, services } = about;
  const { link: url, startsAt, endsAt, ...named } = maintenance;
  return bodyOf('maintenance.update', about, {
    maintenance: {
      ...{ ...named, url, status: status.toUpperCase() },
      ...{ startsAt: new Date(startsAt).toISOString(), endsAt: new Date(endsAt).toISOString() },
    },
    update: { kind, description, at: new Date(about.at).toISOString() },
    services,
  });
}
