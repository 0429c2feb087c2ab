/** How `monitor-agent run` shows what was found about a failure in the network. */
import type { NetworkDiagnostics } from '@monitor/shared/contract/check-result.ts';
import { tracerouteText } from '../../net/traceroute/text.ts';
import { table, type Colors } from '../output.ts';

export function printEvidence(evidence: NetworkDiagnostics, colors: Colors): void {
  const { capture, events, traceroute, tracerouteMissing } = evidence;
  const rows = events.map(({ at, phase, event }) => [' ', `${at.toFixed(1)} ms`, phase, event]);
  console.log(`\n${colors.bold('events')}\n${table(rows)}`);
  const packets = capture.kind === 'packets' ? `${capture.packets} packets` : '';
  const said = [packets, capture.missing ?? ''].filter((text) => text !== '').join('; ');
  console.log(`\n${colors.bold('capture')}\n  ${said}`);
  const way = traceroute === null ? (tracerouteMissing ?? '') : tracerouteText(traceroute).trim();
  console.log(`\n${colors.bold('traceroute')}\n  ${way.replaceAll('\n', '\n  ')}`);
}
