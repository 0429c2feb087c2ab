/** The route to a host as a traceroute monitor saw it. */
import { html } from '../dom.js';
import { duration, inNumbers, percent } from '../format.js';
import { Facts, Section } from '../parts/layout.js';
import { Hops } from './result-evidence.js';

const endings = {
  destinationReached: 'the destination answered',
  maxHops: 'the destination is further away than the check looks',
  maxUnknownHops: 'too many hops in a row did not answer',
  timeout: 'the time was over',
};

/** A hop as a row of the table of hops. */
function rowOf(hop) {
  const { last_ms: last, avg_ms: avg, best_ms: best, worst_ms: worst } = hop.rtt ?? {};
  const names = [hop.main_host, hop.note].filter(Boolean).join('; ');
  return {
    ...{ hop: hop.hop_number, addresses: hop.main_ip === '' ? [] : [hop.main_ip], note: names },
    ...{ lossPercent: hop.loss_percentage, sent: hop.sent, last, avg, best, worst },
    stdDev: hop.rtt?.stddev_ms,
  };
}

export function TracedWay({ response }) {
  const { finalHopLatency: latency } = response;
  return html`<${Section} title="Way">
    <div class="card">
      <${Facts}
        entries=${[
          ['Ended because', endings[response.truncationReason] ?? response.truncationReason],
          ['Hops', inNumbers(response.totalHops)],
          ['Protocol', response.protocol],
          ['Port', response.port > 0 && String(response.port)],
          ['Loss at the last hop', percent(response.packetLoss)],
          ['Average', latency && duration(latency.avg)],
          ['Between', latency && `${duration(latency.min)} and ${duration(latency.max)}`],
        ]}
      />
    </div>
    <${Hops} hops=${response.hops.map(rowOf)} />
  <//>`;
}
