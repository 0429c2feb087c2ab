/** The double opt-in mail of a status page subscription. */
import { html } from '../../core/html.ts';
import { oneLine } from '../../core/escape.ts';
import { buttonStyle, inFrame, type Mail, smallStyle } from '../../notifications/index.ts';
import type { Locale } from '../languages/locale.ts';

export interface VerificationFacts {
  to: string;
  locale: Locale;
  page: { name: string; address: string };
  /** Names of the services that it shall be limited to. */
  services: readonly string[];
  /** The address is subscribed already, to other services. */
  isChange: boolean;
  /** Confirms the subscription; valid for a day. */
  link: string;
}

/** Renders the mail. */
export function verificationMail({
  to,
  locale,
  page,
  services,
  isChange,
  link,
}: VerificationFacts): Mail {
  const words = locale.texts.mail;
  const { language, direction } = locale;
  const name = oneLine(page.name);
  const only = services.length === 0 ? '' : words.onlyAbout(locale.list(services.map(oneLine)));
  const linkWorks = isChange ? words.changeLinkWorks : words.linkWorks;
  const subject = `[${name}] ${words.confirmTitle}`;
  return {
    to,
    subject,
    text: [
      words.asked(name),
      ...(only === '' ? [] : [only]),
      `${words.confirm}: ${link}`,
      `${linkWorks}\n`,
    ].join('\n\n'),
    html: inFrame(
      { subject, pageName: name, pageAddress: page.address, language, direction },
      html`<h1 style="margin:0 0 12px;font-size:20px">${words.confirmTitle}</h1>
        <p style="margin:0 0 20px">${words.asked(name)}</p>
        ${only !== '' && html`<p style="margin:0 0 20px">${only}</p>`}
        <p style="margin:0 0 20px"><a href="${link}" style="${buttonStyle}">${words.confirm}</a></p>
        <p style="${smallStyle}">${linkWorks}</p>`,
    ),
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}
