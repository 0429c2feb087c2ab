/** The route to a host as a traceroute monitor saw it. */
import type { ShownHop, TracerouteResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { duration, inNumbers, percent } from '../format.ts';
import { Facts, Section } from '../parts/layout.tsx';
import { Hops } from './result-evidence.tsx';

const endings: Record<TracerouteResponse['truncationReason'], string> = {
  destinationReached: 'the destination answered',
  maxHops: 'the hop limit was reached',
  maxUnknownHops: 'too many hops in a row did not answer',
  timeout: 'it timed out',
};

/** A hop as a row of the table of hops. */
function rowOf(hop: ShownHop) {
  const { rtt } = hop;
  const names = [hop.main_host, hop.note].filter(Boolean).join('; ');
  return {
    ...{ hop: hop.hop_number, addresses: hop.main_ip === '' ? [] : [hop.main_ip], note: names },
    ...{ lossPercent: hop.loss_percentage, sent: hop.sent },
    ...{ last: rtt?.last_ms ?? null, avg: rtt?.avg_ms ?? null, best: rtt?.best_ms ?? null },
    ...{ worst: rtt?.worst_ms ?? null, stdDev: rtt?.stddev_ms ?? null },
  };
}

export function TracedWay({ response }: { response: TracerouteResponse }) {
  const { finalHopLatency: latency } = response;
  return (
    <Section title="Route">
      <div class="card">
        <Facts
          entries={[
            ['Stopped because', endings[response.truncationReason] ?? response.truncationReason],
            ['Hops', inNumbers(response.totalHops)],
            ['Protocol', response.protocol],
            ['Port', response.port > 0 && String(response.port)],
            ['Loss at the last hop', percent(response.packetLoss)],
            ['Average', latency && duration(latency.avg)],
            ['Between', latency && `${duration(latency.min)} and ${duration(latency.max)}`],
          ]}
        />
      </div>
      <Hops hops={response.hops.map(rowOf)} />
    </Section>
  );
}
