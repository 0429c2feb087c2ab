/** The mails about updates of incidents and of maintenance for a subscriber. */
import type { IncidentStatus } from '../../incidents/index.ts';
import { html } from '../../core/html.ts';
import { oneLine } from '../../core/escape.ts';
import {
  buttonStyle,
  hostOf,
  inFrame,
  type Mail,
  smallStyle,
  toLines,
} from '../../notifications/index.ts';
import type { Locale } from '../languages/locale.ts';
import type { NoticeView } from '../view/notices.ts';
import type { Severity } from '../view/facts.ts';

interface MailFacts {
  to: string;
  locale: Locale;
  page: { name: string; address: string };
  /** Names of the affected services on the page. */
  services: readonly string[];
  unsubscribeLink: string;
}

export interface IncidentMailFacts extends MailFacts {
  incident: { id: string; name: string; severity: Severity; link: string };
  update: { status: IncidentStatus; description: string; at: number };
}

export interface MaintenanceFacts extends MailFacts {
  maintenance: {
    id: string;
    name: string;
    severity: Severity;
    startsAt: number;
    endsAt: number;
    link: string;
  };
  status: NoticeView['status'];
  description: string | null;
}

/** What the mails differ in. Mails with the same thread are shown together. */
interface Said {
  name: string;
  status: string;
  /** Beside the status: `Major · 21 Nov 2026, 08:05 UTC`. */
  beside: string;
  description: string;
  link: string;
  thread: string;
}

export function incidentMail(facts: IncidentMailFacts): Mail {
  const { locale, incident, update } = facts;
  const severity = locale.texts.severities[incident.severity];
  return mailOf(facts, {
    ...{ name: incident.name, link: incident.link, thread: `incident-${incident.id}` },
    ...{ status: locale.status(update.status), description: update.description },
    beside: `${severity} · ${locale.instant(update.at)}`,
  });
}

export function maintenanceMail(facts: MaintenanceFacts): Mail {
  const { locale, maintenance, status, description } = facts;
  const { name, link, id, startsAt, endsAt } = maintenance;
  return mailOf(facts, {
    ...{ name, link, thread: `maintenance-${id}`, status: locale.status(status) },
    ...{ description: description ?? '', beside: locale.rangeText(startsAt, endsAt) },
  });
}

function mailOf(
  { to, locale, page, services, unsubscribeLink }: MailFacts,
  { name, status, beside, description, link, thread }: Said,
): Mail {
  const words = locale.texts.mail;
  const pageName = oneLine(page.name);
  const title = oneLine(name);
  const lines = toLines(description);
  const affected = locale.list(services.map(oneLine));
  const subject = `[${pageName}] ${title} – ${status}`;
  const text = [
    `${title}\n${status} · ${beside}`,
    ...(description === '' ? [] : [lines.join('\n')]),
    ...(affected === '' ? [] : [words.affected(affected)]),
    `${words.readMore}: ${link}`,
    `${words.reason(pageName)}\n${words.unsubscribe}: ${unsubscribeLink}\n`,
  ].join('\n\n');
  const host = hostOf(page.address);
  return {
    to,
    subject,
    text,
    html: inFrame(
      {
        subject,
        pageName,
        pageAddress: page.address,
        language: locale.language,
        direction: locale.direction,
      },
      html`<h1 style="margin:0 0 4px;font-size:20px">${title}</h1>
        <p style="margin:0 0 16px;color:#4b5563"><b>${status}</b> · ${beside}</p>
        ${
          description !== '' &&
          html`<p style="margin:0 0 16px">
            ${lines.map((line, index) => (index === 0 ? [line] : [html`<br />`, line]))}
          </p>`
        }
        ${affected !== '' && html`<p style="margin:0 0 20px">${words.affected(affected)}</p>`}
        <p style="margin:0">
          <a href="${link}" style="${buttonStyle}">${words.readMore}</a>
        </p>
        <p style="${smallStyle}">
          ${words.reason(pageName)}
          <a href="${unsubscribeLink}" style="color:#1d4ed8">${words.unsubscribe}</a>
        </p>`,
    ),
    headers: {
      'Auto-Submitted': 'auto-generated',
      'List-Unsubscribe': `<${unsubscribeLink}>`,
      // RFC 8058: one-click unsubscribe of mail clients.
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      References: `<${thread}@${host}>`,
    },
  };
}
