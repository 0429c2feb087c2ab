/** EMAIL: text and HTML. All mails about one outage form a thread. */
import type { Channel, ConfigOf } from '../channel.ts';
import { shorten } from '../../core/escape.ts';
import { mailTimeoutMs, pausesOfMail, withoutMailServer } from '../mailer.ts';
import { subjectOf } from '../message.ts';
import { htmlOf, textOf } from './email-body.ts';

const maxSubjectLength = 200;

export const emailChannel: Channel<ConfigOf<'EMAIL'>> = {
  pausesMs: pausesOfMail,
  timeoutMs: mailTimeoutMs,
  destination: () => 'EMAIL',
  async deliver({ id, message }, { address }, { mailer, signal }) {
    if (mailer === null) return withoutMailServer;
    const thread = mailer.messageId(`incident.${message.incidentKey}`);
    return mailer.send(
      {
        to: address,
        subject: shorten(subjectOf(message), maxSubjectLength),
        text: textOf(message),
        html: htmlOf(message),
        headers: { References: thread, 'In-Reply-To': thread },
      },
      id,
      signal,
    );
  },
};
