/** How to follow a page in Slack: lines to copy, without a script and without a secret. */
import type { ServiceView } from '../view/view.ts';
import { linkTo, type Place } from './place.ts';
import { html, type Markup } from '../../core/html.ts';

/** Commands and addresses read from left to right in every language. */
function line(place: Place, service?: ServiceView): Markup {
  // Slack posts only entries that it has not seen, so its feed has one for each update.
  const path = service === undefined ? '/slack.rss' : `/services/${service.id}/slack.rss`;
  const feed = linkTo({ ...place, base: place.address }, path);
  return html`<code dir="ltr">/feed subscribe ${feed}</code>`;
}

/** The lines for the page and, where there is a choice, for each service. */
export function slackLines(place: Place, services: readonly ServiceView[]): Markup {
  const { forms, slack } = place.locale.texts;
  return html`<section class="panel subscribe" aria-labelledby="slack">
    <h2 id="slack">${slack.updates}</h2>
    <p class="muted facts">${slack.howTo}</p>
    ${line(place)}
    ${
      services.length > 1 &&
      html`<details class="choice">
        <summary>${forms.onlySome}</summary>
        <ul>
          ${services.map((one) => html`<li><bdi>${one.name}</bdi>${line(place, one)}</li>`)}
        </ul>
      </details>`
    }
  </section>`;
}
