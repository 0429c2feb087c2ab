/** The mail about an incident update for a subscriber. */
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
import type { Severity } from '../view/facts.ts';

export interface IncidentMailFacts {
  to: string;
  locale: Locale;
  page: { name: string; address: string };
  incident: { id: string; name: string; severity: Severity; link: string };
  update: { status: IncidentStatus; description: string; at: number };
  /** Names of the affected services on the page. */
  services: readonly string[];
  unsubscribeLink: string;
}

/** Renders the mail. Mails of one incident form a thread. */
export function incidentMail(facts: IncidentMailFacts): Mail {
  const { to, locale, page, incident, update, unsubscribeLink } = facts;
  const words = locale.texts.mail;
  const pageName = oneLine(page.name);
  const incidentName = oneLine(incident.name);
  const status = locale.status(update.status);
  const severity = locale.texts.severities[incident.severity];
  const at = locale.instant(update.at);
  const lines = toLines(update.description);
  const affected = locale.list(facts.services.map(oneLine));
  const subject = `[${pageName}] ${incidentName} – ${status}`;
  const text = [
    `${incidentName}\n${status} · ${severity} · ${at}`,
    lines.join('\n'),
    ...(affected === '' ? [] : [words.affected(affected)]),
    `${words.readMore}: ${incident.link}`,
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
      html`<h1 style="margin:0 0 4px;font-size:20px">${incidentName}</h1>
        <p style="margin:0 0 16px;color:#4b5563"><b>${status}</b> · ${severity} · ${at}</p>
        <p style="margin:0 0 16px">
          ${lines.map((line, index) => (index === 0 ? [line] : [html`<br />`, line]))}
        </p>
        ${affected !== '' && html`<p style="margin:0 0 20px">${words.affected(affected)}</p>`}
        <p style="margin:0">
          <a href="${incident.link}" style="${buttonStyle}">${words.readMore}</a>
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
      References: `<incident-${incident.id}@${host}>`,
    },
  };
}
