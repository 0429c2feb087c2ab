/** Network evidence of a failure: socket events, traceroute, packets. */
import type { NetworkDiagnostics, TracerouteHop } from '@monitor/shared/contract/check-result.ts';
import type { Exchange } from '../contract.ts';
import { count, duration, inNumbers, inWords, percent, safeLink, shortTime } from '../format.ts';
import { Section, Table } from '../parts/layout.tsx';

type HopRow = Omit<TracerouteHop, 'received' | 'isTarget'>;

function Events({ events }: { events: NetworkDiagnostics['events'] }) {
  if (events.length === 0) return null;
  return (
    <Table label="Socket events" columns={[['At', 'right'], 'Phase', 'Event']}>
      {events.map(({ at, phase, event }, index) => (
        <tr key={index}>
          <td class="right">{duration(at)}</td>
          <td>{phase === 'tls' ? 'TLS' : inWords(phase)}</td>
          <td class={index === events.length - 1 ? 'bad' : ''}>{event}</td>
        </tr>
      ))}
    </Table>
  );
}

function Hop({ hop }: { hop: HopRow }) {
  const [address, ...others] = hop.addresses;
  const notes = [others.length > 0 && `also ${others.join(', ')}`, hop.note].filter(Boolean);
  return (
    <tr>
      <td>{hop.hop}</td>
      <td class="mono">
        {address ?? 'no answer'}
        {notes.length > 0 && <span class="under">{notes.join('; ')}</span>}
      </td>
      <td class="right">{percent(hop.lossPercent)}</td>
      <td class="right">{inNumbers(hop.sent)}</td>
      <td class="right">{duration(hop.last)}</td>
      <td class="right">{duration(hop.avg)}</td>
      <td class="right">{duration(hop.best)}</td>
      <td class="right">{duration(hop.worst)}</td>
      <td class="right">{duration(hop.stdDev)}</td>
    </tr>
  );
}

export function Hops({ hops }: { hops: HopRow[] }) {
  return (
    <Table
      label="Hops to the target"
      columns={[
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
      {hops.map((hop) => (
        <Hop key={hop.hop} hop={hop} />
      ))}
    </Table>
  );
}

function Way({
  route,
  missing,
}: {
  route: NetworkDiagnostics['traceroute'];
  missing: string | null;
}) {
  if (route === null) return missing && <p class="muted">No traceroute: {missing}.</p>;
  const { address, port, method, isReached, startedAt } = route;
  const to = port === null ? address : `${address}, port ${port}`;
  return (
    <>
      <p>
        By {method.toUpperCase()} to <span class="mono">{to}</span>, {shortTime(startedAt)}:{' '}
        <span class={isReached ? '' : 'bad'}>
          {isReached ? 'the target answered' : 'the target did not answer'}
        </span>
        .
      </p>
      <Hops hops={route.hops} />
    </>
  );
}

function Capture({
  capture,
  link,
}: {
  capture: NetworkDiagnostics['capture'];
  link: string | null;
}) {
  const said =
    capture.kind === 'packets'
      ? `${count(capture.packets, 'packet')} of the failing connection`
      : '';
  return (
    <p>
      {link && (
        <>
          <a class="button" href={link} download="capture.pcap">
            Packet capture (pcap)
          </a>{' '}
        </>
      )}
      {said && <span class="muted">{said}, headers only. </span>}
      {capture.missing && <span class="muted">{inSentence(capture.missing)}</span>}
    </p>
  );
}

function inSentence(words: string) {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
/** Nothing when the attempt did not fail in the network. */
export function Evidence({ seen }: { seen: Exchange }) {
  const found = seen.networkDiagnostics ?? null;
  const link = safeLink(seen.pcapDataUrl);
  if (found === null) return null;
  return (
    <Section title="Evidence from the network">
      <div class="evidence">
        <Capture capture={found.capture} link={link} />
        <Events events={found.events} />
        <Way route={found.traceroute} missing={found.tracerouteMissing} />
      </div>
    </Section>
  );
}
