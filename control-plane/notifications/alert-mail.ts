/** Messages as mails to people, who are no channels. */
import { shorten } from '../core/escape.ts';
import type { Services } from '../core/services.ts';
import { AlertLinks } from './alert-links.ts';
import { htmlOf, textOf } from './channels/email-body.ts';
import type { AlertFacts, Mail } from './facts.ts';
import { type Message, messageOf, subjectOf } from './message.ts';

const maxSubjectLength = 200;

export const mailTo = (to: string, message: Message): Mail => ({
  ...{ to, subject: shorten(subjectOf(message), maxSubjectLength) },
  ...{ text: textOf(message), html: htmlOf(message), headers: {} },
});

export function alertMail(
  { secrets, publicUrl }: Pick<Services, 'secrets' | 'publicUrl'>,
  facts: AlertFacts,
  accountId: string,
  person: { id: string; email: string },
): Mail {
  const texts = messageOf(facts, facts.alertId, publicUrl);
  const of = { accountId, recipient: { personId: person.id } };
  const actions = new AlertLinks(secrets, publicUrl).actionsOf(facts, texts, of);
  return mailTo(person.email, { ...texts, actions });
}
