/** An alert as a mail to a person, who is no channel. */
import { shorten } from '../core/escape.ts';
import { htmlOf, textOf } from './channels/email-body.ts';
import type { AlertFacts, Mail } from './facts.ts';
import { messageOf, subjectOf } from './message.ts';

const maxSubjectLength = 200;

export function alertMail(facts: AlertFacts, to: string, publicUrl: string): Mail {
  const message = messageOf(facts, facts.alertId, publicUrl);
  return {
    to,
    subject: shorten(subjectOf(message), maxSubjectLength),
    text: textOf(message),
    html: htmlOf(message),
    headers: {},
  };
}
