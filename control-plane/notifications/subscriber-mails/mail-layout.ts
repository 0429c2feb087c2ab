/** The layout of mails to people. */
import { html, type Markup } from '../../core/html.ts';

/** Host of a URL, for message ids. */
export function hostOf(address: string): string {
  return new URL(address).hostname;
}

/** Paragraphs of a description: HTML has no other line breaks. */
export function toLines(text: string): string[] {
  return text.replace(/\r\n?/g, '\n').trim().split('\n');
}

interface Frame {
  subject: string;
  pageName: string;
  pageAddress: string;
  language?: string;
  direction?: 'ltr' | 'rtl';
}

const fonts = "-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";
const bodyStyle = `margin:0;padding:24px 12px;background:#f3f4f6;color:#111827;font:16px/1.5 ${fonts}`;
const cardStyle =
  'max-width:560px;margin:0 auto;padding:28px;background:#ffffff;border:1px solid #d1d5db;border-radius:8px;overflow-wrap:anywhere;word-break:break-word';

/** A complete mail with the common layout. */
export function inFrame(
  { subject, pageName, pageAddress, language = 'en', direction = 'ltr' }: Frame,
  body: Markup,
): string {
  return html`<!doctype html>
    <html lang="${language}" dir="${direction}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <meta name="color-scheme" content="light dark" />
        <title>${subject}</title>
      </head>
      <body style="${bodyStyle}">
        <div
          role="article"
          aria-roledescription="email"
          aria-label="${subject}"
          lang="${language}"
          dir="${direction}"
          style="${cardStyle}"
        >
          <p style="margin:0 0 20px;font-size:14px">
            <a href="${pageAddress}" style="color:#374151;text-decoration:none">
              <b>${pageName}</b>
            </a>
          </p>
          ${body}
        </div>
      </body>
    </html> `.text;
}

export const buttonStyle =
  'display:inline-block;padding:10px 18px;background:#1d4ed8;color:#ffffff;text-decoration:none;border-radius:6px';
export const smallStyle = 'margin:24px 0 0;font-size:13px;color:#4b5563';
