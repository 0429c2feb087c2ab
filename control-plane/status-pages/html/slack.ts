/** How programs follow a page or a service: feeds, and lines to copy for Slack, without a script or a secret. */
import type { Representation } from '../../http/representation.ts';
import { html, type Markup } from '../../core/html.ts';
import type { ServiceView, StatusPageView } from '../view/view.ts';
import { chosenInputs, saidPage } from './forms.ts';
import { linkTo, type Place } from './place.ts';

/** Commands and addresses read from left to right in every language. */
function line(place: Place, service?: ServiceView): Markup {
  // Slack posts only entries that it has not seen, so its feed has one for each update.
  const path = service === undefined ? '/slack.rss' : `/services/${service.id}/slack.rss`;
  const feed = linkTo({ ...place, base: place.address }, path);
  return html`<code dir="ltr">/feed subscribe ${feed}</code>`;
}

const formats = { rss: 'RSS', atom: 'Atom', json: 'JSON' };

/** The line for the page and, where there is a choice, the way to the feeds of one service. */
export function slackLines(place: Place, services: readonly ServiceView[]): Markup {
  const { forms, slack, frame } = place.locale.texts;
  return html`<section class="panel subscribe" aria-labelledby="slack">
    <h2 id="slack">${slack.updates}</h2>
    <p class="muted facts">${slack.howTo}</p>
    ${line(place)}
    ${
      services.length > 1 &&
      html`<details class="choice">
        <summary>${forms.onlySome}: Slack, ${Object.values(formats).join(', ')}</summary>
        <form class="fields" method="get" action="${place.base}/feeds">
          ${chosenInputs(place)}
          <label
            >${forms.onlySome}<select name="service">
              ${services.map(({ id, name }) => html`<option value="${id}">${name}</option>`)}
            </select></label
          >
          <button class="button">${frame.showZone}</button>
        </form>
      </details>`
    }
  </section>`;
}

/** The feeds of one service. */
export function feedsPage(
  { page }: StatusPageView,
  service: ServiceView,
  place: Place,
): Representation {
  const { slack } = place.locale.texts;
  return saidPage({
    look: page,
    place,
    title: service.name,
    body: html`<ul>
        ${Object.entries(formats).map(
          ([format, word]) =>
            html`<li>
              <a href="${linkTo(place, `/services/${service.id}/feed.${format}`)}">${word}</a>
            </li>`,
        )}
      </ul>
      <p class="muted facts">${slack.howTo}</p>
      ${line(place, service)}`,
  });
}
