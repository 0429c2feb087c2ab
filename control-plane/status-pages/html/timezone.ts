/** The choice of a time zone: without a script that of the browser is not known. */
import type { PageLook } from '../view/facts.ts';
import type { Representation } from '../../http/representation.ts';
import { html, Markup } from '../../core/html.ts';
import { saidPage } from './forms.ts';
import type { Place } from './place.ts';

const names = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC')];

export function timezonePage(look: PageLook, place: Place): Representation {
  const { locale, base, chosen } = place;
  const words = locale.texts.frame;
  const { language } = chosen;
  return saidPage({
    look,
    place,
    title: words.zoneTitle,
    body: html`<form class="fields" method="get" action="${base}/">
      ${language !== undefined && html`<input type="hidden" name="language" value="${language}" />`}
      <label
        >${words.zoneLabel}<select name="timezone">
          ${names.map(
            (name) =>
              html`<option ${name === locale.timezone && new Markup('selected')}>${name}</option>`,
          )}
        </select></label
      >
      <button class="button">${words.showZone}</button>
    </form>`,
  });
}
