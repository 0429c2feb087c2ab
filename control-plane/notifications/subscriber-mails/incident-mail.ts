/** The mail about an incident update for a subscriber. */
import type { IncidentStatus } from '../../incidents/index.ts';
import type { Mail } from '../facts.ts';
import { html } from '../../core/html.ts';
import { oneLine } from '../../core/escape.ts';
import { buttonStyle, hostOf, inFrame, smallStyle, toLines } from './mail-layout.ts';

export interface IncidentMailFacts {
  to: string;
  page: { name: string; address: string };
  incident: { id: string; name: string; severity: string; link: string };
  update: { status: IncidentStatus; description: string; at: number };
  /** Names of the affected services on the page. */
  services: readonly string[];
  unsubscribeLink: string;
}

const statusWords: Record<IncidentStatus, string> = {
  INVESTIGATING: 'Investigating',
  IDENTIFIED: 'Identified',
  MONITORING: 'Monitoring',
  RESOLVED: 'Resolved',
};

const instants = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
});

function inWords(severity: string): string {
  return severity.charAt(0) + severity.slice(1).toLowerCase();
}

/** Renders the mail. Mails of one incident form a thread. */
export function incidentMail(facts: IncidentMailFacts): Mail {
  const { to, page, incident, update, unsubscribeLink } = facts;
  const pageName = oneLine(page.name);
  const incidentName = oneLine(incident.name);
  const status = statusWords[update.status];
  const severity = inWords(incident.severity);
  const at = `${instants.format(update.at)} UTC`;
  const lines = toLines(update.description);
  const affected = facts.services.map(oneLine).join(', ');
  const subject = `[${pageName}] ${incidentName} – ${status}`;
  const text = [
    `${incidentName}\n${status} · ${severity} · ${at}`,
    lines.join('\n'),
    ...(affected === '' ? [] : [`Affected: ${affected}`]),
    `Read more: ${incident.link}`,
    `You get this mail because you subscribed to ${pageName}.\nUnsubscribe: ${unsubscribeLink}\n`,
  ].join('\n\n');
  const host = hostOf(page.address);
  return {
    to,
    subject,
    text,
    html: inFrame(
      { subject, pageName, pageAddress: page.address },
      html`<h1 style="margin:0 0 4px;font-size:20px">${incidentName}</h1>
        <p style="margin:0 0 16px;color:#4b5563"><b>${status}</b> · ${severity} · ${at}</p>
        <p style="margin:0 0 16px">
          ${lines.map((line, index) => (index === 0 ? [line] : [html`<br />`, line]))}
        </p>
        ${affected !== '' && html`<p style="margin:0 0 20px">Affected: ${affected}</p>`}
        <p style="margin:0"><a href="${incident.link}" style="${buttonStyle}">Read more</a></p>
        <p style="${smallStyle}">
          You get this mail because you subscribed to ${pageName}.
          <a href="${unsubscribeLink}" style="color:#1d4ed8">Unsubscribe</a>
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
