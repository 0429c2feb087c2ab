/** The double opt-in mail of a status page subscription. */
import type { Mail } from '../facts.ts';
import { html } from '../../core/html.ts';
import { oneLine } from '../../core/escape.ts';
import { buttonStyle, inFrame, smallStyle } from './mail-layout.ts';

export interface VerificationFacts {
  to: string;
  page: { name: string; address: string };
  /** Confirms the subscription; valid for a day. */
  link: string;
}

/** Renders the mail. */
export function verificationMail({ to, page, link }: VerificationFacts): Mail {
  const name = oneLine(page.name);
  const subject = `[${name}] Confirm your subscription`;
  return {
    to,
    subject,
    text: `Somebody, hopefully you, asked for mails about incidents on ${name} to be sent to this address.

Confirm: ${link}

The link works for 24 hours. If you did not ask for this, do nothing: you will hear no more of it.
`,
    html: inFrame(
      { subject, pageName: name, pageAddress: page.address },
      html`<h1 style="margin:0 0 12px;font-size:20px">Confirm your subscription</h1>
        <p style="margin:0 0 20px">
          Somebody, hopefully you, asked for mails about incidents on ${name} to be sent to this
          address.
        </p>
        <p style="margin:0 0 20px">
          <a href="${link}" style="${buttonStyle}">Confirm subscription</a>
        </p>
        <p style="${smallStyle}">
          The link works for 24 hours. If you did not ask for this, do nothing: you will hear no
          more of it.
        </p>`,
    ),
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}
