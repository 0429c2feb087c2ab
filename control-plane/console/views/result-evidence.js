/** Network evidence of a failure: socket events, traceroute, packets. */
/** @import { NetworkDiagnostics, TracerouteHop } from '@monitor/shared/contract/check-result.ts' */
/** @import { Exchange } from '../contract.ts' */
import { html } from '../dom.js';
import { count, duration, inNumbers, inWords, percent, safeLink, shortTime } from '../format.js';
import { Section, Table } from '../parts/layout.js';

/** @typedef {Omit<TracerouteHop, 'received' | 'isTarget'>} HopRow */

/** @param {{ events: NetworkDiagnostics['events'] }} props */
function Events({ events }) {
  if (events.length === 0) return null;
  return html`<${Table}
    label="What the socket saw"
    columns=${[['At', 'right'], 'Phase', 'Event']}
  >
    ${events.map(
      ({ at, phase, event }, index) =>
        html`<tr key=${index}>
          <td class="right">${duration(at)}</td>
          <td>${phase === 'tls' ? 'TLS' : inWords(phase)}</td>
          <td class=${index === events.length - 1 ? 'bad' : ''}>${event}</td>
        </tr>`,
    )}
  <//>`;
}

/** @param {{ hop: HopRow }} props */
function Hop({ hop }) {
  const [address, ...others] = hop.addresses;
  const notes = [others.length > 0 && `also ${others.join(', ')}`, hop.note].filter(Boolean);
  return html`<tr>
    <td>${hop.hop}</td>
    <td class="mono">
      ${address ?? 'no answer'}
      ${notes.length > 0 && html`<span class="under">${notes.join('; ')}</span>`}
    </td>
    <td class="right">${percent(hop.lossPercent)}</td>
    <td class="right">${inNumbers(hop.sent)}</td>
    <td class="right">${duration(hop.last)}</td>
    <td class="right">${duration(hop.avg)}</td>
    <td class="right">${duration(hop.best)}</td>
    <td class="right">${duration(hop.worst)}</td>
    <td class="right">${duration(hop.stdDev)}</td>
  </tr>`;
}

/** @param {{ hops: HopRow[] }} props */
export function Hops({ hops }) {
  return html`<${Table}
    label="Hops to the target"
    columns=${[
      'Hop',
      'Address',
      ['Loss', 'right'],
      ['Sent', 'right'],
      ['Last', 'right'],
      ['Average', 'right'],
      ['Best', 'right'],
      ['Worst', 'right'],
      ['Deviation', 'right'],
    ]}
  >
    ${hops.map((hop) => html`<${Hop} key=${hop.hop} hop=${hop} />`)}
  <//>`;
}

/** @param {{ route: NetworkDiagnostics['traceroute'], missing: string | null }} props */
function Way({ route, missing }) {
  if (route === null) return missing && html`<p class="muted">No traceroute: ${missing}.</p>`;
  const { address, port, method, isReached, startedAt } = route;
  const to = port === null ? address : `${address}, port ${port}`;
  return html`<p>
      By ${method.toUpperCase()} to <span class="mono">${to}</span>, ${shortTime(startedAt)}:${' '}
      <span class=${isReached ? '' : 'bad'}
        >${isReached ? 'the target answered' : 'the target did not answer'}</span
      >.
    </p>
    <${Hops} hops=${route.hops} />`;
}

/** @param {{ capture: NetworkDiagnostics['capture'], link: string | null }} props */
function Capture({ capture, link }) {
  const said =
    capture.kind === 'packets'
      ? `${count(capture.packets, 'packet')} of the failing connection`
      : '';
  return html`<p>
    ${link && html`<a class="button" href=${link} download="capture.pcap">Packet capture (pcap)</a> `}
    ${said && html`<span class="muted">${said}, headers only. </span>`}
    ${capture.missing && html`<span class="muted">${inSentence(capture.missing)}</span>`}
  </p>`;
}

/** @param {string} words */
function inSentence(words) {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
/**
 * Nothing when the attempt did not fail in the network.
 * @param {{ seen: Exchange }} props
 */
export function Evidence({ seen }) {
  const found = seen.networkDiagnostics ?? null;
  const link = safeLink(seen.pcapDataUrl);
  if (found === null) return null;
  return html`<${Section} title="Evidence from the network">
    <div class="evidence">
      <${Capture} capture=${found.capture} link=${link} />
      <${Events} events=${found.events} />
      <${Way} route=${found.traceroute} missing=${found.tracerouteMissing} />
    </div>
  <//>`;
}
