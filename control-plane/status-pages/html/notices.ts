/** Present and future maintenance. */
import type { Locale } from '../languages/locale.ts';
import { isHeld, namedServices, noticeStatusOf, type NoticeView } from '../view/notices.ts';
import { html, type Markup } from '../../core/html.ts';
import { stateLabel } from './icons.ts';
import { prose } from './text.ts';

const aheadMs = 14 * 86_400_000;
/** Further dates shown for a repeating window. */
const furtherDates = 3;

export interface ShownNotice {
  notice: NoticeView;
  /** Further occurrences of the same window. */
  further: NoticeView[];
}

/** Maintenance in progress or within two weeks: each window once, with its next dates. */
export function noticesToShow(notices: readonly NoticeView[], now: number): ShownNotice[] {
  const near = notices.filter(
    ({ status, startsAt }) => status !== 'completed' && startsAt <= now + aheadMs,
  );
  return [...Map.groupBy(near, ({ windowId }) => windowId).values()].flatMap(
    ([notice, ...further]) => (notice === undefined ? [] : [{ notice, further }]),
  );
}

export function noticePanel({ notice, further }: ShownNotice, locale: Locale): Markup {
  const words = locale.texts.maintenance;
  const concerns = isHeld(notice) ? words.concerns : words.willConcern;
  const names = locale.list(namedServices(notice).map(({ name }) => name));
  const shown = further.slice(0, furtherDates);
  return html`<article class="panel edge3">
    <div class="row">
      <h3>${notice.name}</h3>
      ${stateLabel(locale, 'under_maintenance', locale.status(notice.status))}
    </div>
    <p class="muted facts">
      ${locale.range(notice.startsAt, notice.endsAt)}
      ${notice.severity !== null && ` · ${locale.texts.severities[notice.severity]}`}
      ${names !== '' && ` · ${concerns(names)}`}
    </p>
    ${notice.description !== null && html`<div class="prose">${prose(notice.description)}</div>`}
    ${
      notice.updates.length > 0 &&
      html`<ol class="updates">
        ${notice.updates.map(
          ({ status, description, createdAt }) =>
            html`<li>
              <p class="muted facts">
                <b>${locale.status(noticeStatusOf(status))}</b> · ${locale.time(createdAt)}
              </p>
              <div class="prose">${prose(description)}</div>
            </li>`,
        )}
      </ol>`
    }
    ${
      shown.length > 0 &&
      html`<p class="muted facts">
        ${words.again(locale.markups(shown.map(({ startsAt, endsAt }) => locale.range(startsAt, endsAt))))}
      </p>`
    }
  </article>`;
}
