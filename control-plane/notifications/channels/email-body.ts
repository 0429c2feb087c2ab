/**
 * Mail bodies in text and HTML. Mail clients run no scripts and block images, so the chart of the
 * last runs is a table. Each bar has a sign below it, which makes the chart readable without
 * colours.
 */
import { escapeHtml, oneLine } from '../../core/escape.ts';
import type { RecentRun } from '../facts.ts';
import type { Message } from '../message.ts';

const colours = {
  failing: '#b3261e',
  degraded: '#9a5b00',
  recovered: '#1b6e3c',
  withdrawn: '#5f6368',
  notice: '#38598b',
} as const;
const bars = { failing: '#b3261e', degraded: '#c77700', passing: '#3a8f5c' } as const;
const signs = { failing: '✕', degraded: '!', passing: '·' } as const;
const words = { failing: 'failed', degraded: 'degraded', passing: 'passed' } as const;

const shownRuns = 30;
const highest = 44;
const barWidth = 14;
/** Of the column of labels in text. */
const maxLabel = 20;
const font = 'font-family:-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif';

function tallest(runs: readonly RecentRun[]): number {
  return Math.max(1, ...runs.map(({ responseTimeMs }) => responseTimeMs));
}

function barCell({ state, responseTimeMs }: RecentRun, slowest: number): string {
  const height = Math.max(4, Math.round((responseTimeMs / slowest) * highest));
  const title = `${words[state]}, ${Math.round(responseTimeMs)} ms`;
  return (
    `<td valign="bottom" style="padding:0 1px" title="${title}">` +
    `<table role="presentation" cellpadding="0" cellspacing="0" width="100%"><tr>` +
    `<td height="${height}" bgcolor="${bars[state]}" style="height:${height}px;background:${bars[state]};font-size:1px;line-height:1px">&nbsp;</td>` +
    `</tr></table></td>`
  );
}

function chart(all: readonly RecentRun[]): string {
  const runs = all.slice(-shownRuns);
  if (runs.length === 0) return '';
  const slowest = tallest(runs);
  const width = runs.length * barWidth;
  const cells = runs.map((run) => barCell(run, slowest)).join('');
  const marks = runs
    .map(
      ({ state }) =>
        `<td align="center" style="font-size:11px;line-height:14px;color:${state === 'passing' ? '#5f6368' : bars[state]};font-weight:bold">${signs[state]}</td>`,
    )
    .join('');
  return `<tr><td style="padding:8px 24px 0">
<p style="margin:0 0 6px;font-size:13px;color:#5f6368">Last ${runs.length} runs, oldest first. Height: response time, up to ${Math.round(slowest)} ms. ${signs.failing} failed, ${signs.degraded} degraded.</p>
<table role="presentation" cellpadding="0" cellspacing="0" width="${width}" style="width:100%;max-width:${width}px;table-layout:fixed"><tr>${cells}</tr><tr>${marks}</tr></table>
</td></tr>`;
}

function row(label: string, value: string): string {
  return `<tr><td valign="top" style="padding:3px 16px 3px 0;color:#5f6368;white-space:nowrap">${escapeHtml(label)}</td><td style="padding:3px 0;color:#202124;word-break:break-word">${escapeHtml(value)}</td></tr>`;
}

/** The HTML part. */
export function htmlOf(message: Message): string {
  const { tone, label, title, reason, details, link, actions, recentRuns } = message;
  const button = `<tr><td style="padding:16px 24px 24px"><a href="${escapeHtml(link.url)}" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#1a56b0;color:#ffffff;text-decoration:none;font-weight:bold">${escapeHtml(link.text)}</a>${actions.map(({ url, text }) => ` &nbsp; <a href="${escapeHtml(url)}" style="color:#1a56b0">${escapeHtml(text)}</a>`).join('')}</td></tr>`;
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body style="margin:0;padding:0;background:#f1f3f4;${font}">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f1f3f4"><tr><td align="center" style="padding:24px 12px">
<table role="presentation" width="600" cellpadding="0" cellspacing="0" style="width:100%;max-width:600px;background:#ffffff;border-radius:8px;overflow:hidden;font-size:15px;line-height:1.45">
<tr><td bgcolor="${colours[tone]}" style="padding:10px 24px;background:${colours[tone]};color:#ffffff;font-weight:bold;letter-spacing:.04em">${escapeHtml(label)}</td></tr>
<tr><td style="padding:20px 24px 4px"><h1 style="margin:0;font-size:20px;line-height:1.3;color:#202124">${escapeHtml(title)}</h1></td></tr>
${reason === '' ? '' : `<tr><td style="padding:4px 24px 8px"><p style="margin:0;color:#202124;word-break:break-word">${escapeHtml(reason)}</p></td></tr>`}
<tr><td style="padding:8px 24px"><table role="presentation" cellpadding="0" cellspacing="0" style="font-size:14px">${details.map(({ label: name, value }) => row(name, value)).join('')}</table></td></tr>
${chart(recentRuns)}
${button}
</table></td></tr></table>
</body></html>`;
}

/** The text part. */
export function textOf({ title, reason, details, link, actions, recentRuns }: Message): string {
  const runs = recentRuns.slice(-shownRuns);
  // A long name pushes no other value away.
  const lengths = details.map(({ label }) => label.length).filter((length) => length <= maxLabel);
  const width = Math.max(0, ...lengths) + 2;
  return [
    title,
    ...(reason === '' ? [] : ['', reason]),
    '',
    ...details.map(({ label, value }) => `${`${label}: `.padEnd(width)}${oneLine(value)}`),
    ...(runs.length === 0
      ? []
      : [
          '',
          `Last ${runs.length} runs, oldest first (${signs.failing} failed, ${signs.degraded} degraded):`,
          runs.map(({ state }) => signs[state]).join(' '),
        ]),
    '',
    `${link.text}: ${link.url}`,
    ...actions.map(({ url, text }) => `${text}: ${url}`),
    '',
  ].join('\n');
}
