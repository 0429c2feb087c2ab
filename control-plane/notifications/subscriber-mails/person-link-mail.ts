/** Mails with a one-time link for people who use the console. */
import type { Mail } from '../facts.ts';
import { html } from '../../core/html.ts';
import { oneLine } from '../../core/escape.ts';
import { buttonStyle, hostOf, inFrame, smallStyle } from './mail-layout.ts';

export interface PersonLinkFacts {
  kind: 'INVITATION' | 'RESET';
  to: string;
  /** Works once. */
  link: string;
  /** How long it works: `7 days`. */
  validFor: string;
  consoleUrl: string;
  /** Of an invitation. */
  invitedBy?: string;
  accountName?: string;
}

interface Words {
  subject: string;
  lead: string;
  button: string;
  end: string;
}

function wordsOf({ kind, validFor, consoleUrl, ...facts }: PersonLinkFacts): Words {
  const host = hostOf(consoleUrl);
  if (kind === 'RESET') {
    return {
      subject: `Reset your password for ${host}`,
      lead: `Somebody, hopefully you, asked for a new password for the monitoring console at ${host}.`,
      button: 'Choose a new password',
      end: `The link works once, for ${validFor}. If you did not ask for this, do nothing: your password stays as it is.`,
    };
  }
  const invitedBy = oneLine(facts.invitedBy ?? '');
  const account = oneLine(facts.accountName ?? '');
  return {
    subject: oneLine(`${invitedBy} invites you to ${account}`),
    lead: `${invitedBy} invites you to the account “${account}” of the monitoring console at ${host}.`,
    button: 'Accept the invitation',
    end: `The link works once, for ${validFor}. If you do not know what this is about, do nothing.`,
  };
}

/** Renders the mail. */
export function personLinkMail(facts: PersonLinkFacts): Mail {
  const { to, link, consoleUrl } = facts;
  const { subject, lead, button, end } = wordsOf(facts);
  return {
    to,
    subject,
    text: `${lead}\n\n${button}: ${link}\n\n${end}\n`,
    html: inFrame(
      { subject, pageName: hostOf(consoleUrl), pageAddress: consoleUrl },
      html`<p style="margin:0 0 20px">${lead}</p>
        <p style="margin:0 0 20px"><a href="${link}" style="${buttonStyle}">${button}</a></p>
        <p style="${smallStyle}">${end}</p>`,
    ),
    headers: {},
  };
}
